"""The worked examples of an exercise, asked of a learner's namespace, with what came back.

The engine is that of the notebook and of the hidden graders; here it also gives the arrays,
so that they can be drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autograder.judging.compare import arrays_of
from autograder.judging.diagnosis import reconciled
from autograder.judging.examples import Example, read_examples
from autograder.judging.expectation import Agrees
from autograder.judging.inprocess import InProcess
from autograder.judging.precision import asked_precision
from autograder.learning.runner.results import Drawn, finding_facts
from autograder.model.request import Failed, Reply, Request
from autograder.model.verdict import Finding
from autograder.protocol.wire import Value

MOST_NUMBERS = 20_000  # of one array that is sent to be drawn


class _Recorder:
    """A respondent that keeps the last reply."""

    def __init__(self, names: Mapping[str, Any], library: str) -> None:
        self._respondent = InProcess(names, library)
        self.reply: Reply | None = None

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer as `InProcess` does."""
        self.reply = self._respondent.ask(request, leaning_on)
        return self.reply


@dataclass(frozen=True)
class Questions:
    """The worked examples of one exercise."""

    examples: tuple[Example, ...]
    library: str

    @classmethod
    def read(cls, folder: Path, library: str) -> Questions:
        """Read the examples of an exercise's folder; raise `KitError` when they are not there."""
        return cls(read_examples(folder), library)

    def of(self, step: str) -> tuple[Example, ...]:
        """Return the examples of one step, in order."""
        return tuple(example for example in self.examples if example.step == step)

    def ask(
        self, example: Example, names: Mapping[str, Any]
    ) -> tuple[Finding | None, list[dict[str, Any]]]:
        """Ask one question; return what is wrong, and what there is to draw."""
        recorder = _Recorder(names, self.library)
        finding = example.finding(recorder)
        return finding, _drawn(example, recorder.reply)


def settled(findings: Sequence[Finding | None]) -> list[dict[str, Any] | None]:
    """Return the findings of a step as JSON facts, told by the mistake that explains them all."""
    return [finding_facts(finding) for finding in reconciled(findings)]


def _drawn(example: Example, reply: Reply | None) -> list[dict[str, Any]]:
    """Each expected array beside the learner's, as facts of `Drawn`."""
    expectation = example.expectation
    if not isinstance(expectation, Agrees):
        return []
    form = expectation.form
    given = arrays_of(_result(example.request, reply), form)
    drawn = []
    for place, (name, axes, due) in enumerate(
        zip(form.names, form.axes, arrays_of(expectation.expected, form))
    ):
        yours = given[place] if place < len(given) else None
        if isinstance(due, np.ndarray) and due.size <= MOST_NUMBERS:
            asked = asked_precision(due, form.precision)
            drawn.append(asdict(Drawn(name, axes, asked, _numbers(yours), due.tolist())))
    return drawn


def _result(request: Request, reply: Reply | None) -> Value:
    """What is judged: the returned value, or the attributes when those were asked for."""
    if reply is None or isinstance(reply, Failed):
        return None
    if not request.read:
        return reply.value
    values = tuple(reply.attributes.get(name) for name in request.read if name != "*")
    return values[0] if len(values) == 1 else values


def _numbers(value: Value) -> Any:
    plain = isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
    return value.tolist() if plain and value.size <= MOST_NUMBERS else None
