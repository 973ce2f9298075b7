"""The sizes that a question is about, by the names that a student can find."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autograder.judging.compare import ResultSpec, arrays_of
from autograder.judging.value_words import axis_words
from autograder.model.request import Request
from autograder.protocol.wire import Value


def sizes_of(
    expected: Value, form: ResultSpec, request: Request | None
) -> tuple[tuple[str, int], ...]:
    """Return the sizes of whole numbers and axes that go in, and of the axes that come out."""
    found: dict[str, int] = {}
    for name, size in (*_given(request), *_axes(expected, form)):
        found.setdefault(name, size)
    return tuple(found.items())


def _given(request: Request | None) -> Iterator[tuple[str, int]]:
    """Give the arguments that are whole numbers."""
    if request is None:
        return
    of = " of `__init__`" if request.method is not None else ""
    for number, value in enumerate(request.arguments, start=1):
        if type(value) is int:
            yield f"argument number {number}{of}", value
    arrays = request.method_arguments if request.method else request.arguments
    for number, value in enumerate(arrays, start=1):
        if isinstance(value, np.ndarray):
            for axis, size in enumerate(value.shape):
                yield f"the size of axis {axis} of argument number {number}", size


def _axes(expected: Value, form: ResultSpec) -> Iterator[tuple[str, int]]:
    for axes, array in zip(form.axes, arrays_of(expected, form)):
        if isinstance(array, np.ndarray):
            for axis, size in enumerate(array.shape):
                yield f"the size of {axis_words(axis, axes, array.ndim)}", size
