"""Whether a call by untrusted code fits a step of the reference, and is small enough to answer.

Arrays with named axes fit axis by axis. All else that can cross the wire may be passed on too:
numbers, text, None, tuples, seeds, layers, and arrays whose axes nobody named. Each kind has a
bound, so that no call takes much work or memory in the trusted process. The sizes that checks ask
with (see `sizes`) are far below it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from autograder.checks.whole_number import whole_number
from autograder.checks.written_values import LONGEST_TEXT
from autograder.model.signature import signature_of
from autograder.protocol.wire import Linear, Seed, Value

LARGEST_ARRAY = 1 << 20  # numbers in one array
LARGEST_AXIS = 2_048
LARGEST_NUMBER = 2_048  # also the largest divisor: a number may be a size, or a step between two
# Of the sizes of all axes and of all numbers, times the largest of them: what a result with one of
# the axes twice has, as scores do.
MOST_WORK = 1 << 25
# Of the numbers in two arrays without named axes, which may be broadcast; of one, in itself.
MOST_BROADCAST = 1 << 25
MOST_ITEMS = 64  # in all tuples together

FittingCall = tuple[tuple[Value, ...], dict[str, Value]]


def fitting_call(
    function: Callable[..., Any],
    arguments: tuple[Value, ...],
    keywords: Mapping[str, Value],
    written: frozenset[float | str],
) -> FittingCall | None:
    """Return the arguments and keywords to call `function` with, or None if they do not fit.

    A whole number that crossed as an array of shape () is a number in them. `written` holds what
    the author wrote, which fits however large it is.
    """
    arguments = tuple(map(whole_number, arguments))
    keywords = {name: whole_number(value) for name, value in keywords.items()}
    taken = _taken(function)
    if taken is None:
        return None
    signature, axes = taken
    try:
        bound = signature.bind(*arguments, **keywords)
    except TypeError:
        return None
    fit = _Fit(written)
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        several = kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        values = value.values() if isinstance(value, dict) else value
        if not all(fit.takes(each, axes.get(name)) for each in (values if several else (value,))):
            return None
    return (arguments, keywords) if fit.is_little_work else None


@lru_cache(maxsize=256)  # known mistakes stand in for steps, one after the other
def _taken(function: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, str | None]] | None:
    """Return how a function is called, and the axes of what it takes; None where it cannot be."""
    try:
        signature = inspect.signature(function)
    except TypeError:
        return None
    return signature, dict(signature_of(function).parameters)


@dataclass
class _Fit:
    """The sizes of the axes of one call, and how much of what is bounded is used up."""

    written: frozenset[float | str]
    sizes: dict[str, int] = field(default_factory=dict)
    numbers: set[float] = field(default_factory=set)
    unnamed: int = 1  # numbers in the largest array without named axes
    items: int = 0

    @property
    def is_little_work(self) -> bool:
        """Whether a result that has each axis, and one of them twice, is small."""
        counted: list[float] = [size for size in self.sizes.values() if size > 1]
        counted += [size for size in self.numbers if size not in counted]
        return math.prod(counted) * max(counted, default=1) <= MOST_WORK

    def takes(self, value: Value, axes: str | None) -> bool:
        """Whether a value fits a parameter with these axes; None where it has none."""
        if value is None or axes is None or not _are_named(axes):
            return self._is_small(value)
        letters = axes.split()
        if not isinstance(value, np.ndarray):
            # What the reference takes for an array without axes may be a plain number.
            return not letters and type(value) in (bool, int, float) and self._is_small(value)
        if value.ndim != len(letters) or not _is_small_array(value):
            return False
        return all(
            self.sizes.setdefault(letter, size) == size
            for letter, size in zip(letters, value.shape)
        )

    def _is_small(self, value: Value) -> bool:
        if value is None or type(value) is bool or isinstance(value, Seed):
            return True
        if type(value) in (int, float):
            return value in self.written or self._is_small_number(value)
        if type(value) is str:
            plain = value.isidentifier() and len(value) <= LONGEST_TEXT
            return plain or value in self.written
        if isinstance(value, np.ndarray):
            return _is_small_array(value) and self._is_little_unnamed(value)
        if isinstance(value, tuple):
            return self._are_small(value)
        return isinstance(value, Linear) and _is_small_layer(value)

    def _is_small_number(self, value: float) -> bool:
        if value == 0 or not math.isfinite(value):  # no size, so nothing is made of it
            return True
        size = max(abs(value), 1 / abs(value))
        self.numbers.add(size)
        return size <= LARGEST_NUMBER

    def _is_little_unnamed(self, array: np.ndarray) -> bool:
        """Whether the array is small beside those before it, and beside itself along an axis."""
        most, self.unnamed = array.size * self.unnamed, max(array.size, self.unnamed)
        return max(most, array.size * max(array.shape, default=1)) <= MOST_BROADCAST

    def _are_small(self, values: Iterable[Value]) -> bool:
        for value in values:
            self.items += 1
            if self.items > MOST_ITEMS or not self._is_small(value):
                return False
        return True


def _are_named(axes: str) -> bool:
    """Whether every axis has a name of its own; "..." and "*batch" stand for any number."""
    return not any(letter.startswith(("*", "...")) for letter in axes.split())


def _is_small_array(array: np.ndarray) -> bool:
    small = array.size <= LARGEST_ARRAY and max(array.shape, default=1) <= LARGEST_AXIS
    return small and array.dtype.kind in "biuf"


def _is_small_layer(layer: Linear) -> bool:
    weight, bias = layer.weight, layer.bias
    if weight.dtype.kind != "f" or not _is_small_array(weight):
        return False
    return bias is None or (bias.dtype.kind == "f" and bias.shape == weight.shape[:1])
