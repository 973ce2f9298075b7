"""A question with every entry twice along an axis: does its size make an answer wrong?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from autograder.judging.compare import arrays_of
from autograder.judging.expectation import Agrees
from autograder.judging.value_words import axis_words
from autograder.model.request import Request
from autograder.protocol.wire import Value


def doubled(request: Request, expectation: Agrees) -> Iterator[tuple[str, Request, Agrees]]:
    """Give words for the entries along an axis, and the question with twice as many of them.

    What is expected is twice there, too. That need not hold along every axis, so only a right
    answer says something.
    """
    form = expectation.form
    wanted = arrays_of(expectation.expected, form)
    if not all(isinstance(part, np.ndarray) and part.ndim > 2 for part in wanted):
        return
    arrays = [part for part in wanted if isinstance(part, np.ndarray)]
    count, letters = arrays[0].ndim, form.axes[0]
    for axis in range(count - 1):
        size = arrays[0].shape[axis]
        if not all(_once(each, axis) for each in form.axes):
            continue
        if any(part.ndim != count or part.shape[axis] != size for part in arrays):
            continue

        def twice(value: Value, axis: int = axis, size: int = size) -> Value:
            fits = isinstance(value, np.ndarray) and value.ndim > axis and value.shape[axis] == size
            return np.repeat(value, 2, axis=axis) if fits and value.ndim > 2 else value

        entries = "a single entry" if size == 1 else f"{size} entries"
        expected = _each(expectation.expected, twice)
        yield (
            f"{entries} along {axis_words(axis, letters, count)}",
            _asked(request, twice),
            replace(expectation, expected=expected, gradients=(), gradient_names=()),
        )


def _once(axes: str | None, axis: int) -> bool:
    """Say whether an axis is named, and is the only one of its name."""
    letters = (axes or "").split()
    return len(letters) > axis and letters.count(letters[axis]) == 1


def _asked(request: Request, change: Callable[[Value], Value]) -> Request:
    if request.method:
        return replace(request, method_arguments=tuple(map(change, request.method_arguments)))
    return replace(request, arguments=tuple(map(change, request.arguments)))


def _each(value: Value, change: Callable[[Value], Value]) -> Value:
    return tuple(map(change, value)) if isinstance(value, tuple) else change(value)
