"""Which precision was asked for, which one came back, and how near is near enough.

What is asked is the dtype of the inputs, which is the dtype of the reference's result, unless
a check names another one. The dtype that comes back never widens the tolerance by more than
one step: float64 in allows float32 back, and nothing less.
"""

from __future__ import annotations

import numpy as np

# Relative and absolute tolerance by the dtype that was asked for. Known mistakes move results
# by 100 times this.
TOLERANCES = {
    "bfloat16": (5e-2, 3e-2),
    "float16": (2e-2, 5e-3),
    "float32": (1e-4, 1e-5),
    "float64": (1e-5, 1e-6),
}
# The precisions that are less than any exercise asks for by itself, and what a student calls them.
LOWER = {"float16": "float16 (half precision)", "bfloat16": "bfloat16"}
# How many decimal digits of a number they keep, and how far rounding to them moves it.
DIGITS = {"float16": 3, "bfloat16": 2}
_ROUNDING = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
# A result goes through a few roundings on its way; more than this many is an error.
_ROUNDINGS = 8


def asked_precision(expected: np.ndarray, precision: str = "") -> str:
    """Return the name of the dtype that was asked for: `precision`, else the expected array's."""
    return precision or expected.dtype.name


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
    """Say whether an array's own dtype is a lower precision than any that `asked` allows."""
    return asked not in LOWER and array.dtype.name in LOWER


def rounded_to(returned: np.ndarray, expected: np.ndarray, precision: str = "") -> str:
    """Name the lower precision that alone explains a difference, or return "".

    returned, expected: the numbers that differ, of one shape. They have to be numbers of that
    precision, whatever dtype holds them (bfloat16 crosses the wire as float32), and as near to
    the expected ones as a few roundings leave them.
    """
    finite = np.isfinite(returned).all() and np.isfinite(expected).all()
    if asked_precision(expected, precision) in LOWER or not finite or not returned.size:
        return ""
    with np.errstate(all="ignore"):
        off = np.abs(returned.astype(np.float64) - expected).max()
        size = np.abs(expected).max()
    # What bfloat16 holds fits into float16 too, mostly; an array's own dtype is beyond doubt.
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
