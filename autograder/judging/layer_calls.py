"""The calls that a layer makes of the steps before it, recorded while it answers a question.

Only calls from the layer itself are recorded, not those of one step in another. What a step is
given and gives is copied, as it would cross the wire.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any

from autograder.judging.inprocess import round_tripped
from autograder.protocol.wire import Value

# Given the function and its arguments, returns what stands in the place of its answer.
StandIn = Callable[..., Any]


@dataclass(frozen=True)
class LayerCall:
    """One call of a step by a layer: its arguments, in the order of the step's parameters.

    `names` are those parameters. `line` of `file` is where the layer calls. What raised is not
    `answered`; what does not even fit the parameters is not `bound`, and has no names.
    """

    step: str
    names: tuple[str, ...] = ()
    arguments: tuple[Value, ...] = ()
    result: Value = None
    line: int = 0
    answered: bool = True
    bound: bool = True
    file: str = ""

    @property
    def results(self) -> tuple[Value, ...]:
        """What the step gives, one by one."""
        return self.result if isinstance(self.result, tuple) else (self.result,)


@dataclass
class CallRecorder:
    """Records calls of `steps` in a namespace; `stand_ins` answer some calls, by their number.

    `reached` are the steps that were called at all, also by each other.
    """

    namespace: dict[str, Any]
    steps: Collection[str]
    library: str
    stand_ins: Mapping[int, StandIn] = field(default_factory=dict)
    calls: list[LayerCall] = field(default_factory=list)
    reached: set[str] = field(default_factory=set)
    _depth: int = 0

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record while the body runs; the namespace is as before afterwards."""
        own = {name: self.namespace.get(name) for name in self.steps}
        # Also what a decorator has made of a function, such as one that keeps its results.
        functions = {
            name: each
            for name, each in own.items()
            if callable(each) and not isinstance(each, type)
        }
        self.namespace.update(
            {name: self._watched(name, function) for name, function in functions.items()}
        )
        try:
            yield
        finally:
            self.namespace.update(functions)

    def _watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def step(*arguments: Any, **keywords: Any) -> Any:
            self.reached.add(name)
            if self._depth:
                return function(*arguments, **keywords)
            number, frame = len(self.calls), sys._getframe(1)
            bound = _bound(function, arguments, keywords)
            names, given = bound or ((), (*arguments, *keywords.values()))
            copies = tuple(self._plain(value) for value in given)
            code, line = frame.f_code, frame.f_lineno
            fits = bound is not None
            self.calls.append(
                LayerCall(name, names, copies, None, line, False, fits, code.co_filename)
            )
            self._depth += 1
            try:
                if number in self.stand_ins:
                    result = self.stand_ins[number](function, *given)
                else:
                    result = function(*arguments, **keywords)
            finally:
                self._depth -= 1
            done = replace(self.calls[number], result=self._plain(result), answered=True)
            self.calls[number] = done
            return result

        return step

    def _plain(self, value: Any) -> Value:
        return round_tripped(value, self.library)


def _bound(
    function: Callable[..., Any], arguments: tuple[Any, ...], keywords: Mapping[str, Any]
) -> tuple[tuple[str, ...], tuple[Any, ...]] | None:
    """Return parameters and arguments in order, None where they do not fit."""
    try:
        bound = inspect.signature(function).bind(*arguments, **keywords)
    except (TypeError, ValueError):  # ValueError: a function of a library without a signature
        return None
    bound.apply_defaults()
    return tuple(bound.arguments), tuple(bound.arguments.values())
