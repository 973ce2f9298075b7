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
    for claim in (_flattened, _crossed, _reduced, _one_entry, _first_entries, _sizes_exchanged):
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
                    f"{seen.label} holds the right numbers of entry {entry} along "
                    f"{seen.axis(axis)}, but the other entries are missing.",
                    "Where do the other entries get lost?",
                )
    return None


def _crossed(seen: Difference) -> Claim | None:
    """Claim that every entry along the axes in front is paired with every other one."""
    count, shape = seen.expected.ndim - 2, seen.expected.shape
    if count < 1 or seen.actual.shape != (*shape[:-1], *shape[:count], shape[-1]):
        return None
    names = " and ".join(seen.axis(axis) for axis in range(count))
    return Claim(
        "crossed",
        f"It has {names} twice, as if every entry along {'them' if count > 1 else 'it'} met every "
        "other one. Which product takes the matrices one by one, each with its own partner?",
    )


def _first_entries(seen: Difference) -> Claim | None:
    for axis, size in enumerate(seen.expected.shape):
        given = seen.actual.shape[axis] if seen.actual.ndim == seen.expected.ndim else size
        if not 1 < given < size:
            continue
        for start in (0, size - given):
            part = seen.expected.take(range(start, start + given), axis=axis)
            if _same(seen, seen.actual, part):
                return Claim(
                    "some entries",
                    f"{seen.label} holds the right numbers of the entries {start} to "
                    f"{start + given - 1} along {seen.axis(axis)}, but the others are missing. Is "
                    "a fixed number written where a size belongs, or does a loop or a slice leave "
                    "entries out?",
                )
    return None


def _sizes_exchanged(seen: Difference) -> Claim | None:
    given, wanted = seen.actual.shape, seen.expected.shape
    if len(given) != len(wanted):
        return None
    differ = [axis for axis, size in enumerate(wanted) if given[axis] != size]
    if len(differ) != 2 or [given[axis] for axis in differ[::-1]] != [wanted[a] for a in differ]:
        return None
    if any(wanted.count(wanted[axis]) > 1 for axis in differ):
        return None  # the sizes do not tell which axes these are
    first, second = differ
    return Claim(
        "sizes exchanged",
        f"The sizes of {seen.axis(first)} and {seen.axis(second)} have changed places. In which "
        "order are they read from a shape, and in which are they used?",
    )


def _same(seen: Difference, actual: np.ndarray, wanted: np.ndarray) -> bool:
    if actual.shape != wanted.shape or wanted.size < 2 or np.ptp(wanted) == 0:
        return False
    return bool(seen.agree(actual, wanted).all())
