"""Claims about what large scores do to shares: rows that are lost, scores that are cut off."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autograder.judging.difference import Difference
from autograder.model.claim import Claim
from autograder.model.request import Request
from autograder.protocol.wire import arrays_in

# Of a larger number, the exponential is infinite in this precision.
_EXPONENT = {"float32": 88.0, "float64": 709.0}
_BOUNDS = tuple(2.0**power for power in range(1, 14))  # that scores may be cut off at


def about_scores(seen: Difference, request: Request | None) -> Iterator[Claim]:
    """Give what is true of shares whose scores are the arguments of the question."""
    if request is None or request.method is not None or not seen.shares:
        return
    if seen.actual.shape != seen.expected.shape:
        return
    arrays = [array for array in arrays_in(request.arguments) if array.dtype.kind == "f"]
    scores = given_scores(seen, request)
    if scores is not None:
        yield from _by_itself(seen, scores)
        yield from _lost_rows(seen, scores)
        if np.isfinite(seen.actual).all():
            yield from _bounded(seen, scores)
    if np.isnan(seen.actual).any():
        for words in filter(None, map(_large, arrays[:1])):
            yield Claim("large scores", f"{words} {_SHIFT}", leads=False)


def given_scores(seen: Difference, request: Request | None) -> np.ndarray | None:
    """Return the argument of a function that has the shape of the shares, as their scores have."""
    if request is None or request.method is not None:
        return None
    arrays = (array for array in arrays_in(request.arguments) if array.dtype.kind == "f")
    return next((array for array in arrays if array.shape == seen.expected.shape), None)


def _by_itself(seen: Difference, scores: np.ndarray) -> Iterator[Claim]:
    """Claim that something else than exponentials makes the shares."""
    wide = np.asarray(scores, np.float64)
    if seen.holds(wide / wide.sum(axis=-1, keepdims=True)):
        yield Claim(
            "not exponentiated",
            "Each row sums to 1, but each score is divided by the sum of its row as it is. Such "
            "shares may be negative, or larger than 1.",
            "Which function makes every number positive first?",
        )
    for words, numbers in (
        ("each score less the smallest one", wide - wide.min(axis=-1, keepdims=True)),
        ("the square of each score", wide * wide),
        ("each score without its sign", np.abs(wide)),
        ("each score, or 0 where that is negative", np.maximum(wide, 0.0)),
    ):
        if seen.holds((numbers / numbers.sum(axis=-1, keepdims=True)).astype(seen.expected.dtype)):
            yield Claim(
                "no exponential",
                "Each row sums to 1, but without an exponential. What is divided by the sum of the "
                f"row is {words}.",
                "What makes every number positive, and grows with the score?",
            )
    if seen.holds(0.5 + 0.5 * np.tanh(wide / 2)):
        yield Claim(
            "sigmoid",
            "Each number is that of a sigmoid: it lies between 0 and 1, but follows from its own "
            "score alone. So the rows do not sum to 1.",
            "Shares are parts of a whole. Which numbers of a row does a share depend on?",
        )


_SHIFT = "What is taken off each row before you exponentiate, if anything?"


def _large(scores: np.ndarray) -> str:
    """Say what the exponential of large scores is, or "" where they are not large."""
    largest = float(np.abs(scores[np.isfinite(scores)]).max(initial=0))
    if largest <= _EXPONENT.get(scores.dtype.name, _EXPONENT["float64"]):
        return ""
    forbidden = ", and some are -inf, as a mask may write" if np.isneginf(scores).any() else ""
    return (
        f"Some of these scores are as large as {largest:.4g}, up or down{forbidden}. The "
        "exponential of such a number is infinite, or 0."
    )


def _lost_rows(seen: Difference, scores: np.ndarray) -> Iterator[Claim]:
    """Claim that whole rows hold 0 or NaN in place of shares, where all the others are right."""
    empty = (seen.actual == 0).all(axis=-1)
    lost = empty | np.isnan(seen.actual).any(axis=-1)
    if not lost.any() or not seen.agree(seen.actual, seen.expected)[~lost].all():
        return
    words = _large(scores)
    below = _below(scores, lost)
    if not words and not below:
        return
    held = "0 everywhere" if empty[lost].all() else "NaN"
    held = held if empty[lost].all() or not empty.any() else "NaN, or 0 everywhere"
    count = "All rows" if lost.all() else f"{int(lost.sum())} of the {lost.size} rows"
    others = "" if lost.all() else ", and the others are right"
    fact = f"{count} hold {held}{others}. {below or words}"
    yield Claim("lost rows", fact, _SHIFT)


def _below(scores: np.ndarray, lost: np.ndarray) -> str:
    """Say how far the largest score of each lost row lies below that of the array, if so."""
    largest = scores.max(axis=-1)
    gaps = np.asarray(largest.max() - largest, np.float64)
    if lost.all() or not np.isfinite(gaps).all():
        return ""
    least = float(gaps[lost].min())
    if least <= 0 or gaps[~lost].max() >= least:
        return ""
    return (
        f"In the lost rows, even the largest score lies at least {least:.4g} below the largest "
        "one of all."
    )


def _bounded(seen: Difference, scores: np.ndarray) -> Iterator[Claim]:
    """Claim that the shares are those of scores that are cut off at a bound."""
    for bound in _BOUNDS:
        for low, high in ((-bound, bound), (-np.inf, bound), (-bound, np.inf)):
            shares = shares_of(np.clip(scores, low, high))
            if seen.agree(seen.actual, shares.astype(seen.expected.dtype)).all():
                yield Claim(
                    "bounded scores",
                    "Each row sums to 1, but scores that lie far from 0 count as equal. The shares "
                    "are those of scores that are cut off at a bound.",
                    "Which operation keeps the scores within bounds?",
                )
                return


def shares_of(scores: np.ndarray) -> np.ndarray:
    """Return the shares of scores, along the last axis."""
    scores = scores.astype(np.float64)
    # Students install this file too, so it is no step that could be handed in.
    return np.asarray(np.exp(scores - np.logaddexp.reduce(scores, -1, keepdims=True)))
