"""Whether a call by untrusted code fits a step of the reference, and is small enough to answer.

Arrays with named axes fit axis by axis. All else that can cross the wire may be passed on too:
numbers, text, None, tuples, seeds, layers, and arrays whose axes nobody named. Each kind has a
bound, so that no call takes much work or memory in the trusted process.
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

LARGEST_ANSWER = 1 << 14  # numbers in one array with named axes
LARGEST_AXIS = 256
# Of all arrays without named axes together: broadcast, two of them give the square of it.
LARGEST_UNNAMED = 1 << 12
LARGEST_NUMBER = 256  # also the largest divisor: a number may be a size, or a step between two
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
    return arguments, keywords


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
    unnamed: int = 0
    items: int = 0

    def takes(self, value: Value, axes: str | None) -> bool:
        """Whether a value fits a parameter with these axes; None where it has none."""
        if value is None or axes is None or not _are_named(axes):
            return self._is_small(value)
        letters = axes.split()
        if not isinstance(value, np.ndarray):
            # What the reference takes for an array without axes may be a plain number.
            return not letters and type(value) in (bool, int, float) and self._is_small(value)
        if value.dtype.kind not in "biuf" or value.ndim != len(letters):
            return False
        if not 0 < value.size <= LARGEST_ANSWER or max(value.shape, default=1) > LARGEST_AXIS:
            return False
        return all(
            self.sizes.setdefault(letter, size) == size
            for letter, size in zip(letters, value.shape)
        )

    def _is_small(self, value: Value) -> bool:
        if value is None or type(value) is bool or isinstance(value, Seed):
            return True
        if type(value) in (int, float):
            return _is_small_number(value) or value in self.written
        if type(value) is str:
            plain = value.isidentifier() and len(value) <= LONGEST_TEXT
            return plain or value in self.written
        if isinstance(value, np.ndarray):
            self.unnamed += value.size
            small = value.size > 0 and max(value.shape, default=1) <= LARGEST_AXIS
            return small and value.dtype.kind in "biuf" and self.unnamed <= LARGEST_UNNAMED
        if isinstance(value, tuple):
            return self._are_small(value)
        return isinstance(value, Linear) and _is_small_layer(value)

    def _are_small(self, values: Iterable[Value]) -> bool:
        for value in values:
            self.items += 1
            if self.items > MOST_ITEMS or not self._is_small(value):
                return False
        return True


def _are_named(axes: str) -> bool:
    """Whether every axis has a name of its own; "..." and "*batch" stand for any number."""
    return not any(letter.startswith(("*", "...")) for letter in axes.split())


def _is_small_number(value: float) -> bool:
    if not math.isfinite(value):  # no size, so nothing is made of it
        return True
    size = abs(value)
    return size == 0 or 1 / LARGEST_NUMBER <= size <= LARGEST_NUMBER


def _is_small_layer(layer: Linear) -> bool:
    weight, bias = layer.weight, layer.bias
    if weight.dtype.kind != "f" or max(weight.shape) > LARGEST_AXIS:
        return False
    return bias is None or (bias.dtype.kind == "f" and bias.shape == weight.shape[:1])
