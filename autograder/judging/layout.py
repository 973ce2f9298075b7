"""Finds an array among others up to layout: axes in another order, merged, or cut into slices.

The arrays that are looked through come from untrusted code: their number and sizes are bounded
where they arrive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations

import numpy as np

from autograder.judging.compare import FLOOR

_CLOSE = 1e-3  # of sums, which no rearrangement changes
_ALIKE = 2e-4  # of single numbers; single precision in another order of summing keeps more
MOST_SLICES = 512


@dataclass(frozen=True)
class Shape:
    """An array and the names of its axes, such as ("B", "heads", "S", "head_dim")."""

    array: np.ndarray
    axes: tuple[str, ...]

    @cached_property
    def canonical(self) -> np.ndarray:
        """Its numbers, with every forbidden score the same."""
        return canonical(self.array)


@dataclass(frozen=True)
class Place:
    """Where an array was found: the numbers of the arrays that hold it, the first one first.

    `as_it_is` is True when its axes are in their own order.
    """

    numbers: tuple[int, ...]
    as_it_is: bool


def canonical(array: np.ndarray) -> np.ndarray:
    """Return numbers in double precision, every forbidden score (down to -inf) the same."""
    wide = array.astype(np.float64)
    return np.where(wide < FLOOR, FLOOR, wide)


def alike(one: np.ndarray, other: np.ndarray) -> bool:
    """Say whether two arrays of one shape hold the same finite numbers, but for rounding."""
    if one.shape != other.shape or not (np.isfinite(one).all() and np.isfinite(other).all()):
        return False
    room = _ALIKE * (np.abs(other).mean() + np.abs(other))
    return bool((np.abs(one - other) <= room).all())


class Collection:
    """Arrays to look through, in order."""

    def __init__(self, given: Sequence[np.ndarray]) -> None:
        with np.errstate(all="ignore"):
            self.arrays = tuple(canonical(np.squeeze(array)) for array in given)
            self._sizes = np.array([array.size for array in self.arrays])
            self._sums = np.array([array.sum() for array in self.arrays])
            self._squares = np.array([(array**2).sum() for array in self.arrays])

    def find(self, shape: Shape) -> Place | None:
        """Return where `shape` is: whole, or in all of its slices along some of its axes."""
        whole = self._find_one(shape.canonical)
        if whole is not None:
            return Place((whole[0],), whole[1])
        for cut in _cuts(shape.array.shape):
            found = []
            for part in _slices(shape.canonical, cut):
                one = self._find_one(part)
                if one is None:
                    break
                found.append(one)
            else:
                return Place(tuple(n for n, _ in found), all(kept for _, kept in found))
        return None

    def find_shares(self, shape: Shape) -> int | None:
        """Return the number of an array that has the shares of `shape`, but not divided yet.

        Only for an array whose rows sum to 1, which may be divided by their sums later.
        """
        if not np.allclose(shape.canonical.sum(axis=-1), 1.0, atol=1e-5):
            return None
        for number, array in enumerate(self.arrays):
            if array.shape == np.squeeze(shape.array).shape and array.ndim:
                rows, wanted = (_normalized(each) for each in (array, np.squeeze(shape.canonical)))
                if alike(rows, wanted):
                    return number
        return None

    def _find_one(self, array: np.ndarray) -> tuple[int, bool] | None:
        """Return the number of the array that is `array` in some order, and whether in its own."""
        array = np.squeeze(array)
        if not array.ndim or not len(self.arrays):
            return None
        total, squares = array.sum(), (array**2).sum()
        with np.errstate(all="ignore"):
            near = np.abs(self._sums - total) <= _CLOSE * np.sqrt(squares * array.size) + 1e-9
            near &= np.abs(self._squares - squares) <= _CLOSE * squares + 1e-9
        near &= self._sizes == array.size
        best = None
        for number in np.flatnonzero(near):
            found = _order(self.arrays[number], array)
            if found:
                return int(number), True
            if found is not None and best is None:
                best = (int(number), False)
        return best


def same_size(array: np.ndarray, shape: Shape) -> bool:
    """Say whether an array has the axes of `shape`, in any order; two may be merged."""
    given = sorted(size for size in array.shape if size != 1)
    sizes = [size for size in shape.array.shape if size != 1]
    merged = [sizes[0] * sizes[1], *sizes[2:]] if len(sizes) > 3 else sizes
    return given in (sorted(sizes), sorted(merged))


def _order(given: np.ndarray, array: np.ndarray) -> bool | None:
    """Return True when `given` is `array`, False when with axes in another order, else None."""
    count = array.ndim
    for order in permutations(range(count)):
        moved = array.transpose(order)
        sizes = [moved.shape]
        if count == 4 and {0, 1} in ({*order[:2]}, {*order[1:3]}, {*order[2:]}):
            at = min(order.index(0), order.index(1))
            sizes.append(_merged(moved.shape, at))
        if given.shape in sizes and alike(given, moved.reshape(given.shape)):
            return order == tuple(range(count))
    return None


def _merged(sizes: tuple[int, ...], at: int) -> tuple[int, ...]:
    return (*sizes[:at], sizes[at] * sizes[at + 1], *sizes[at + 2 :])


def _cuts(sizes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The sets of axes, the last one left out, along which code may loop."""
    leading = range(len(sizes) - 1)
    for count in range(1, len(sizes)):
        for axes in combinations(leading, count):
            if np.prod([sizes[axis] for axis in axes], dtype=float) <= MOST_SLICES:
                yield axes


def _slices(array: np.ndarray, axes: tuple[int, ...]) -> Iterator[np.ndarray]:
    moved = np.moveaxis(array, axes, range(len(axes)))
    for place in np.ndindex(moved.shape[: len(axes)]):
        yield moved[place]


def _normalized(array: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(array / np.abs(array).sum(axis=-1, keepdims=True))
