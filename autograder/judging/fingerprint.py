"""What stands out in the difference of two arrays: a factor, swapped axes, rows that are right.

Where no known mistake explains a result, such a sentence says more than "values differ".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autograder.judging.compare import ResultSpec, agree, arrays_of, comparable
from autograder.judging.precision import is_lower
from autograder.judging.value_words import axis_words
from autograder.protocol.wire import Value

RESULT = "The result"  # what a student calls a single array
MOST_PLACES = 6  # that are listed one by one


def fingerprint(returned: Value, expected: Value, form: ResultSpec) -> str:
    """Describe the difference of two arrays of one shape, or return "" when nothing stands out."""
    parts = zip(form.names, form.axes, arrays_of(returned, form), arrays_of(expected, form))
    for name, axes, given, part in parts:
        wanted = np.asarray(part)
        if not _has_axes_of(given, wanted):
            continue
        label = f"`{name}`" if len(form.names) > 1 else RESULT
        difference = Difference(
            numbers(given, form), numbers(wanted, form), label, axes, near(given, form)
        )
        with np.errstate(all="ignore"):
            sentence = difference.sentence()
        if sentence:
            return sentence
    return ""


def numbers(array: np.ndarray, form: ResultSpec) -> np.ndarray:
    """Return an array in floating point, since booleans cannot be subtracted and integers wrap."""
    array = comparable(array, form.compare)
    return array.astype(np.float64) if array.dtype.kind in "biu" else array


def near(array: np.ndarray, form: ResultSpec) -> str:
    """Return the precision in which to compare an array: its own, where that is lower."""
    return array.dtype.name if is_lower(array, form.precision) else form.precision


def _has_axes_of(actual: Value, expected: np.ndarray) -> bool:
    """Say whether `actual` is an array of numbers with the axes of `expected`, in any order."""
    if not isinstance(actual, np.ndarray) or actual.dtype.kind not in "biuf":
        return False
    return sorted(actual.shape) == sorted(expected.shape)


@dataclass(frozen=True, eq=False)
class Difference:
    """Two arrays with the same axes, in any order, and what a student calls the first.

    `axes` names those of `expected`, as "B S D", or is None; `precision` says how near numbers
    have to be to count as equal.
    """

    actual: np.ndarray
    expected: np.ndarray
    label: str
    axes: str | None
    precision: str

    def sentence(self) -> str:
        """Return the first thing that stands out, or ""."""
        swapped = self._swapped()
        if (
            swapped
            or self.actual.shape != self.expected.shape
            or self._agree(self.actual, self.expected).all()
        ):
            return swapped
        return self._factor() or self._offset() or self._dropped() or self._rows()

    def _agree(self, actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
        return agree(actual, expected, self.precision)

    def _axis(self, axis: int) -> str:
        return axis_words(axis, self.axes, self.actual.ndim)

    def _swapped(self) -> str:
        for first in range(self.actual.ndim):
            for second in range(first + 1, self.actual.ndim):
                swapped = self.actual.swapaxes(first, second)
                if (
                    swapped.shape == self.expected.shape
                    and self._agree(swapped, self.expected).all()
                ):
                    if len((self.axes or "").split()) != self.actual.ndim:
                        return (
                            f"{self.label} would be right with axes {first} and {second} swapped."
                        )
                    return (
                        f"{self.label} would be right with two axes swapped: {self._axis(first)} "
                        f"and {self._axis(second)}."
                    )
        return ""

    def _factor(self) -> str:
        actual, expected = self.actual, self.expected
        usable = np.isfinite(actual) & np.isfinite(expected) & (np.abs(expected) > 1e-6)
        if usable.sum() < 3:
            return ""
        middle = float(np.median(actual[usable] / expected[usable]))
        if abs(middle) > 1e-6 and self._agree(actual, expected * middle).all():
            return f"{self.label} is {middle:.4g} times what is expected, everywhere."
        return ""

    def _offset(self) -> str:
        actual, expected = self.actual, self.expected
        usable = np.isfinite(actual) & np.isfinite(expected)
        if usable.sum() < 3:
            return ""
        middle = float(np.median(actual[usable] - expected[usable]))
        if self._agree(actual, expected + middle).all():
            return f"{self.label} is what is expected plus {middle:.4g}, everywhere."
        return ""

    def _dropped(self) -> str:
        actual, expected = self.actual, self.expected
        kept = (actual != 0) & (expected != 0)
        if kept.all() or kept.sum() < 3:
            return ""
        middle = float(np.median(actual[kept] / expected[kept]))
        if middle > 1 and self._agree(actual[kept], expected[kept] * middle).all():
            return (
                f"{self.label} has {int((actual == 0).sum())} zeros, and its other numbers are "
                f"{middle:.4g} times what is expected, the way dropout leaves them."
            )
        return ""

    def _rows(self) -> str:
        right = self._agree(self.actual, self.expected)
        for axis in range(self.actual.ndim):
            others = tuple(other for other in range(self.actual.ndim) if other != axis)
            whole = right.all(axis=others)
            if 0 < whole.sum() < whole.size:
                entries = _entries([int(place) for place in np.flatnonzero(whole)], whole.size)
                return f"{self._along(axis)}, {entries} right, but the others are not."
        return ""

    def _along(self, axis: int) -> str:
        of = f" of {self.label}" if self.label != RESULT else ""
        return f"Along {self._axis(axis)}{of}"


def _entries(places: list[int], count: int) -> str:
    """Name the entries at `places` of `count`; when they are too many to list, say how many."""
    if len(places) == 1:
        return f"entry {places[0]} is"
    first, last = places[0], places[-1]
    if len(places) == last - first + 1 > 2:
        return f"the entries {first} to {last} are"
    if len(places) <= MOST_PLACES:
        return f"the entries {', '.join(map(str, places[:-1]))} and {last} are"
    return f"{len(places)} of the {count} entries are"
