"""What a hand-in costs in a whole course, against plain nbgrader: run with `make bench`.

Notebooks in; gradebook, autograded copies, pages and verdicts out. The hand-ins are all different:
right answers and mistakes, mixed and renamed, from a seed. Both ways are measured in turn. The cost
of one hand-in is the difference between a large class and a small one, so that starting up is left
out; it is shown by itself. Figures are of one run, as ratios of wall time and of processor time.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from autograder.course.assignment_release import release
from autograder.course.creation import create_course
from autograder.model.exercise import Exercise, read_exercise
from benchmarks.stock_course import environment, hand_in, make_stock_course
from support.mixed_class import SEED, mixed_class

ROOT = Path(__file__).parents[2]
EXERCISES = ("numpy_single_head", "torch_multi_head")
PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock, and of the processor, of a command with all that it starts."""

    wall: float
    processor: float

    def per_hand_in(self, small: Cost, hand_ins: int) -> Cost:
        """Return the cost of one of the `hand_ins` by which this class is larger than `small`."""
        wall, processor = self.wall - small.wall, self.processor - small.processor
        return Cost(wall / hand_ins, processor / hand_ins)


def cost_of(command: list[str], folder: Path) -> Cost:
    """Run a command to its end, and count what its orphans have used as well."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, cwd=folder, stdout=output, stderr=output, env=environment()
        )
        if process.wait() not in (0, 1):  # 1: somebody's notebook fails, as is expected
            output.seek(0)
            raise RuntimeError(output.read().decode()[-2000:])
        wall = time.perf_counter() - begun
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, used)


def ours(folder: Path, exercise: Exercise, texts: list[str]) -> Cost:
    """Grade a new course of the kit."""
    course = create_course(
        folder,
        solutions=ROOT / "solutions",
        assignments=ROOT / "assignments",
        exercises=(exercise.name,),
    )
    release(course, exercise.name)
    hand_in(folder, exercise, texts)
    return cost_of([sys.executable, "-m", "autograder.cli", "grade", str(folder)], folder)


def stock(folder: Path, exercise: Exercise, texts: list[str]) -> Cost:
    """Grade a new course of plain nbgrader, and make its pages."""
    make_stock_course(folder, exercise, ROOT / "assignments")
    hand_in(folder, exercise, texts)
    steps = (["autograde", exercise.name], ["generate_feedback", exercise.name])
    costs = [cost_of([sys.executable, "-m", "nbgrader", *step], folder) for step in steps]
    return Cost(sum(cost.wall for cost in costs), sum(cost.processor for cost in costs))


def marks(course: Path) -> dict[tuple[str, str], float]:
    """Return the automatic marks of a gradebook, by student and cell."""
    query = (
        "select submitted_assignment.student_id, base_cell.name, grade.auto_score from grade "
        "join base_cell on grade.cell_id = base_cell.id "
        "join submitted_notebook on grade.notebook_id = submitted_notebook.id "
        "join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id"
    )
    with closing(sqlite3.connect(course / "gradebook.db")) as gradebook:
        return {(student, cell): score for student, cell, score in gradebook.execute(query)}


def compared(exercise: Exercise, arguments: argparse.Namespace, folder: Path) -> None:
    """Measure both ways in turn and print the ratios."""
    texts = mixed_class(exercise, arguments.ours)
    walls, processors, pairs = [], [], []
    for turn in range(arguments.turns):
        small_ours = ours(folder / f"few{turn}", exercise, texts[: arguments.few])
        small_stock = stock(folder / f"few-stock{turn}", exercise, texts[: arguments.few])
        large_ours = ours(folder / f"all{turn}", exercise, texts)
        large_stock = stock(folder / f"all-stock{turn}", exercise, texts[: arguments.stock])
        one = large_ours.per_hand_in(small_ours, arguments.ours - arguments.few)
        other = large_stock.per_hand_in(small_stock, arguments.stock - arguments.few)
        pairs.append((one, other))
        walls.append(other.wall / one.wall)
        processors.append(other.processor / one.processor)
        print(
            f"{exercise.name:18} turn {turn + 1}: ours {1000 * one.wall:.0f} ms wall, "
            f"{1000 * one.processor:.0f} ms of the processor a hand-in; nbgrader "
            f"{1000 * other.wall:.0f} and {1000 * other.processor:.0f}; "
            f"{arguments.few} hand-ins with the start: {small_ours.wall:.1f} s",
            flush=True,
        )
    for name, ratios in (("wall time", walls), ("processor time", processors)):
        print(
            f"{exercise.name:18} nbgrader / ours, {name}: "
            f"{min(ratios):.1f} to {max(ratios):.1f}, median {median(ratios):.1f}"
        )
    mine, theirs = marks(folder / "all0"), marks(folder / "all-stock0")
    both = [key for key in theirs if key in mine]
    less = sum(mine[key] < theirs[key] for key in both)
    more = sum(mine[key] > theirs[key] for key in both)
    print(
        f"{exercise.name:18} {len(both)} marks in both gradebooks: "
        f"{len(both) - less - more} equal, {less} lower with us, {more} higher"
    )


def main() -> None:
    """Measure every exercise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ours", type=int, default=200, help="hand-ins for the kit")
    parser.add_argument("--stock", type=int, default=20, help="hand-ins for plain nbgrader")
    parser.add_argument("--few", type=int, default=4, help="hand-ins of the small class")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--exercise", choices=EXERCISES, action="append")
    arguments = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    print(f"seed of the class: {SEED}")
    for name in arguments.exercise or EXERCISES:
        with tempfile.TemporaryDirectory() as folder:
            compared(read_exercise(ROOT / "solutions" / name), arguments, Path(folder))


if __name__ == "__main__":
    main()
