"""Claims about a result of another shape: what the expected array became."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from autograder.judging.difference import Difference
from autograder.model.claim import Claim

_REDUCED: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "the sum": lambda array, axis: array.sum(axis=axis),
    "the mean": lambda array, axis: array.mean(axis=axis),
    "the largest": lambda array, axis: array.max(axis=axis),
}


def about_shape(seen: Difference) -> Iterator[Claim]:
    """Give how a result with another shape follows from the expected array, if it does."""
    if not seen.actual.size or not seen.expected.size:
        return
    for claim in (_flattened, _reduced, _one_entry):
        found = claim(seen)
        if found:
            yield found


def _flattened(seen: Difference) -> Claim | None:
    if seen.actual.size != seen.expected.size:
        return None
    same = seen.actual.reshape(seen.expected.shape)
    if not seen.agree(same, seen.expected).all() or np.ptp(seen.expected) == 0:
        return None
    return Claim(
        "shape only",
        f"All numbers{seen.of_label} are right and in the right order: only the shape differs.",
        "Which axes should be one, or apart?",
    )


def _reduced(seen: Difference) -> Claim | None:
    for axis, size in enumerate(seen.expected.shape):
        for words, reduced in _REDUCED.items():
            fits = np.squeeze(reduced(seen.expected, axis))
            actual = np.squeeze(seen.actual)
            if size > 1 and _same(seen, actual, fits):
                return Claim(
                    f"reduced by {words}",
                    f"{seen.label} is {words} of what is expected along {seen.axis(axis)}: that "
                    "axis is lost.",
                    "Over which axis does your code sum, average or choose?",
                )
    return None


def _one_entry(seen: Difference) -> Claim | None:
    for axis, size in enumerate(seen.expected.shape):
        for entry in range(min(size, 64) if size > 1 else 0):
            fits = np.squeeze(seen.expected.take(entry, axis=axis))
            if _same(seen, np.squeeze(seen.actual), fits):
                return Claim(
                    "one entry",
                    f"{seen.label} holds only entry {entry} along {seen.axis(axis)}, which is "
                    "right.",
                    "Where do the other entries get lost?",
                )
    return None


def _same(seen: Difference, actual: np.ndarray, wanted: np.ndarray) -> bool:
    if actual.shape != wanted.shape or wanted.size < 2 or np.ptp(wanted) == 0:
        return False
    return bool(seen.agree(actual, wanted).all())
