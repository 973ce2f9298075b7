"""Row 2, `nbgrader autograde` in a course of the kit, against a plain one: run with `make bench`.

The same command of nbgrader in both, with the same hand-ins. In ours, the kit's preprocessors judge
them in the sandbox; in the plain one, nbgrader runs the notebooks. The cost of one hand-in is the
difference between a large class and a small one.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from autograder.values.exercise import Exercise
from benchmarks.command import options, show
from benchmarks.cost import Cost, cost_of, module
from benchmarks.cost_figures import cost_figures, ratio_figures
from benchmarks.course_cost import autograde_stock, marks_compared
from benchmarks.figures import Figure
from benchmarks.kit_class import make_kit_course
from support.mixed_class import mixed_class


def autograde_ours(folder: Path, exercise: Exercise, texts: list[str]) -> Cost:
    """Make a course of the kit, and grade it with `nbgrader autograde`."""
    make_kit_course(folder, exercise, texts)
    return cost_of(module("nbgrader", "autograde", exercise.name), folder, endings=(0, 1))


def measure(exercise: Exercise, arguments: argparse.Namespace, folder: Path) -> Iterator[Figure]:
    """Measure both ways in turn; give the costs and their ratios."""
    texts = mixed_class(exercise, arguments.hand_ins)
    few = texts[: arguments.few]
    ours, theirs = [], []
    for turn in range(arguments.turns):
        place, more = folder / str(turn), len(texts) - len(few)
        small_ours = autograde_ours(place / "few", exercise, few)
        small_stock = autograde_stock(place / "few-stock", exercise, few)
        ours.append(autograde_ours(place / "all", exercise, texts).per_hand_in(small_ours, more))
        large_stock = autograde_stock(place / "all-stock", exercise, texts)
        theirs.append(large_stock.per_hand_in(small_stock, more))
    yield from cost_figures(2, "`nbgrader autograde`, ours", exercise, ours)
    yield from cost_figures(2, "`nbgrader autograde`, stock", exercise, theirs)
    yield from ratio_figures(2, "`nbgrader autograde`, ours ÷ stock", exercise, ours, theirs)
    compared = marks_compared(folder / "0" / "all", folder / "0" / "all-stock")
    print(f"{exercise.name:18} {compared}")


if __name__ == "__main__":
    show(measure, options(__doc__, hand_ins=20).parse_args())
