"""How a training goes on and how it ends, as data that crosses from one process to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from autograder.heatmaps.panel import Panel

COUNT = 200  # new inputs that a trained model is tried on
MOMENTS = 8  # parts of a training; at its beginning and after each, it is told how it goes


@dataclass(frozen=True)
class Drawing:
    """One heat map of a training: its title, the names of rows and columns, and the numbers.

    If the model reads a picture, `picture` has the ink of its pixels, and `shows` says what it is.
    """

    title: str
    axes: tuple[str, str]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    numbers: tuple[tuple[float, ...], ...]
    picture: tuple[tuple[float, ...], ...] = ()
    shows: str = ""

    def panel(self) -> Panel:
        """Return it as a heat map, with the strongest color for a share of 1."""
        values = np.array(self.numbers)
        return Panel(self.title, values, self.axes, (self.rows, self.columns), 1.0)


@dataclass(frozen=True)
class Moment:
    """A moment of a training: after how many steps, the loss in nats an answer, what is seen."""

    step: int
    loss: float
    drawings: tuple[Drawing, ...] = ()


@dataclass(frozen=True)
class TriedInput:
    """One new input: what was given, what is expected, and what came."""

    given: str
    expected: str
    came: str


@dataclass(frozen=True)
class TrainingResult:
    """What a trained model does with COUNT new inputs.

    loss: in nats an answer; not finite when it is NaN. right: how many are right throughout, and
    for a model that writes, right_when_told: how many are, when each digit is predicted from the
    right ones before it. steps: how many of most_steps there was time for. seconds: how long it
    took.
    """

    task: str
    loss: float
    right: int
    right_when_told: int
    steps: int
    most_steps: int
    seconds: float
    tried: tuple[TriedInput, ...] = ()


def moment_facts(moment: Moment) -> dict[str, Any]:
    """Return a moment for JSON."""
    return asdict(moment)


def read_moment(facts: Mapping[str, Any]) -> Moment:
    """Return the moment that `moment_facts` wrote."""
    drawings = (
        Drawing(
            each["title"],
            (each["axes"][0], each["axes"][1]),
            tuple(each["rows"]),
            tuple(each["columns"]),
            tuple(map(tuple, each["numbers"])),
            tuple(map(tuple, each["picture"])),
            each["shows"],
        )
        for each in facts["drawings"]
    )
    return Moment(facts["step"], facts["loss"], tuple(drawings))


def result_facts(result: TrainingResult) -> dict[str, Any]:
    """Return a result for JSON."""
    return asdict(result)


def read_result(facts: Mapping[str, Any]) -> TrainingResult:
    """Return the result that `result_facts` wrote."""
    return TrainingResult(
        **{**facts, "tried": tuple(TriedInput(**each) for each in facts["tried"])}
    )
