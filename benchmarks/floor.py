"""Row 4, judging against the least that it could be: run with `make bench`.

The floor is floor_judging.py: a warm fork with all layers, each check's call once, one frame back,
compared. Against it stand judging alone (`grade_class` with the same hand-ins and one process), a
whole course (`attn grade`), and questions_alone.py: what all questions cost that decide about a
right hand-in, without a look at the answers. Each is measured as a command of its own, in turn. The
cost of one hand-in is the difference between a large class and a small one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from autograder.values.exercise import Exercise
from benchmarks.command import options, show, write_texts
from benchmarks.cost import ROOT, Cost, cost_of
from benchmarks.cost_figures import cost_figures, ratio_figures
from benchmarks.figures import Figure
from benchmarks.floor_judging import LEFT_OUT
from benchmarks.kit_class import grade_course
from support.mixed_class import mixed_class

HERE = Path(__file__).parent
QUESTIONS = "every question asked, no answer looked at"


def run_on(program: str, exercise_folder: Path, texts: Sequence[str], folder: Path) -> Cost:
    """Run a program of the benchmark on a class, in the scratch folder `folder`."""
    folder.mkdir(parents=True)
    file = write_texts(texts, folder / "texts.json")
    command = [sys.executable, str(HERE / program), str(exercise_folder), file]
    return cost_of(command, folder, path=(ROOT, ROOT / "tests"))


def measure(exercise: Exercise, arguments: argparse.Namespace, folder: Path) -> Iterator[Figure]:
    """Measure the four in turn; give the costs and their ratios to the floor."""
    texts = mixed_class(exercise, arguments.hand_ins)
    few = texts[: arguments.few]
    print(f"the floor leaves out: {LEFT_OUT}")

    def cost(kind: str, some: Sequence[str], place: Path) -> Cost:
        if kind == "course":
            return grade_course(place, exercise, some)
        return run_on(kind, exercise.folder, some, place)

    kinds = ("floor_judging.py", "questions_alone.py", "judged_class.py", "course")
    costs: dict[str, list[Cost]] = {kind: [] for kind in kinds}
    for turn in range(arguments.turns):
        for kind, kept in costs.items():
            small = cost(kind, few, folder / f"{turn}-few-{kind}")
            large = cost(kind, texts, folder / f"{turn}-all-{kind}")
            kept.append(large.per_hand_in(small, len(texts) - len(few)))
    floor, questions, judging, course = costs.values()
    yield from cost_figures(4, "the floor", exercise, floor)
    yield from cost_figures(4, QUESTIONS, exercise, questions)
    yield from cost_figures(4, "judging alone", exercise, judging)
    yield from cost_figures(4, "`attn grade` of a course", exercise, course)
    yield from ratio_figures(4, f"{QUESTIONS} ÷ the floor", exercise, questions, floor)
    yield from ratio_figures(4, "judging alone ÷ the floor", exercise, judging, floor)
    yield from ratio_figures(4, "`attn grade` of a course ÷ the floor", exercise, course, floor)


if __name__ == "__main__":
    show(measure, options(__doc__, hand_ins=100).parse_args())
