"""Row 8, what standing properties, diagnosis and wrong answers add: run with `make bench`.

Judging alone (judged_class.py, one process) of a class of right answers and mistakes, no two alike:
by an exercise as it is, by a copy that holds its steps to no standing property, and by a program
that diagnoses nothing (judged_plainly.py). A copy that knows no mistake would not show what that
costs: what has no name is described, which takes longer. A class of right answers shows what
mistakes cost in all: diagnosis, and judging their steps once more. The cost of one hand-in is the
difference between a large class and a small one. What the sandbox adds is in sandbox_overhead.py.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from pathlib import Path

from autograder.checks.standing import PROPERTIES
from autograder.values.exercise import MANIFEST, Exercise
from benchmarks.command import options, show
from benchmarks.cost import ROOT, Cost
from benchmarks.cost_figures import cost_figures, ratio_figures
from benchmarks.figures import Figure
from benchmarks.floor import run_on
from support.mixed_class import mixed_class

AS_IT_IS = "judging alone"
BARE, PLAIN = "without standing properties", "without diagnosis"
RIGHT = "a class of right answers"


def without_standing(exercise: Exercise, solutions: Path) -> Path:
    """Copy an exercise, with what it shares, and switch off every standing property of its steps.

    Returns the folder of the exercise in the copy.
    """
    copy = shutil.copytree(ROOT / "solutions", solutions) / exercise.name
    off = "".join(f'{name} = "to measure what it costs"\n' for name in PROPERTIES)
    with (copy / MANIFEST).open("a", encoding="utf-8") as file:
        file.writelines(f"\n[grading.without.{step.name}]\n{off}" for step in exercise.steps)
    return copy


def measure(exercise: Exercise, arguments: argparse.Namespace, folder: Path) -> Iterator[Figure]:
    """Measure all four in turn; give the costs and their ratios."""
    mixed = mixed_class(exercise, arguments.hand_ins)
    right = mixed_class(exercise, arguments.hand_ins, mistakes=0.0)
    kinds = {
        AS_IT_IS: ("judged_class.py", exercise.folder, mixed),
        BARE: ("judged_class.py", without_standing(exercise, folder / "bare"), mixed),
        PLAIN: ("judged_plainly.py", exercise.folder, mixed),
        RIGHT: ("judged_class.py", exercise.folder, right),
    }
    costs: dict[str, list[Cost]] = {kind: [] for kind in kinds}
    few = arguments.few
    for turn in range(arguments.turns):
        for place, (kind, (program, judges, texts)) in enumerate(kinds.items()):
            scratch = folder / f"{turn}-{place}"
            small = run_on(program, judges, texts[:few], scratch / "few")
            large = run_on(program, judges, texts, scratch / "all")
            costs[kind].append(large.per_hand_in(small, len(texts) - few))
    for kind, each in costs.items():
        yield from cost_figures(8, kind, exercise, each)
    for kind in (BARE, PLAIN, RIGHT):
        what = f"{AS_IT_IS} ÷ {kind}"
        yield from ratio_figures(8, what, exercise, costs[AS_IT_IS], costs[kind])


if __name__ == "__main__":
    show(measure, options(__doc__, hand_ins=100).parse_args())
