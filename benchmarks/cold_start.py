"""Row 7, how long the first hand-in takes: run with `make bench`.

`attn grade` of a folder with one file, in a new process each time, until all is written. What the
system keeps of files that were read before is warm.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from autograder.values.exercise import SOLUTION, Exercise
from benchmarks.command import options, show
from benchmarks.cost_figures import TIME
from benchmarks.figures import Figure
from benchmarks.kit_class import grade_folder


def measure(exercise: Exercise, arguments: argparse.Namespace, folder: Path) -> Iterator[Figure]:
    """Grade the right answer, alone in its folder, in each turn; a turn before them is dropped."""
    text = (exercise.folder / SOLUTION).read_text(encoding="utf-8")
    costs = [
        grade_folder(folder / str(turn), exercise, [text] * arguments.hand_ins)
        for turn in range(arguments.turns + 1)
    ][1:]
    for kind, words in TIME.items():
        values = [getattr(cost, kind) for cost in costs]
        what = f"`attn grade` of one file, from the start: {words}"
        yield Figure.of(7, what, exercise.name, values, "s")


if __name__ == "__main__":
    show(measure, options(__doc__, hand_ins=1, turns=5).parse_args())
