"""Claims about a masked result: its forbidden scores and its allowed ones, each apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from autograder.judging.compare import FLOOR
from autograder.judging.difference import Difference
from autograder.judging.entry_claims import about_closeness
from autograder.judging.number_claims import about_numbers
from autograder.judging.score_claims import shares_of
from autograder.judging.value_words import place_words, range_words
from autograder.model.claim import Claim
from autograder.model.request import Request
from autograder.protocol.wire import arrays_in

RIGHT = "The forbidden scores are right."


def forbidden_in(seen: Difference) -> np.ndarray:
    """Say per entry whether its score is forbidden, where scores are compared as such."""
    return np.asarray(seen.expected == FLOOR)  # what is lower was raised to it


def about_floor(seen: Difference) -> Iterator[Claim]:
    """Give what is true of forbidden scores, where all the others are right."""
    forbidden = forbidden_in(seen)
    if not forbidden.any() or forbidden.all():
        return
    wrong = forbidden & ~seen.agree(seen.actual, seen.expected)
    if not wrong.any() or not seen.agree(seen.actual, seen.expected)[~forbidden].all():
        return
    held = _range(seen.actual[wrong])
    part = _hidden_entries(seen, forbidden, wrong)
    if part:
        fact = (
            f"The allowed scores are right. The forbidden ones are very negative in {part}; "
            f"elsewhere they hold {held}."
        )
        yield Claim("floor in part", fact, "Which entries does your mask reach?")
        return
    every = wrong.sum() == forbidden.sum()
    count = f"{int(wrong.sum())} of the {int(forbidden.sum())} forbidden ones hold {held}"
    fact = (
        f"The allowed scores are right. {'Forbidden ones hold ' + held if every else count}, but a "
        "very negative number such as -1e9 is expected there."
    )
    if not every:
        place = place_words(wrong, seen.axes)
        fact = f"{fact} The first is {place}. The other forbidden ones are right."
    look = "What share does such a score get in the softmax?"
    yield Claim("floor", fact, look)


def _hidden_entries(seen: Difference, forbidden: np.ndarray, wrong: np.ndarray) -> str:
    """Name the entries along an axis whose forbidden scores are all right, if all others' are not.

    Nothing is named where that is so of no axis.
    """
    for axis in range(forbidden.ndim):
        others = tuple(other for other in range(forbidden.ndim) if other != axis)
        asked = np.flatnonzero(forbidden.any(axis=others))
        right = [int(entry) for entry in asked if not wrong.take(entry, axis=axis).any()]
        missed = [entry for entry in asked if int(entry) not in right]
        whole = all((wrong == forbidden).take(entry, axis=axis).all() for entry in missed)
        if right and missed and whole and len(right) <= 3:
            listed = " and ".join(map(str, right))
            entries = f"entry {listed}" if len(right) == 1 else f"the entries {listed}"
            return f"{entries} along {seen.axis(axis)} only"
    return ""


def _range(array: np.ndarray) -> str:
    if np.isnan(array).any():
        return "NaN"
    low, high = (float(end) + 0.0 for end in (array.min(), array.max()))  # 0 and not -0
    if low == high:
        return "plus infinity" if low == np.inf else f"{low:.4g}"
    return range_words(low, high)


def about_allowed(seen: Difference, request: Request | None) -> Iterator[Claim]:
    """Give what is true of the allowed scores, where all forbidden ones are right.

    Beside forbidden scores, any other number is small, so these are compared without them.
    """
    forbidden = forbidden_in(seen)
    right = seen.agree(seen.actual, seen.expected)
    if not forbidden.any() or forbidden.all() or not right[forbidden].all():
        return
    allowed = ~forbidden
    yield from _forbidden_too(seen, allowed & ~right)
    yield from _shares(seen, allowed, request)
    label = f"The allowed part{seen.of_label}"
    part = replace(
        seen,
        actual=seen.actual[allowed],
        expected=seen.expected[allowed],
        label=label,
        axes=None,
    )
    if (part.actual == FLOOR).all():
        return
    for about in (about_numbers, about_closeness):
        for claim in about(part):
            yield replace(claim, kind=f"allowed {claim.kind}", fact=f"{RIGHT} {claim.fact}")


def _forbidden_too(seen: Difference, wrong: np.ndarray) -> Iterator[Claim]:
    """Claim that some allowed scores are forbidden, where all the others are right."""
    allowed = ~forbidden_in(seen)
    count = int(wrong.sum())
    if count == allowed.sum() or (seen.actual[wrong] != FLOOR).any():
        return
    yield Claim(
        "forbidden too",
        f"{RIGHT} But {count} of the {int(allowed.sum())} allowed ones are very negative too. The "
        "others are right.",
        "What does the mask hold where these scores stand?",
    )


def _shares(seen: Difference, allowed: np.ndarray, request: Request | None) -> Iterator[Claim]:
    """Claim that the allowed scores are shares already: the softmax of an argument."""
    given = () if request is None or request.method else arrays_in(request.arguments)
    for number, scores in enumerate(given, start=1):
        if scores.shape != seen.actual.shape or scores.dtype.kind != "f":
            continue
        if seen.agree(seen.actual, shares_of(scores).astype(seen.expected.dtype))[allowed].all():
            yield Claim(
                "allowed shares",
                f"{RIGHT} But the allowed ones are no scores any more: they are shares, the "
                f"softmax of argument number {number}.",
                "Which step of the layer turns scores into shares, and what does this one return?",
            )
            return
