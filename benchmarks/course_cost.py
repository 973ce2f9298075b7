"""Row 1, what a hand-in costs in a whole course, against plain nbgrader: run with `make bench`.

Notebooks in; gradebook, autograded copies, pages and verdicts out. The hand-ins are all different:
right answers and mistakes, mixed and renamed, from a seed. Both ways are measured in turn. The cost
of one hand-in is the difference between a large class and a small one, so that starting up is left
out; it is shown by itself. Figures are of one run, as ratios of wall time and of processor time.
Plain nbgrader gets the first `--stock` of the hand-ins, since it takes that long.
"""

from __future__ import annotations

import argparse
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from autograder.values.exercise import Exercise
from benchmarks.command import options, show
from benchmarks.cost import ROOT, Cost, cost_of, module
from benchmarks.cost_figures import cost_figures, ratio_figures
from benchmarks.figures import Figure
from benchmarks.kit_class import grade_course
from benchmarks.stock_course import hand_in, make_stock_course
from support.mixed_class import mixed_class

STOCK = 20  # hand-ins for plain nbgrader


def autograde_stock(folder: Path, exercise: Exercise, texts: list[str]) -> Cost:
    """Make a course of plain nbgrader, and grade it with `nbgrader autograde`."""
    make_stock_course(folder, exercise, ROOT / "assignments")
    hand_in(folder, exercise, texts)
    # It ends with 1 when a notebook of somebody's fails.
    return cost_of(module("nbgrader", "autograde", exercise.name), folder, endings=(0, 1))


def stock(folder: Path, exercise: Exercise, texts: list[str]) -> Cost:
    """Grade a new course of plain nbgrader, and make its pages."""
    graded = autograde_stock(folder, exercise, texts)
    pages = cost_of(module("nbgrader", "generate_feedback", exercise.name), folder, endings=(0, 1))
    return graded + pages


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


def marks_compared(ours: Path, theirs: Path) -> str:
    """Return in words how the marks of two courses differ; RuntimeError when none can be compared.

    Only students whom both courses have graded are compared.
    """
    mine, other = marks(ours), marks(theirs)
    both = [key for key in other if key in mine]
    if not both:
        raise RuntimeError("the two gradebooks have no mark in common")
    less = sum(mine[key] < other[key] for key in both)
    more = sum(mine[key] > other[key] for key in both)
    equal = len(both) - less - more
    return (
        f"{len(both)} marks in both gradebooks: {equal} equal, {less} lower with us, {more} higher"
    )


def per_stock_hand_in(
    folder: Path, exercise: Exercise, texts: list[str], arguments: argparse.Namespace
) -> tuple[Cost, Cost]:
    """Grade a small and a large class of each kind, ours and plain nbgrader's, in turn.

    Returns what one hand-in costs, with us and with plain nbgrader.
    """
    few = texts[: arguments.few]
    some = texts[: arguments.stock]
    small_ours = grade_course(folder / "few", exercise, few)
    small_stock = stock(folder / "few-stock", exercise, few)
    large_ours = grade_course(folder / "all", exercise, texts)
    large_stock = stock(folder / "all-stock", exercise, some)
    print(
        f"{exercise.name:18} {len(few)} hand-ins with the start: ours {small_ours.wall:.1f} s, "
        f"nbgrader {small_stock.wall:.1f} s"
    )
    return (
        large_ours.per_hand_in(small_ours, len(texts) - len(few)),
        large_stock.per_hand_in(small_stock, len(some) - len(few)),
    )


def measure(exercise: Exercise, arguments: argparse.Namespace, folder: Path) -> Iterator[Figure]:
    """Measure both ways in turn; give the costs and their ratios."""
    texts = mixed_class(exercise, arguments.hand_ins)
    pairs = [
        per_stock_hand_in(folder / str(turn), exercise, texts, arguments)
        for turn in range(arguments.turns)
    ]
    ours, theirs = [one for one, _ in pairs], [other for _, other in pairs]
    yield from cost_figures(1, "`attn grade` of a course", exercise, ours)
    yield from cost_figures(1, "stock nbgrader", exercise, theirs)
    yield from ratio_figures(1, "stock nbgrader ÷ `attn grade`", exercise, theirs, ours)
    # The classes of every turn are the same.
    compared = marks_compared(folder / "0" / "all", folder / "0" / "all-stock")
    print(f"{exercise.name:18} {compared}")


def main() -> None:
    """Measure every exercise."""
    parser = options(__doc__, hand_ins=200)
    parser.add_argument("--stock", type=int, default=STOCK, help="hand-ins for plain nbgrader")
    show(measure, parser.parse_args())


if __name__ == "__main__":
    main()
