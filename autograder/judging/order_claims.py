"""Claims about places: axes moved, entries in another order, numbers that stand elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, permutations

import numpy as np

from autograder.judging.difference import Difference
from autograder.model.claim import Claim

MOST_ENTRIES = 64  # along an axis, in whose order is looked for
MOST_AXES = 4
_MOST_DIFFERENT = 16  # numbers that have to be different, in a large array of few digits


def about_axes(seen: Difference) -> Iterator[Claim]:
    """Give the claim that the result is right with its axes in another order, if it is."""
    count = seen.expected.ndim
    if not 1 < count <= MOST_AXES or sorted(seen.actual.shape) != sorted(seen.expected.shape):
        return
    orders = sorted(
        permutations(range(count)), key=lambda order: sum(map(int.__ne__, order, range(count)))
    )
    for order in orders[1:]:
        moved = seen.actual.transpose(order)
        if moved.shape == seen.expected.shape and _same(seen, moved, seen.expected):
            yield _axes_moved(seen, order)
            return


def _axes_moved(seen: Difference, order: tuple[int, ...]) -> Claim:
    wrong = [axis for axis, place in enumerate(order) if axis != place]
    if len(wrong) > 2:
        return Claim("axes", f"{seen.label} would be right with its axes in another order.")
    first, second = wrong
    if len((seen.axes or "").split()) != seen.expected.ndim:
        return Claim("axes", f"{seen.label} would be right with axes {first} and {second} swapped.")
    return Claim(
        "axes",
        f"{seen.label} would be right with two axes swapped: {seen.axis(first)} and "
        f"{seen.axis(second)}.",
    )


def _same(seen: Difference, actual: np.ndarray, expected: np.ndarray) -> bool:
    """Say whether two arrays of one shape agree, and are not one number everywhere."""
    return bool(seen.agree(actual, expected).all()) and not bool(
        (expected == expected.flat[0]).all()
    )


def about_order(seen: Difference) -> Iterator[Claim]:
    """Give what is true of the places of the numbers in a result with the expected shape."""
    for axis in range(seen.expected.ndim):
        claim = _permuted(seen, axis) or _moved_on(seen, axis)
        if claim:
            yield claim
            return
    claim = _reshaped(seen) or _scattered(seen)
    if claim:
        yield claim


def _permuted(seen: Difference, axis: int) -> Claim | None:
    size = seen.expected.shape[axis]
    order = _order(seen, axis) if 1 < size <= MOST_ENTRIES else None
    if order is None:
        return None
    along = f"Along {seen.axis(axis)}{seen.of_label}"
    if order == list(range(size))[::-1]:
        return Claim("reversed", f"{along}, the right entries stand in reverse order.")
    shift = order.index(0) if not _block(order) else 0
    if shift and order == [*range(size - shift, size), *range(size - shift)]:
        way = f"{shift} {'place' if shift == 1 else 'places'} too late"
        if shift > size - shift:
            back = size - shift
            way = f"{back} {'place' if back == 1 else 'places'} too early"
        return Claim(
            "rolled",
            f"{along}, the right entries stand {way}, and those that fall off one end come in at "
            "the other.",
        )
    size = _block(order)
    if size:
        many = len(order) // size
        parts = (
            "two halves have changed places" if many == 2 else f"{many} parts are in reverse order"
        )
        return Claim(
            "parts",
            f"Along {seen.axis(axis)}{seen.of_label}, the {parts}, of {size} entries each. Inside "
            "each of them, the order is right.",
            "In which order do the parts come together?",
        )
    blocks = _blocks(order)
    if blocks:
        return Claim(
            "interleaved",
            f"{along}, the right entries are interleaved: those of {blocks} groups alternate, "
            "but each group is expected in one piece.",
            "Two axes became one here. Which of the two comes first?",
        )
    return Claim("order", f"{along}, the right entries stand in another order.")


def _order(seen: Difference, axis: int) -> list[int] | None:
    """Return which expected entry stands at each place along an axis; None if one is missing."""
    actual, expected = (np.moveaxis(each, axis, 0) for each in (seen.actual, seen.expected))
    left = list(range(len(expected)))
    order = []
    for entry in actual:
        fits = (place for place in left if seen.agree(entry, expected[place]).all())
        place = next(fits, None)
        if place is None:
            return None
        left.remove(place)
        order.append(place)
    # Entries that are all alike would fit in any order.
    alike = seen.agree(expected[:1], expected).all()
    return None if alike or order == sorted(order) else order


def _block(order: list[int]) -> int:
    """Return the size of the parts that stand in reverse order, each in one piece; else 0."""
    count = len(order)
    for size in range(2, count // 2 + 1):
        if count % size == 0:
            parts = np.arange(count).reshape(-1, size)
            if order == parts[::-1].ravel().tolist():
                return size
    return 0


def _blocks(order: list[int]) -> int:
    """Return how many groups alternate in `order`; 0 if it is no such order."""
    size = len(order)
    for groups in range(2, size // 2 + 1):
        if size % groups == 0:
            alternating = np.arange(size).reshape(groups, -1).T.ravel().tolist()
            if order == alternating:
                return groups
    return 0


def _moved_on(seen: Difference, axis: int) -> Claim | None:
    if seen.expected.shape[axis] < 3:
        return None
    actual, expected = (np.moveaxis(each, axis, 0) for each in (seen.actual, seen.expected))
    along = f"Along {seen.axis(axis)}{seen.of_label}"
    for later, sooner, way in (
        (actual[1:], expected[:-1], "late"),
        (actual[:-1], expected[1:], "early"),
    ):
        alike = seen.agree(np.broadcast_to(sooner[:1], sooner.shape), sooner).all()
        if not alike and seen.agree(later, sooner).all():
            return Claim("moved on", f"{along}, each entry stands one place too {way}.")
    return None


def _reshaped(seen: Difference) -> Claim | None:
    """Claim that a reshape stands where axes have to change places, if that gives the result."""
    if seen.expected.ndim > MOST_AXES or not _varied(seen.expected):
        return None
    if not any(_same(seen, other, seen.expected) for other in _undone(seen.actual)) and not any(
        _same(seen, seen.actual, other) for other in _undone(seen.expected)
    ):
        return None
    return Claim(
        "reshaped",
        f"{seen.label} has all the expected numbers, but in other places. It looks as if the axes "
        "stood in another order before a reshape than it needs.",
        "In which order do the axes stand before your reshape, and which ones become one?",
    )


def _undone(array: np.ndarray) -> Iterator[np.ndarray]:
    """Give an array with its axes moved and the shape put back, also with one axis cut in two."""
    for cut in (array.shape, *islice(_cut(array.shape), 24)):
        for order in permutations(range(len(cut))):
            yield array.reshape(cut).transpose(order).reshape(array.shape)


def _cut(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Give `shape` with an axis cut into two factors, where that makes four axes at most."""
    if len(shape) >= MOST_AXES:
        return
    for axis, size in enumerate(shape):
        for part in range(2, min(size, MOST_ENTRIES) // 2 + 1):
            if size % part == 0:
                yield (*shape[:axis], part, size // part, *shape[axis + 1 :])


def _scattered(seen: Difference) -> Claim | None:
    actual, expected = np.sort(seen.actual, axis=None), np.sort(seen.expected, axis=None)
    if not _varied(expected) or not seen.agree(actual, expected).all():
        return None
    return Claim("scattered", f"{seen.label} has all the expected numbers, but in other places.")


def _varied(array: np.ndarray) -> bool:
    """Say whether an array has so many different numbers that their order can be seen."""
    return array.size > 5 and np.unique(array).size > min(array.size // 2, _MOST_DIFFERENT)
