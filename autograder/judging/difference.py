"""Two arrays that should be equal and are not, and the words for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autograder.judging.compare import ResultSpec, agree, comparable
from autograder.judging.precision import is_lower
from autograder.judging.value_words import axis_words

RESULT = "The result"  # what a student calls a single array


@dataclass(frozen=True, eq=False)
class Difference:
    """The array that came back, the expected one, and what a student calls the first.

    `axes` names those of `expected`, as "B S D", or is None; `precision` says how near numbers
    have to be to count as equal; `sizes` are the sizes that the question is about, by name.
    """

    actual: np.ndarray
    expected: np.ndarray
    label: str
    axes: str | None
    precision: str
    sizes: tuple[tuple[str, int], ...] = ()

    def agree(self, actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """Say per entry whether two arrays of one shape agree."""
        return agree(actual, expected, self.precision)

    def holds(self, wanted: np.ndarray) -> bool:
        """Say whether the result is `wanted`, which has to be told from one and the same number."""
        if wanted.shape != self.actual.shape or not np.isfinite(wanted).all():
            return False
        if not self.agree(self.actual, wanted).all():
            return False
        return not self.agree(np.full_like(wanted, np.median(wanted)), wanted).all()

    def axis(self, axis: int) -> str:
        """Name an axis of the expected array: axis 1 (S)."""
        return axis_words(axis, self.axes, self.expected.ndim)

    @property
    def of_label(self) -> str:
        """What to put behind a place: " of `keys`", or "" for the only array."""
        return f" of {self.label}" if self.label != RESULT else ""

    @property
    def square(self) -> bool:
        """Whether the last two axes are the same one twice, such as S S."""
        letters = (self.axes or "").split()[-2:]
        return self.expected.ndim > 1 and len(letters) == 2 and letters[0] == letters[1]

    @property
    def shares(self) -> bool:
        """Whether the expected rows are shares: not negative, and each sums to 1."""
        rows = self.expected
        if rows.ndim == 0 or rows.shape[-1] < 2 or (rows < 0).any():
            return False
        return bool(self.agree(rows.sum(axis=-1), np.ones(rows.shape[:-1], rows.dtype)).all())


def numbers(array: np.ndarray, form: ResultSpec) -> np.ndarray:
    """Return an array in floating point, since booleans cannot be subtracted and integers wrap."""
    array = comparable(array, form.compare)
    return array.astype(np.float64) if array.dtype.kind in "biu" else array


def near(array: np.ndarray, form: ResultSpec) -> str:
    """Return the precision in which to compare an array: its own, where that is lower."""
    return array.dtype.name if is_lower(array, form.precision) else form.precision
