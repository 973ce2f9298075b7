"""Claims about numbers that are brought to mean 0 and standard deviation 1."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autograder.judging.difference import Difference
from autograder.model.claim import Claim

_MEAN, _SPREAD = 1e-5, 1e-3  # how near to 0 and to 1: a small number may be added before a root
_FEWEST = 3  # numbers that have a spread


def about_spread(seen: Difference) -> Iterator[Claim]:
    """Claim that the numbers of a result, or of each part of it, have mean 0 and deviation 1."""
    count = seen.expected.ndim
    for axes in [(axis,) for axis in reversed(range(count))] + _together(count):
        entries = int(np.prod([seen.expected.shape[axis] for axis in axes]))
        if entries < _FEWEST or not _standard(seen.actual, axes) or _standard(seen.expected, axes):
            continue
        names = " and ".join(seen.axis(axis) for axis in axes)
        where = f"Along {names}{' together' if len(axes) > 1 else ''}{seen.of_label}, the numbers"
        if len(axes) == count:
            where = f"All numbers{seen.of_label} together"
        yield Claim(
            f"standardized {axes}",
            f"{where} have mean 0 and standard deviation 1. That is not expected.",
            "Should a number here depend on the others? Which line makes it do so?",
        )
        return


def _together(count: int) -> list[tuple[int, ...]]:
    """Return the last axes of `count`, from two to all."""
    return [tuple(range(first, count)) for first in reversed(range(count - 1))]


def _standard(array: np.ndarray, axes: tuple[int, ...]) -> bool:
    wide = np.asarray(array, np.float64)
    if np.abs(wide.mean(axis=axes)).max() > _MEAN:
        return False
    return any(
        bool((np.abs(wide.std(axis=axes, ddof=less) - 1) < _SPREAD).all()) for less in (0, 1)
    )
