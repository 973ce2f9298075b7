"""What stands out in the difference of two arrays: a factor, swapped axes, rows that are right.

Where no known mistake gives a result, such a sentence says more than "values differ".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autograder.judging.compare import ResultSpec, agree, arrays_of, comparable
from autograder.judging.precision import is_lower
from autograder.judging.value_words import axis_words
from autograder.protocol.wire import Value


def fingerprint(returned: Value, expected: Value, form: ResultSpec) -> str:
    """Describe the difference of two arrays of one shape, or return "" when nothing stands out."""
    for name, axes, one, two in zip(
        form.names, form.axes, arrays_of(returned, form), arrays_of(expected, form)
    ):
        due = np.asarray(two)
        if not _has_axes_of(one, due):
            continue
        label = f"`{name}`" if len(form.names) > 1 else "The result"
        difference = Difference(
            numbers(one, form), numbers(due, form), label, axes, near(one, form)
        )
        with np.errstate(all="ignore"):
            sentence = difference.sentence()
        if sentence:
            return sentence
    return ""


def numbers(array: np.ndarray, form: ResultSpec) -> np.ndarray:
    """Return an array in floating point: booleans have no difference, whole numbers wrap around."""
    array = comparable(array, form.compare)
    return array.astype(np.float64) if array.dtype.kind in "biu" else array


def near(array: np.ndarray, form: ResultSpec) -> str:
    """Return the precision in which an array is like another: its own too, where that is lower."""
    return array.dtype.name if is_lower(array, form.precision) else form.precision


def _has_axes_of(one: Value, due: np.ndarray) -> bool:
    """Say whether `one` is an array of numbers with the axes of `due`, in whatever order."""
    if not isinstance(one, np.ndarray) or one.dtype.kind not in "biuf":
        return False
    return sorted(one.shape) == sorted(due.shape)


@dataclass(frozen=True, eq=False)
class Difference:
    """Two arrays with the same axes, in whatever order, and what a student calls the first.

    `axes` names those of `due`, as "B S D", or is None; `precision` is how near equal numbers are.
    """

    one: np.ndarray
    due: np.ndarray
    label: str
    axes: str | None
    precision: str

    def sentence(self) -> str:
        """Return the first thing that stands out, or ""."""
        swapped = self._swapped()
        if swapped or self.one.shape != self.due.shape or self._agree(self.one, self.due).all():
            return swapped
        return self._factor() or self._offset() or self._dropped() or self._rows()

    def _agree(self, one: np.ndarray, due: np.ndarray) -> np.ndarray:
        return agree(one, due, self.precision)

    def _axis(self, axis: int) -> str:
        return axis_words(axis, self.axes, self.one.ndim)

    def _swapped(self) -> str:
        for first in range(self.one.ndim):
            for second in range(first + 1, self.one.ndim):
                swapped = self.one.swapaxes(first, second)
                if swapped.shape == self.due.shape and self._agree(swapped, self.due).all():
                    if len((self.axes or "").split()) != self.one.ndim:
                        return (
                            f"{self.label} would be right with axes {first} and {second} swapped."
                        )
                    return (
                        f"{self.label} would be right with two axes swapped: {self._axis(first)} "
                        f"and {self._axis(second)}."
                    )
        return ""

    def _factor(self) -> str:
        one, due = self.one, self.due
        usable = np.isfinite(one) & np.isfinite(due) & (np.abs(due) > 1e-6)
        if usable.sum() < 3:
            return ""
        middle = float(np.median(one[usable] / due[usable]))
        if abs(middle) > 1e-6 and self._agree(one, due * middle).all():
            return f"{self.label} is {middle:.4g} times what is expected, everywhere."
        return ""

    def _offset(self) -> str:
        one, due = self.one, self.due
        usable = np.isfinite(one) & np.isfinite(due)
        if usable.sum() < 3:
            return ""
        middle = float(np.median(one[usable] - due[usable]))
        if self._agree(one, due + middle).all():
            return f"{self.label} is what is expected plus {middle:.4g}, everywhere."
        return ""

    def _dropped(self) -> str:
        one, due = self.one, self.due
        kept = (one != 0) & (due != 0)
        if kept.all() or kept.sum() < 3:
            return ""
        middle = float(np.median(one[kept] / due[kept]))
        if middle > 1 and self._agree(one[kept], due[kept] * middle).all():
            return (
                f"{self.label} has {int((one == 0).sum())} zeros, and the other numbers are "
                f"{middle:.4g} times what is expected, as dropout leaves them."
            )
        return ""

    def _rows(self) -> str:
        right = self._agree(self.one, self.due)
        for axis in range(self.one.ndim):
            others = tuple(other for other in range(self.one.ndim) if other != axis)
            whole = right.all(axis=others)
            if 0 < whole.sum() < whole.size:
                places = ", ".join(str(int(place)) for place in np.flatnonzero(whole))
                return (
                    f"Along {self._axis(axis)}, the entries at {places} are right and the others "
                    "are not."
                )
        return ""
