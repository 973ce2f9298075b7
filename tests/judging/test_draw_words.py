"""A draw whose spread, mean or shape is wrong is told with a fact about its numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autograder.authoring.text_rules import StudentText, reading_gaps
from autograder.judging.compare import ResultSpec
from autograder.judging.distribution import Distributed, judge_distribution
from autograder.values.request import Returned
from autograder.values.verdict import Finding

FORM = ResultSpec(("queries", "keys"), ("D D", "D D"))
SHAPE = (64, 64)
Draw = Callable[[np.random.Generator], np.ndarray]


def told(draw: Draw, deviation: float = 0.02, mean: float = 0.0) -> Finding | None:
    """What is told of two such draws, which a student has to be able to read."""
    rng = np.random.default_rng(5)
    expected = (rng.normal(0, 0.02, SHAPE), rng.normal(0, 0.02, SHAPE))
    expectation = Distributed(expected, FORM, mean, deviation)
    finding = judge_distribution(expectation, Returned((draw(rng), draw(rng))), ())
    if finding:
        text = StudentText("a draw", f"{finding.fact} {finding.look}")
        assert reading_gaps([text], ()) == ()
    return finding


def normal(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(0, 0.02, SHAPE)


OF_DRAWS: dict[str, Draw] = {
    "None of its numbers is negative.": lambda rng: np.abs(normal(rng)),
    "None of its numbers is positive.": lambda rng: -rng.random(SHAPE) / 50,
    "All its numbers above the diagonal are 0": lambda rng: np.tril(normal(rng)),
    "All its numbers above and below the diagonal are 0": lambda rng: np.diag(normal(rng)[0]),
    "of its 4096 numbers are 0": lambda rng: normal(rng) * (rng.random(SHAPE) > 0.5),
    "are exactly -0.02 and": lambda rng: normal(rng).clip(-0.02, 0.02),
    "They lie between -0.05 and 0.05, as many near the ends": (
        lambda rng: rng.uniform(-0.05, 0.05, SHAPE)
    ),
    "All its numbers are 0.02.": lambda rng: np.full(SHAPE, 0.02),
    "Along its axis 1, all numbers are equal": (
        lambda rng: np.repeat(rng.normal(0, 0.05, (64, 1)), 64, axis=1)
    ),
    "It holds only 5 different numbers.": lambda rng: rng.integers(-2, 3, SHAPE) * 0.02,
    "Around which number does your call draw?": lambda rng: normal(rng) + 0.02,
    "Their mean is 0.05, and not 0.": lambda rng: 0.05 + normal(rng) / 10,
    "More of them lie far from the mean": lambda rng: rng.laplace(0, 0.02, SHAPE),
    "Which number of your code sets how far": lambda rng: normal(rng) / 2,
}


@pytest.mark.parametrize("words", OF_DRAWS)
def test_a_wrong_draw_is_told_with_what_is_true_of_its_numbers(words: str) -> None:
    finding = told(OF_DRAWS[words])
    assert finding and words in finding.look and finding.look.endswith("?")


def test_nothing_is_told_of_a_right_draw() -> None:
    assert told(normal) is None


def test_a_draw_on_one_side_of_another_mean_is_told_by_that_number() -> None:
    finding = told(lambda rng: 1 + np.abs(normal(rng)), mean=1.0)
    assert finding and "None of its numbers is less than 1." in finding.look


@pytest.mark.parametrize("decimals", [2, 3])
def test_rounded_draws_are_not_called_copies_of_each_other(decimals: int) -> None:
    finding = told(lambda rng: normal(rng).round(decimals))
    assert finding and finding.fact == (
        f"The numbers of `queries` have no more than {decimals} decimals, so that many are equal. "
        "A draw keeps all of its digits."
    )
