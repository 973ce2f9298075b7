"""Where a value in a learner's layer comes from: what the right layer has that is equal to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from autograder.judging.call_deviation import alike
from autograder.judging.examples import Example
from autograder.judging.layer_calls import LayerCall
from autograder.protocol.wire import Linear, Value


@dataclass(frozen=True)
class ValueOrigin:
    """Names values by where the right layer has them, when it is asked this example.

    `examples` are those of the whole exercise, which know what the results of a step are called.
    """

    example: Example
    examples: Sequence[Example]

    def name(self, value: Value) -> str:
        """Name an array by where it comes from in the right layer, "" if it is not there."""
        return next((name for name, known in self._arrays if alike(value, known)), "")

    def layer(self, wanted: Linear) -> str:
        """Name the attribute that is a linear layer, "" if there is none."""
        weights = self.example.request.attributes.items()
        found = (name for name, each in weights if alike(each, wanted.weight))
        return next((f"`self.{name.removesuffix('.weight')}`" for name in found), "")

    def results_of(self, step: str) -> tuple[str, ...]:
        """Return what the results of a step are called."""
        found = (each for each in self.examples if each.step == step)
        return next((each.expectation.form.names for each in found), ("result",))

    def maker(self, value: Value) -> LayerCall | None:
        """Return the right call that gives a value."""
        return next((call for call in self.example.calls if gives(call, value)), None)

    @cached_property
    def _arrays(self) -> list[tuple[str, Value]]:
        return list(self._sources())

    def _sources(self) -> Iterator[tuple[str, Value]]:
        request = self.example.request
        yield from ((f"the input of `{request.method}`", each) for each in request.method_arguments)
        yield from ((f"`self.{name}`", each) for name, each in request.attributes.items())
        for call in self.example.calls:
            names = self.results_of(call.step)
            if len(names) == 1:
                yield f"what `{call.step}` gives{self.of_what(call)}", call.result
            elif isinstance(call.result, tuple):
                for name, result in zip(names, call.result):
                    yield f"the `{name}` of `{call.step}`", result

    def of_what(self, call: LayerCall) -> str:
        """Tell the calls of one step apart by the names of their first arguments."""
        steps = [each.step for each in self.example.calls]
        if steps.count(call.step) < 2 or not call.arguments:
            return ""
        for other in self.example.calls:
            names = self.results_of(other.step)
            if isinstance(other.result, tuple) and len(names) == len(other.result):
                for name, result in zip(names, other.result):
                    if alike(call.arguments[0], result):
                        return f" for the `{name}`"
        return ""


def gives(call: LayerCall, value: Value) -> bool:
    """Say whether an array is one of the results of a call."""
    return any(isinstance(each, np.ndarray) and alike(value, each) for each in call.results)
