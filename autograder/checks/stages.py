"""The reference's way through a layer: what every step gives, and what it is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import numpy as np

from autograder.checks.reference import Reference
from autograder.judging.inprocess import round_tripped
from autograder.judging.layout import Shape
from autograder.model.request import Request
from autograder.protocol.wire import Value


@dataclass(frozen=True)
class Stage:
    """One array that a step gives on the way.

    `made_of` are the numbers of earlier stages, and `given` is what the step was called with.
    """

    step: str
    array: Shape
    made_of: frozenset[int]
    given: tuple[Value, ...] = ()


@dataclass
class _Way:
    """Records the calls that the class makes of its steps, not those of one step in another."""

    reference: Reference
    stages: list[Stage] = field(default_factory=list)
    _depth: int = 0
    _held: dict[bytes, set[int]] = field(default_factory=dict)  # content to stages

    def watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a step that does the same, and is recorded."""

        @wraps(function)  # its annotations name the axes
        def step(*arguments: Any, **keywords: Any) -> Any:
            given = [self._plain(value) for value in (*arguments, *keywords.values())]
            self._depth += 1
            try:
                result = function(*arguments, **keywords)
            finally:
                self._depth -= 1
            if not self._depth:
                self._record(name, given, self._plain(result))
            return result

        return step

    def _plain(self, value: Any) -> Any:
        return round_tripped(value, self.reference.exercise.library)

    def _record(self, name: str, given: list[Any], result: Any) -> None:
        sources = {
            stage
            for value in given
            if _is_array(value)
            for stage in self._held.get(_key(value), ())
        }
        form = self.reference.form(name)
        values = result if isinstance(result, tuple) else (result,)
        axes = form.axes if len(form.axes) == len(values) else (None,) * len(values)
        for value, letters in zip(values, axes):
            if _is_stage(value):
                self._held.setdefault(_key(value), set()).add(len(self.stages))
                shape = Shape(value, tuple((letters or "").split()))
                self.stages.append(Stage(name, shape, frozenset(sources), tuple(given)))
            elif _is_array(value):  # a mask: what is made of it has its sources
                self._held.setdefault(_key(value), set()).update(sources)


MASKS = ("numbers", "booleans")  # how steps are compared whose results are no way to the output


def stages_of(reference: Reference, request: Request) -> tuple[Stage, ...]:
    """Return what the reference's steps give while its class answers `request`, in order."""
    way, exercise = _Way(reference), reference.exercise
    watched = {
        name: way.watched(name, function)
        for name, function in reference.functions.items()
        if exercise.step(name).compare not in ("numbers", "booleans")
        and not exercise.step(name).random
    }
    with reference.replaced(watched):
        reference.ask(request)
    return tuple(way.stages)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _is_stage(value: Any) -> bool:
    return _is_array(value) and value.dtype.kind == "f" and value.ndim > 1


def _key(value: np.ndarray) -> bytes:
    return f"{value.shape}{value.dtype}".encode() + value.tobytes()
