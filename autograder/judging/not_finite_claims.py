"""Claims about where NaN and infinity stand in a result."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autograder.judging.difference import Difference
from autograder.model.claim import Claim
from autograder.model.request import Request
from autograder.protocol.wire import arrays_in


def about_not_finite(seen: Difference, request: Request | None) -> Iterator[Claim]:
    """Give what is true of the numbers that are not finite, in a result of the expected shape."""
    if seen.actual.shape != seen.expected.shape or not np.isfinite(seen.expected).all():
        return
    if np.isnan(seen.actual).any():
        yield from _of_negative(seen, request)
    elif np.isneginf(seen.actual).any() and seen.square:
        yield from _hidden(seen)


def _of_negative(seen: Difference, request: Request | None) -> Iterator[Claim]:
    """Claim that NaN stands where a number is negative, and nowhere else."""
    nan = np.isnan(seen.actual)
    if nan.all() or nan.sum() < 3:
        return
    given = () if request is None or request.method else arrays_in(request.arguments)
    others = [(f"argument number {n}", each) for n, each in enumerate(given, start=1)]
    for words, array in (("what is expected", seen.expected), *others):
        if array.shape == nan.shape and np.array_equal(nan, array < 0):
            yield Claim(
                "nan of negative",
                f"NaN stands exactly where {words} is negative. The square root of a negative "
                "number is NaN, and so is its logarithm.",
                leads=False,
            )
            return


def _hidden(seen: Difference) -> Iterator[Claim]:
    """Claim that scores of later or earlier tokens are hidden, where all others are right."""
    hidden = np.isneginf(seen.actual)
    if not seen.agree(seen.actual, seen.expected)[~hidden].all():
        return
    later = np.triu(np.ones(seen.expected.shape[-2:], bool), k=1)
    for words, side in (("later", later), ("earlier", later.T)):
        if later.any() and np.array_equal(hidden, np.broadcast_to(side, hidden.shape)):
            yield Claim(
                "hidden",
                f"The numbers of {words} keys are hidden: they are negative infinity. All others "
                "are right.",
                "Nothing is expected to be hidden here. Which of your lines masks?",
            )
