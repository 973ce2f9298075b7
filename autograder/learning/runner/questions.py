"""Asks the worked examples of an exercise in the child, and collects the arrays to draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autograder.judging.asking import AskedExample, ask_example, public_checks
from autograder.judging.compare import arrays_of
from autograder.judging.examples import Example, done_by, read_examples
from autograder.judging.expectation import Agrees
from autograder.judging.inprocess import InProcess
from autograder.judging.layer_blame import LayerBlame
from autograder.judging.precision import asked_precision
from autograder.learning.runner.results import Drawn
from autograder.model.request import Failed, Reply, Request
from autograder.protocol.wire import Value

MOST_NUMBERS = 20_000  # in an array that is sent to be drawn


@dataclass(frozen=True)
class Questions:
    """The worked examples of one exercise."""

    examples: tuple[Example, ...]
    library: str

    @classmethod
    def read(cls, folder: Path, library: str) -> Questions:
        """Read the examples in an exercise's folder; raise `KitError` when they are missing."""
        return cls(read_examples(folder), library)

    def of(self, step: str) -> tuple[Example, ...]:
        """Return the examples of one step, in order."""
        return tuple(example for example in self.examples if example.step == step)

    def count(self, step: str) -> int:
        """Return how many public checks a step has."""
        return public_checks(step, self.examples)

    def done_by(self, step: str) -> tuple[str, ...]:
        """Return the steps that need not be written where this one passes."""
        return done_by(step, self.examples)

    def ask(self, example: Example, names: Mapping[str, Any]) -> AskedExample:
        """Ask one example of the code that defines these names."""
        return ask_example(example, InProcess(names, self.library))

    def blame(self, names: dict[str, Any]) -> LayerBlame:
        """Return who finds the fault of a layer among the steps that these names define."""
        code = InProcess(names, self.library)
        return LayerBlame(names, self.library, self.examples, lambda step: code)


def arrays_to_draw(asked: AskedExample) -> list[dict[str, Any]]:
    """Return each expected array beside the learner's, as the fields of `Drawn`."""
    expectation = asked.example.expectation
    if asked.reply is None or not isinstance(expectation, Agrees):
        return []
    form = expectation.form
    given = arrays_of(_result(asked.example.request, asked.reply), form)
    wanted = arrays_of(expectation.expected, form)
    drawn = []
    for place, (name, axes, expected) in enumerate(zip(form.names, form.axes, wanted)):
        yours = given[place] if place < len(given) else None
        if isinstance(expected, np.ndarray) and expected.size <= MOST_NUMBERS:
            precision = asked_precision(expected, form.precision)
            tokens = asdict(form.tokens) if form.tokens else None
            pair = _numbers(yours), expected.tolist()
            drawn.append(asdict(Drawn(name, axes, precision, *pair, tokens)))
    return drawn


def _result(request: Request, reply: Reply) -> Value:
    """Return what is judged: the returned value, or the attributes if those were asked for."""
    if isinstance(reply, Failed):
        return None
    if not request.read:
        return reply.value
    values = tuple(reply.attributes.get(name) for name in request.read if name != "*")
    return values[0] if len(values) == 1 else values


def _numbers(value: Value) -> Any:
    plain = isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
    return value.tolist() if plain and value.size <= MOST_NUMBERS else None
