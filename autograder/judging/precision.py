"""Which precision was asked for, which one came back, and how near is near enough.

What is asked for is the dtype of the inputs, which is also that of the reference's result, unless
a check names another. The dtype that comes back widens the tolerance by one step at most: float64
in allows float32 back, and nothing less.
"""

from __future__ import annotations

import numpy as np

from autograder.protocol.wire import Value, arrays_in

# Relative and absolute tolerance by the dtype that was asked for. Known mistakes move results
# by 100 times those of float32 and float64. In half precision, large scores lose their last digits
# before the softmax, so two right layers may differ by this much once in a million draws.
TOLERANCES = {
    "bfloat16": (5e-2, 2e-1),
    "float16": (2e-2, 4e-2),
    "float32": (1e-4, 1e-5),
    "float64": (1e-5, 1e-6),
}
# The precisions lower than any that an exercise asks for by default, and what students call them.
LOWER = {"float16": "float16 (half precision)", "bfloat16": "bfloat16"}
# How many decimal digits they keep, and how far rounding to them moves a number.
DIGITS = {"float16": 3, "bfloat16": 2}
_ROUNDING = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
# NumPy makes up the name of a dtype each time that it is asked for it.
_NAMES = {np.dtype(name).char: name for name in ("float16", "float32", "float64")}
# A result is rounded a few times on its way; being off by more than this is an error.
_ROUNDINGS = 8
_NEAR = 1e-3  # of the largest number
_MOST_DECIMALS = 4  # that somebody rounds to


def asked_precision(expected: np.ndarray, precision: str = "") -> str:
    """Return the name of the dtype that was asked for: `precision`, else the expected array's."""
    return precision or _NAMES.get(expected.dtype.char) or expected.dtype.name


def tolerance(
    returned: np.ndarray, expected: np.ndarray, precision: str = ""
) -> tuple[float, float]:
    """Return the (relative, absolute) tolerance for a result of what was asked.

    A result in float32, or less, where float64 was asked is judged as float32.
    """
    asked = asked_precision(expected, precision)
    if asked == "float64" and returned.dtype.kind == "f" and returned.dtype.itemsize < 8:
        asked = "float32"
    return TOLERANCES.get(asked, TOLERANCES["float64"])


def is_lower(array: np.ndarray, asked: str) -> bool:
    """Say whether an array's own dtype has less precision than `asked` allows."""
    return asked not in LOWER and array.dtype.name in LOWER


def rounded_to(returned: np.ndarray, expected: np.ndarray, precision: str = "") -> str:
    """Name the lower precision that alone explains a difference, or return "".

    returned, expected: the numbers that differ, of one shape. Each must be a number of that
    precision, whatever dtype holds it (bfloat16 crosses the wire as float32). It must also be as
    near to the expected one as a few roundings leave it.
    """
    finite = np.isfinite(returned).all() and np.isfinite(expected).all()
    if asked_precision(expected, precision) in LOWER or not finite or not returned.size:
        return ""
    with np.errstate(all="ignore"):
        off = np.abs(returned.astype(np.float64) - expected).max()
        size = np.abs(expected).max()
    # Most numbers that bfloat16 holds fit into float16 too; an array's own dtype leaves no doubt.
    own = returned.dtype.name
    for name in (own,) if own in LOWER else ("bfloat16", "float16"):
        if off <= _ROUNDINGS * _ROUNDING[name] * size and _is_of(returned, name):
            return name
    return ""


def _is_of(array: np.ndarray, name: str) -> bool:
    """Say whether a precision holds every number of a finite array exactly."""
    with np.errstate(all="ignore"):
        single = array.astype(np.float32)
        if name == "float16":
            return bool((array.astype(np.float16) == array).all())
        # bfloat16 is float32 without the lower half of its bits.
        return bool((single == array).all() and not (single.view(np.uint32) & 0xFFFF).any())


def decimals_of(array: np.ndarray) -> int | None:
    """Return to how many decimals all numbers of an array are rounded, None if they have more."""
    eps = np.finfo(array.dtype).eps if array.dtype.kind == "f" else 0.0
    numbers = np.asarray(array, np.float64)
    if not np.isfinite(numbers).all():
        return None
    for digits in range(_MOST_DECIMALS + 1):
        units = numbers * 10**digits  # of the last decimal
        close = np.minimum(4 * eps * np.maximum(np.abs(units), 1), 1e-2)
        if (np.abs(units - np.rint(units)) <= close).all():
            return digits
    return None


def decimals_words(digits: int) -> str:
    """Say what numbers are that are rounded to so many decimals."""
    return {0: "whole numbers", 1: "1 decimal"}.get(digits, f"{digits} decimals")


def few_decimals_words(digits: int) -> str:
    """Say of numbers that they have no more decimals."""
    return f"have no more than {decimals_words(digits)}" if digits else "are whole numbers"


def apart(given: Value, expected: Value) -> tuple[float, float]:
    """Return the largest number that is expected, and the largest difference from what is given."""
    pairs = [
        (own, right)
        for own, right in zip(arrays_in(given), arrays_in(expected), strict=False)
        if own.shape == right.shape and own.size and own.dtype.kind == right.dtype.kind == "f"
    ]
    with np.errstate(all="ignore"):
        largest = max((float(np.abs(right).max()) for _, right in pairs), default=0.0)
        difference = max((float(np.abs(own - right).max()) for own, right in pairs), default=0.0)
    return largest, difference


def is_near(given: Value, expected: Value) -> bool:
    """Say whether numbers are off by so little that a small error may have grown to that."""
    largest, difference = apart(given, expected)
    return 0 < difference <= _NEAR * largest
