"""The figures of costs: each kind of time by itself, and the ratios between two ways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograder.values.exercise import Exercise
from benchmarks.cost import Cost
from benchmarks.figures import Figure, ratios

TIME = {"wall": "wall time", "processor": "processor time"}


def cost_figures(
    row: int, what: str, exercise: Exercise, costs: Sequence[Cost]
) -> Iterator[Figure]:
    """Give what a hand-in costs, in milliseconds."""
    for kind, words in TIME.items():
        values = [1000 * getattr(cost, kind) for cost in costs]
        yield Figure.of(row, f"{what}: {words} a hand-in", exercise.name, values, "ms")


def ratio_figures(
    row: int, what: str, exercise: Exercise, over: Sequence[Cost], under: Sequence[Cost]
) -> Iterator[Figure]:
    """Give the ratios of two ways, turn by turn."""
    for kind, words in TIME.items():
        above, below = ([getattr(cost, kind) for cost in costs] for costs in (over, under))
        yield Figure.of(row, f"{what}: {words}", exercise.name, ratios(above, below))
