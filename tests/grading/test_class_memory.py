"""A class that grows takes little more memory in the first process, as measured here.

Judges are simulated. Reading, the journal, the class page and all else is the real thing.
"""

from __future__ import annotations

import io
import tracemalloc
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

from autograder.cli.class_results import write_results
from autograder.cli.found_class import found_class
from autograder.grading.class_run import grade_task, kept_task
from autograder.grading.class_task import GradingOptions
from autograder.grading.classroom import grade_class
from autograder.grading.grader_pool import GraderPool
from autograder.model.exercise import read_exercise
from autograder.submission.reading import Submission
from support.mixed_class import mixed_class
from support.simulated_judges import SimulatedJudges

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
EXERCISE = read_exercise(SOLUTIONS / "numpy_single_head")
JUDGED, SMALL, LARGE = 10, 20, 120
MOST_HELD, MOST_AT_ONCE = 3_000, 9_000  # bytes for each further hand-in


@dataclass(frozen=True)
class Memory:
    """What is held of a class once it is judged, and the most that there was, in bytes."""

    held: int
    most: int


@pytest.fixture(scope="module")
def judges() -> SimulatedJudges:
    texts = enumerate(mixed_class(EXERCISE, JUDGED, mistakes=0.3))
    read = [Submission(f"s{n}", EXERCISE.name, (text,), SOLUTIONS) for n, text in texts]
    return SimulatedJudges(grade_class(EXERCISE, read))


def hand_in(folder: Path, count: int) -> None:
    folder.mkdir(parents=True)
    texts = mixed_class(EXERCISE, JUDGED, mistakes=0.3)
    for number in range(count):
        text = f"{texts[number % JUDGED]}\nNUMBER = {number}\n"
        (folder / f"student{number:04}.py").write_text(text, encoding="utf-8")


def graded(folder: Path, judges: SimulatedJudges) -> Memory:
    found = found_class(folder, EXERCISE.name, SOLUTIONS, None)
    records = found.opened_records()
    console = Console(file=io.StringIO(), width=100)
    options = GradingOptions(processes=1)
    tracemalloc.start()
    try:
        with (
            GraderPool(1) as pool,
            grade_task(found.task, pool, options, console, judges=judges) as class_,
        ):
            held, _ = tracemalloc.get_traced_memory()
            write_results(found.task, records, pool, class_, records.enter(class_, pool), console)
        return Memory(held, tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


def least_of_two(folder: Path, count: int, judges: SimulatedJudges) -> Memory:
    """Return what both of two runs needed at least.

    Now and then a path is the one word too many for the interpreter's dictionary of names: it
    grows, by up to ten megabytes in a process with many modules, and not in the run after that.
    """
    runs = []
    for time in ("first", "second"):
        hand_in(folder / time, count)
        runs.append(graded(folder / time, judges))
    return Memory(min(run.held for run in runs), min(run.most for run in runs))


def test_a_further_hand_in_takes_a_few_kilobytes_and_not_its_verdict_and_text(
    judges: SimulatedJudges, tmp_path: Path
) -> None:
    least_of_two(tmp_path / "one", 1, judges)  # which also imports and compiles
    small = least_of_two(tmp_path / "small", SMALL, judges)
    large = least_of_two(tmp_path / "large", LARGE, judges)
    further = LARGE - SMALL
    assert (large.held - small.held) / further < MOST_HELD
    assert (large.most - small.most) / further < MOST_AT_ONCE


def test_what_was_judged_is_read_again_as_it_was_whatever_becomes_of_the_hand_in(
    judges: SimulatedJudges, tmp_path: Path
) -> None:
    hand_in(tmp_path / "class", 3)
    text = (tmp_path / "class" / "student0001.py").read_text(encoding="utf-8")
    found = found_class(tmp_path / "class", EXERCISE.name, SOLUTIONS, None)
    console, options = Console(file=io.StringIO()), GradingOptions(processes=1)
    with (
        GraderPool(1) as pool,
        grade_task(found.task, pool, options, console, judges=judges) as class_,
    ):
        (tmp_path / "class" / "student0001.py").write_text("other = 1\n", encoding="utf-8")
        assert "NUMBER = 1" in "\n".join(class_.submissions[1].cells)
        assert [each.code_hash for each in class_.submissions] == [
            each.code_hash for each in class_.verdicts
        ]
        first = list(class_.verdicts)
    (tmp_path / "class" / "student0001.py").write_text(text, encoding="utf-8")
    with GraderPool(1) as pool, kept_task(found.task, pool, options) as again:
        assert list(again.verdicts) == first
    assert [each.name for each in found.task.output.iterdir() if each.name.startswith(".")] == []
