"""A class that grows takes little more memory in the first process, as measured here.

Judges are simulated. Reading, the journal, the class page and all else is the real thing.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from autograder.cli.found_class import found_class
from autograder.cli.report import write_results
from autograder.errors import KitError
from autograder.grading.batch import grade_batch
from autograder.grading.class_run import grade_task, kept_task
from autograder.grading.class_task import GradingOptions
from autograder.grading.grader_pool import GraderPool, PlacedResult
from autograder.grading.journal import JOURNAL, Journal
from autograder.submission.reading import Submission
from autograder.values.exercise import read_exercise
from support.mixed_class import mixed_class
from support.shown import console_of, text_on
from support.simulated_judges import SimulatedJudges
from support.verdicts import found_in

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
EXERCISE = read_exercise(SOLUTIONS / "numpy_single_head")
JUDGED, SMALL, LARGER, LARGE = 5, 20, 50, 120
MOST_HELD, MOST_AT_ONCE = 3_000, 9_000  # bytes for each further hand-in


@dataclass(frozen=True)
class Memory:
    """What is held of a class once it is judged, and the most that there was, in bytes."""

    held: int
    most: int


@cache
def texts() -> list[str]:
    return mixed_class(EXERCISE, JUDGED, mistakes=0.3)


def simulated() -> SimulatedJudges:
    read = [
        Submission(f"s{n}", EXERCISE.name, (text,), SOLUTIONS) for n, text in enumerate(texts())
    ]
    return SimulatedJudges(grade_batch(EXERCISE.folder, read))


@pytest.fixture(scope="module")
def judges() -> SimulatedJudges:
    return simulated()


@pytest.fixture(scope="module")
def pool() -> Iterator[GraderPool]:
    """The process that reads hand-ins and writes pages, for one class after the other."""
    with GraderPool(1) as pool:
        yield pool


def hand_in(folder: Path, count: int) -> None:
    folder.mkdir(parents=True)
    for number in range(count):
        text = f"{texts()[number % JUDGED]}\nNUMBER = {number}\n"
        (folder / f"student{number:04}.py").write_text(text, encoding="utf-8")


def graded(folder: Path, count: int, judges: SimulatedJudges, pool: GraderPool) -> Memory:
    hand_in(folder, count)
    found = found_class(folder, EXERCISE.name, SOLUTIONS, None)
    records = found.opened_records()
    console, options = console_of(), GradingOptions(processes=1)
    tracemalloc.start()
    try:
        with grade_task(found.task, pool, options, console, judges=judges) as class_:
            held, _ = tracemalloc.get_traced_memory()
            write_results(found.task, records, pool, class_, records.enter(class_, pool), console)
        return Memory(held, tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


# Now and then a path is the one word too many for the interpreter's dictionary of names: it grows,
# by up to ten megabytes in a process with many modules, and not in the run after that.
RUNS = ("once", "again", "and again")


def held_by_each(folder: Path) -> float:
    """How many bytes a further hand-in holds, by classes that are laid out in a folder."""
    judges = simulated()
    with GraderPool(1) as pool:
        graded(folder / "first", 1, judges, pool)  # which also imports and compiles
        small = graded(folder / "small", SMALL, judges, pool)
        larger = graded(folder / "larger", LARGER, judges, pool)
    return (larger.held - small.held) / (LARGER - SMALL)


def test_a_further_hand_in_holds_a_few_kilobytes_and_not_its_verdict_and_text(
    tmp_path: Path,
) -> None:
    """In a process of its own: in this one, other tests have left much behind."""
    measure = "import sys, pathlib; from grading.test_class_memory import held_by_each as held; "
    code = f"{measure}print(held(pathlib.Path(sys.argv[1])))"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", code, str(tmp_path)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < MOST_HELD


@pytest.mark.slow
def test_a_further_hand_in_takes_no_more_while_results_are_written(
    judges: SimulatedJudges, pool: GraderPool, tmp_path: Path
) -> None:
    graded(tmp_path / "first", SMALL, judges, pool)
    small = graded(tmp_path / "small", SMALL, judges, pool)
    large = [graded(tmp_path / run, LARGE, judges, pool) for run in RUNS]
    assert (min(run.most for run in large) - small.most) / (LARGE - SMALL) < MOST_AT_ONCE


def test_what_was_judged_is_read_again_as_it_was_whatever_becomes_of_the_hand_in(
    judges: SimulatedJudges, pool: GraderPool, tmp_path: Path
) -> None:
    hand_in(tmp_path / "class", 3)
    text = (tmp_path / "class" / "student0001.py").read_text(encoding="utf-8")
    found = found_class(tmp_path / "class", EXERCISE.name, SOLUTIONS, None)
    console, options = console_of(), GradingOptions(processes=1)
    with grade_task(found.task, pool, options, console, judges=judges) as class_:
        (tmp_path / "class" / "student0001.py").write_text("other = 1\n", encoding="utf-8")
        assert "NUMBER = 1" in "\n".join(class_.submissions[1].cells)
        assert [each.code_hash for each in class_.submissions] == [
            each.code_hash for each in class_.verdicts
        ]
        first = list(class_.verdicts)
    (tmp_path / "class" / "student0001.py").write_text(text, encoding="utf-8")
    with kept_task(found.task, pool, options, console) as again:
        assert list(again.verdicts) == first
    console = console_of()
    with grade_task(found.task, pool, options, console, judges=SimulatedJudges([])) as again:
        assert list(again.verdicts) == first
    assert "3 of 3 submissions were judged before" in text_on(console)
    assert [each.name for each in found.task.output.iterdir() if each.name.startswith(".")] == []


class NoJudges(SimulatedJudges):
    """Grader processes that do not start."""

    def results(self, *work: Any, **more: Any) -> Iterator[PlacedResult]:
        raise KitError("no sandbox", place="here", cure="none")


def test_what_was_judged_stands_until_it_is_judged_again(
    judges: SimulatedJudges, pool: GraderPool, tmp_path: Path
) -> None:
    hand_in(tmp_path / "class", 3)
    found = found_class(tmp_path / "class", EXERCISE.name, SOLUTIONS, None)
    console, options = console_of(), GradingOptions(processes=1)
    with grade_task(found.task, pool, options, console, judges=judges) as class_:
        first = list(class_.verdicts)
    again = replace(options, again=True)
    with (
        pytest.raises(KitError, match="no sandbox"),
        grade_task(found.task, pool, again, console, judges=NoJudges([])),
    ):
        pass
    with kept_task(found.task, pool, options, console) as class_:
        assert list(class_.verdicts) == first
    journal = Journal(found.task.output / JOURNAL)
    with sqlite3.connect(journal.path) as database:
        keys = [key for (key,) in database.execute("select key from verdicts")]
    killed = journal.judged_anew(keys)
    killed.__enter__()
    assert found_in(journal, keys[0], first[0].student, EXERCISE) is None
    with kept_task(found.task, pool, options, console) as class_:
        assert list(class_.verdicts) == first
