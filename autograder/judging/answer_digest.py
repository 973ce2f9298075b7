"""A short code for what a step returns, the same for answers that differ only in rounding.

It tells which wrong answers of a class are the same one; no verdict follows from it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable

import numpy as np

from autograder.model.request import Failed, Reply
from autograder.protocol.wire import Linear, Opaque, Value

# Sums of all numbers with random signs stand for an array: a few, so that hardly one of them lies
# where it is rounded now up and now down, and of every entry, so that each one counts.
_SUMS, _DIGITS, _SIGNS_SEED = 4, 2, 20_261_123
_BYTES = 4


def answer_digest(replies: Iterable[Reply]) -> str:
    """Return eight hexadecimal digits for what came back of some questions, in their order.

    Shapes, and numbers to about two digits of their size, decide; types of numbers do not.
    """
    facts = [_reply(reply) for reply in replies]
    return hashlib.blake2b(repr(facts).encode(), digest_size=_BYTES).hexdigest()


def _reply(reply: Reply) -> object:
    if isinstance(reply, Failed):
        raised = reply.exception.type_name if reply.exception else ""
        return (reply.outcome.value, raised)
    return (_value(reply.value), tuple(map(_value, reply.gradients)))


def _value(value: Value) -> object:
    if isinstance(value, np.ndarray):
        return (value.shape, _numbers(value))
    if isinstance(value, tuple):
        return tuple(map(_value, value))
    if isinstance(value, Linear):
        return ("linear", _value(value.weight), _value(value.bias))
    if isinstance(value, bool | int | float):
        return _value(np.asarray(value))
    return ("opaque", value.type_name) if isinstance(value, Opaque) else (str(type(value)), value)


def _numbers(array: np.ndarray) -> object:
    """Return where the numbers of an array are not finite, how large they are, and its sums."""
    kind = np.complex128 if array.dtype.kind == "c" else np.float64
    numbers = np.atleast_1d(array).astype(kind).view(np.float64).ravel()
    finite = np.isfinite(numbers)
    odd = [(int(place), str(numbers[place])) for place in np.flatnonzero(~finite)]
    numbers = np.where(finite, numbers, 0.0)
    largest = float(np.abs(numbers).max(initial=0.0))
    if largest == 0.0:
        return (odd, 0)
    numbers = numbers / largest
    size = math.sqrt(float(numbers @ numbers))  # at least 1, since the largest one is
    signs = np.random.default_rng(_SIGNS_SEED).choice((-1.0, 1.0), (_SUMS, numbers.size))
    sums = np.round(signs @ numbers / size, _DIGITS) + 0.0  # no -0.0
    return (odd, round(math.log(largest) + math.log(size), _DIGITS), sums.tolist())
