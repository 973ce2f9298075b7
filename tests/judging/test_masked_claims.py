"""A masked result is told by its allowed and its forbidden scores, each apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autograder.authoring.text_rules import StudentText, reading_gaps
from autograder.judging.claims import claims_about
from autograder.judging.compare import ResultSpec
from autograder.values.request import Request
from autograder.values.verdict import Claim

MASKED = ResultSpec(("result",), ("B S S",), "floor")


def softmax(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores)
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


Wrong = Callable[[np.ndarray, np.ndarray], np.ndarray]


def put(allowed: Callable[[np.ndarray], np.ndarray]) -> Wrong:
    """Forbid what the mask forbids, and do something to the others."""
    return lambda scores, mask: np.where(mask == 1, allowed(scores), -1e9)


OF_ALLOWED: dict[str, Wrong] = {
    "they are shares, the softmax of argument number 1.": put(softmax),
    "The allowed part is 2 times what is expected": put(lambda scores: 2 * scores),
    "The allowed part is -1 times": put(lambda scores: -scores),
    "The allowed part is what is expected plus 1, everywhere": (
        lambda scores, mask: scores + np.where(mask == 0, -1e9, 1)
    ),
    "The allowed part is what is expected plus 0.001": put(lambda scores: scores + 1e-3),
    "The allowed part holds the same number everywhere, 0": put(np.zeros_like),
    "The allowed part is nearly right: no number is off by more than 0.001": put(
        lambda scores: scores + 1e-3 * np.sign(scores)
    ),
    "6 of the 30 allowed ones are very negative too. The others are right.": (
        lambda scores, mask: np.where((mask == 1) & (np.arange(5) != 2), scores, -1e9)
    ),
}


OF_FORBIDDEN: dict[str, Wrong] = {
    "Forbidden ones hold -100, but": lambda scores, mask: np.where(mask == 1, scores, -100),
    "Forbidden ones hold about 2.55e+11, but": (
        lambda scores, mask: np.where(mask == 1, scores, scores + 255e9)
    ),
    "12 of the 20 forbidden ones hold -100, but a very negative number such as -1e9 is expected "
    "there. The first is at [0, 0, 2] (axes B, S, S). The other forbidden ones are right.": (
        lambda scores, mask: np.where(
            mask == 1, scores, np.where(np.arange(5) - np.arange(5)[:, None] > 1, -100, -1e9)
        )
    ),
}


def first(wrong: np.ndarray, expected: np.ndarray, *arguments: np.ndarray) -> Claim:
    """The first claim, which a student has to be able to read."""
    claims = claims_about(wrong, expected, MASKED, Request("step", arguments))
    texts = [StudentText(each.kind, f"{each.fact} {each.look}") for each in claims]
    assert reading_gaps(texts, ()) == ()
    return claims[0] if claims else Claim("", "")


def question(seed: int) -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(seed).standard_normal((2, 5, 5)), np.tril(np.ones((5, 5)))


@pytest.mark.parametrize("forbidden", [-1e9, -np.inf])
@pytest.mark.parametrize("words", OF_ALLOWED)
def test_allowed_scores_are_told_beside_right_forbidden_ones(words: str, forbidden: float) -> None:
    scores, mask = question(3)
    wrong = OF_ALLOWED[words](scores, mask)
    # Neither the lowest score that is written nor the expected one counts in a comparison.
    wrong = np.where(wrong < -1e8, forbidden, wrong)
    told = first(wrong, np.where(mask == 1, scores, -1e9), scores, mask)
    assert told.fact.startswith("The forbidden scores are right.") and words in told.fact
    assert told.look.endswith("?")


@pytest.mark.parametrize("words", OF_FORBIDDEN)
def test_forbidden_scores_that_are_not_hidden_are_counted(words: str) -> None:
    scores, mask = question(5)
    wrong = OF_FORBIDDEN[words](scores, mask)
    assert words in first(wrong, np.where(mask == 1, scores, -1e9), scores, mask).fact


def test_other_numbers_in_the_place_of_allowed_scores_get_no_claim() -> None:
    for seed in range(40):
        scores, mask = question(seed)
        other = np.random.default_rng(1000 + seed).standard_normal(scores.shape)
        expected = np.where(mask == 1, scores, -1e9)
        assert claims_about(np.where(mask == 1, other, -1e9), expected, MASKED) == ()


def test_large_numbers_make_no_small_ones_nearly_right() -> None:
    form = ResultSpec(("result",), ("S D",))
    expected = np.random.default_rng(4).standard_normal((4, 6))
    expected[0] *= 1e6
    other = np.where(np.arange(4)[:, None] == 0, expected, 0.3 + expected**2)
    assert "close" not in {claim.kind for claim in claims_about(other, expected, form)}
