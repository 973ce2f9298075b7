"""The digest of an answer tells wrong answers apart, and not the ways to round them."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.checks.submission_judge import answer_digest
from autograder.values.request import Failed, Returned
from autograder.values.verdict import Outcome
from autograder.worker.wire import Opaque

ANSWER = np.random.default_rng(5).standard_normal((2, 5, 8))


def digest(value: object) -> str:
    return answer_digest([Returned(value)])


def test_rounding_and_the_type_of_numbers_do_not_count() -> None:
    draws = [np.random.default_rng(seed).standard_normal((2, 5, 5)) for seed in range(200)]
    differ = [digest(draw) != digest(draw.astype(np.float32)) for draw in draws]
    assert sum(differ) <= 1, "seeds 0 to 199"


@pytest.mark.parametrize(
    "other",
    [
        ANSWER * 1.05,
        -ANSWER,
        ANSWER.swapaxes(0, 1),
        ANSWER.ravel(),
        np.where(ANSWER > 2, np.nan, ANSWER),
        np.where(ANSWER > 2, np.inf, ANSWER),
        np.flip(ANSWER, axis=1),
        np.zeros_like(ANSWER),
        (ANSWER, ANSWER),
        Opaque("list"),
        None,
        1.0,
    ],
    ids=lambda value: type(value).__name__,
)
def test_another_answer_has_another_digest(other: object) -> None:
    assert digest(other) != digest(ANSWER)


@pytest.mark.parametrize(
    "odd",
    [
        np.zeros(0),
        np.array(np.nan),
        np.full((2, 2), 1e308),
        np.full(3, 5e-324),
        np.array([1 + 2j]),
        np.array([True, False]),
        np.array([2**63], dtype=np.uint64),
        (),
        "text",
    ],
    ids=str,
)
@pytest.mark.filterwarnings("error")
def test_whatever_comes_back_has_a_digest(odd: object) -> None:
    assert len(digest(odd)) == 8


def test_failing_in_two_ways_is_two_answers() -> None:
    late, broken = Failed(Outcome.TIMED_OUT), Failed(Outcome.RAISED)
    assert answer_digest([late]) != answer_digest([broken])
    assert answer_digest([late]) != answer_digest([late, late])
