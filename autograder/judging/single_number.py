"""One number, however it is held: by itself, or by an array without axes, as `np.prod` gives it."""

from __future__ import annotations

import numpy as np

from autograder.protocol.wire import Value

# Numbers of these types have to be the expected ones, to the digit.
EXACT = (int, bool)


def whole_number(value: Value) -> Value:
    """Return the number in an array without axes that holds a whole number or a truth value.

    Every other value comes back as it is.
    """
    whole = isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "biu"
    return value.item() if whole else value


def scalar(value: Value) -> Value:
    """Return a number as an array without axes, for where such an array of floats is expected.

    Every other value comes back as it is.
    """
    number = whole_number(value)
    return np.asarray(float(number)) if type(number) in (int, float) else value
