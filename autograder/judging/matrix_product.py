"""A matrix product of two arguments, as it is expected, and the same product of other arrays."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from autograder.judging.difference import Difference
from autograder.protocol.wire import Value

_MOST = 1 << 22  # multiplications that are tried out for one product


@dataclass(frozen=True, eq=False)
class Factor:
    """An argument of the question, as a factor of a matrix product."""

    words: str
    array: np.ndarray

    @property
    def turned(self) -> np.ndarray:
        return self.array.swapaxes(-2, -1)


@dataclass(frozen=True, eq=False)
class MatrixProduct:
    """The product that is expected: `left` times `right`, which is `turned` over if so.

    `scale` is the number that it is multiplied by.
    """

    left: Factor
    right: Factor
    turned: bool
    scale: float = 1.0

    def of(self, left: np.ndarray, right: np.ndarray) -> np.ndarray | None:
        """Return the same product of other arrays, or None where their shapes do not fit."""
        array = times(left, right.swapaxes(-2, -1) if self.turned else right)
        return None if array is None else self.scale * array


def expected_product(seen: Difference, arguments: tuple[Value, ...]) -> MatrixProduct | None:
    """Return the product of two arguments that is expected, times a number; None for none."""
    factors = [
        Factor(f"argument number {number}", np.asarray(value, np.float64))
        for number, value in enumerate(arguments, start=1)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.ndim > 1
    ]
    for (left, right), turned in product(permutations(factors, 2), (True, False)):
        array = MatrixProduct(left, right, turned).of(left.array, right.array)
        scale = None if array is None else factor_of(seen, seen.expected, array)
        if scale is not None:
            return MatrixProduct(left, right, turned, scale)
    return None


def factor_of(seen: Difference, wanted: np.ndarray, array: np.ndarray) -> float | None:
    """Return the number that makes `wanted` out of an array, 1 where it need not be another."""
    if array.shape != wanted.shape or not np.isfinite(array).all():
        return None
    if is_like(seen, array, wanted):
        return 1.0
    weight = float((array * array).sum())
    scale = float((np.asarray(wanted, np.float64) * array).sum()) / weight if weight else 0.0
    return scale if abs(scale) > 1e-3 and is_like(seen, scale * array, wanted) else None


def times(left: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """Return a matrix product, or None where the shapes do not fit or it takes long."""
    if left.shape[-1] != right.shape[-2] or left.size * right.shape[-1] > _MOST:
        return None
    try:
        return np.asarray(left @ right)
    except ValueError:  # the axes in front do not fit
        return None


def is_like(seen: Difference, array: np.ndarray, wanted: np.ndarray) -> bool:
    """Say whether an array is `wanted`, within the tolerance."""
    if array.shape != wanted.shape or not np.isfinite(array).all():
        return False
    return bool(seen.agree(wanted, array.astype(wanted.dtype)).all())
