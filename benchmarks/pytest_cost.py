"""Row 3, one pytest process for each hand-in, against `attn grade`: run with `make bench`.

The tests are those of the plain nbgrader course (stock_course.py), as a plain pytest file: values,
shapes, changed arguments and gradients, with no sandbox, no words and no pages. `attn grade` gets
the same files in a folder, with one grader process, since pytest runs one hand-in at a time. Its
cost is the difference between a large class and a small one; that of pytest is the mean.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from autograder.values.exercise import Exercise
from benchmarks.command import options, show
from benchmarks.cost import Cost, cost_of, module
from benchmarks.cost_figures import cost_figures, ratio_figures
from benchmarks.figures import Figure
from benchmarks.kit_class import grade_folder
from benchmarks.stock_course import plain_tests
from support.mixed_class import mixed_class

ALONE = ("--processes", "1")


def pytest_each(folder: Path, exercise: Exercise, texts: Sequence[str]) -> Cost:
    """Run pytest on each hand-in by itself; return the mean of one."""
    tests = plain_tests(exercise)
    costs = []
    for number, text in enumerate(texts):
        place = folder / f"s{number:05}"
        place.mkdir(parents=True)
        (place / "submission.py").write_text(text, encoding="utf-8")
        (place / "test_submission.py").write_text(tests, encoding="utf-8")
        command = module("pytest", "-q", f"--junitxml={place / 'results.xml'}")
        costs.append(cost_of(command, place, endings=(0, 1)))  # 1: a test fails
    whole = sum(costs, start=Cost(0.0, 0.0))
    return Cost(whole.wall / len(costs), whole.processor / len(costs))


def measure(exercise: Exercise, arguments: argparse.Namespace, folder: Path) -> Iterator[Figure]:
    """Measure both ways in turn; give the costs and their ratios."""
    texts = mixed_class(exercise, arguments.hand_ins)
    few, some = texts[: arguments.few], texts[: arguments.pytest]
    ours, theirs = [], []
    for turn in range(arguments.turns):
        place = folder / str(turn)
        small = grade_folder(place / "few", exercise, few, *ALONE)
        theirs.append(pytest_each(place / "pytest", exercise, some))
        large = grade_folder(place / "all", exercise, texts, *ALONE)
        ours.append(large.per_hand_in(small, len(texts) - len(few)))
    yield from cost_figures(3, "`attn grade` of a folder, one process", exercise, ours)
    yield from cost_figures(3, "a pytest process", exercise, theirs)
    yield from ratio_figures(3, "a pytest process ÷ `attn grade`", exercise, theirs, ours)
    print(f"{exercise.name:18} {agreement(folder / '0', len(some))}")


def agreement(place: Path, count: int) -> str:
    """Return in words on how many of the first `count` hand-ins both say the same."""
    with (place / "all-graded" / "grades.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    names = [f"s{number:05}" for number in range(count)]
    ours = [float(rows[name]["points"]) == float(rows[name]["max_points"]) for name in names]
    results = [(place / "pytest" / name / "results.xml").read_text("utf-8") for name in names]
    theirs = ['failures="0"' in text and 'errors="0"' in text for text in results]
    same = sum(one == other for one, other in zip(ours, theirs))
    return (
        f"{count} hand-ins: all right for {sum(ours)} with us, for {sum(theirs)} with pytest; "
        f"the same for {same}"
    )


def main() -> None:
    """Measure every exercise."""
    parser = options(__doc__, hand_ins=100)
    parser.add_argument("--pytest", type=int, default=15, help="hand-ins for pytest")
    show(measure, parser.parse_args())


if __name__ == "__main__":
    main()
