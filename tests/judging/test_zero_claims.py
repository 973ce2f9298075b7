"""Zeros where all the other numbers are right are told by where they stand."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.authoring.text_rules import StudentText, reading_gaps
from autograder.judging.claims import claims_about
from autograder.judging.compare import ResultSpec
from autograder.values.verdict import Claim

SHARES = ResultSpec(("result",), ("B S S",))
MASK = ResultSpec(("result",), ("S S",), "numbers")


def shares() -> np.ndarray:
    exponentials = np.exp(np.random.default_rng(2).standard_normal((2, 5, 5)))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def first(wrong: np.ndarray, expected: np.ndarray, form: ResultSpec) -> Claim:
    """The first claim, which a student has to be able to read."""
    claims = claims_about(wrong, expected, form)
    texts = [StudentText(each.kind, f"{each.fact} {each.look}") for each in claims]
    assert reading_gaps(texts, ()) == ()
    return claims[0] if claims else Claim("", "")


@pytest.mark.parametrize("noise", [0.0, 1e-12])
def test_shares_cut_to_a_triangle_are_no_dropout(noise: float) -> None:
    told = first(np.tril(shares()) * (1 + noise), shares(), SHARES)
    assert told.fact == "The result is right except above the diagonal, where it is 0 everywhere."
    assert told.look.endswith("?")


def test_zeros_here_and_there_are_counted() -> None:
    scattered = np.arange(50).reshape(2, 5, 5) % 3 == 0
    told = first(np.where(scattered, 0, shares()), shares(), SHARES)
    assert told.fact == "17 of the 50 numbers are 0, and all the others are right."


def test_numbers_cut_off_at_zero_are_told_as_that() -> None:
    numbers = np.random.default_rng(2).standard_normal((2, 5, 5))
    told = {each.kind: each for each in claims_about(np.maximum(numbers, 0), numbers, SHARES)}
    below = int((numbers < 0).sum())
    cut = told["cut at zero"]
    assert cut.fact.startswith(f"{below} of the 50 numbers are 0 where negative ones are expected")
    assert list(told).index("cut at zero") < list(told).index("some are 0")


def test_only_numbers_that_have_grown_for_others_are_a_dropout() -> None:
    scattered = np.arange(50).reshape(2, 5, 5) % 3 == 0
    told = first(np.where(scattered, 0, 1.25 * shares()), shares(), SHARES)
    assert told.kind == "dropout" and "the way a dropout of 0.2 leaves them" in told.fact
    told = first(2 * np.tril(shares()), shares(), SHARES)
    assert "its other numbers are 2 times what is expected" in told.fact
    assert "dropout" not in told.fact


def test_a_mask_with_a_single_1_in_each_row_is_not_taken_for_shares() -> None:
    told = first(np.eye(5), np.tril(np.ones((5, 5))), MASK)
    assert told.fact.startswith("The result is right except below the diagonal, where it is 0")
