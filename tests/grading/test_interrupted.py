"""A run that is killed at any moment and started again ends as if nothing had happened.

The real command grades a real course and is killed with SIGKILL, which nothing can catch:
while it starts, judges, writes the gradebook, writes the pages. What the journal keeps and when it
is worth nothing is in test_journal.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import sqlite3
import subprocess
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autograder.course.creation import Course
from autograder.grading.class_task import class_lock
from support.broken.case import Work
from support.gradebook_scores import scores
from support.processes import kill, wait_for
from support.released_course import (
    NAME,
    Result,
    command,
    copied,
    grade,
    journal,
    released_course,
    result_of,
    sample_class,
)

STUDENTS = (
    *("broken_syntax", "half_finished", "hostile_thief"),
    *("mistake_keys_reversed", "mistake_not_scaled", "reference"),
)
# For a run that nobody stops: it does not matter there which process judges whom.
ALONE = ("--processes", "1")
EVERYBODY = len(STUDENTS) + 1
KILLS = 50
SEED = int(os.environ.get("ATTN_SEED", "20261120"))
WAITS = "another run is grading this class"
PATIENCE = 240.0  # seconds that anything may take on a busy machine


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A released course that nobody has graded yet; two of its students hand in the same."""
    course = released_course(
        tmp_path_factory.mktemp("pristine") / "course", sample_class(*STUDENTS)
    )
    twin = course.submitted(NAME, "twin_of_reference")
    shutil.copytree(course.submitted(NAME, "reference"), twin)
    return course


@pytest.fixture(scope="module")
def undisturbed(pristine: Course, tmp_path_factory: pytest.TempPathFactory) -> Result:
    """What grading it leaves when nobody interferes."""
    course = copied(pristine, tmp_path_factory.mktemp("undisturbed") / "course")
    run = grade(course, *ALONE)
    assert run.returncode == 0, run.stdout + run.stderr
    assert len(rows(course)) == EVERYBODY - 1, "equal submissions are judged once"
    return result_of(course)


def rows(course: Course) -> dict[str, tuple[str, str]]:
    """What the journal holds: key to verdict and time."""
    if not journal(course).exists():
        return {}
    with closing(sqlite3.connect(journal(course), timeout=PATIENCE)) as connection:
        try:
            found = connection.execute("select key, verdict, judged_at from verdicts").fetchall()
        except sqlite3.OperationalError as error:  # killed before there was a table
            assert "no such table" in str(error)
            found = []
    return {key: (verdict, judged_at) for key, verdict, judged_at in found if key}


def wait_for_rows(course: Course, run: subprocess.Popen[Any], number: int) -> None:
    """Wait until so many are judged by a run that goes on."""

    def happened() -> bool:
        return len(rows(course)) >= number or run.poll() is not None

    wait_for(happened, "nobody is judged", PATIENCE)
    assert len(rows(course)) >= number, "it ended before"


def started(
    course: Course, output: Path = Path(os.devnull), *options: str
) -> subprocess.Popen[bytes]:
    with output.open("wb") as stream:
        return subprocess.Popen(command(course, *options), stdout=stream, stderr=subprocess.STDOUT)


@dataclass(frozen=True)
class KilledRun:
    """A course whose grading was killed when some were judged: what it had judged, and its marks.

    Then it was graded by two runs at once; `said` is what each of them printed.
    """

    course: Course
    judged: dict[str, tuple[str, str]]
    marks: dict[str, dict[str, float]]
    said: tuple[str, ...]


@pytest.fixture(scope="module")
def killed(pristine: Course, tmp_path_factory: pytest.TempPathFactory) -> KilledRun:
    """A run that was killed half-way, and two runs at once after it."""
    folder = tmp_path_factory.mktemp("killed")
    course = half_graded(pristine, folder)
    judged, marks = rows(course), scores(course, NAME)
    return KilledRun(course, judged, marks, graded_at_once(course, folder))


def half_graded(pristine: Course, folder: Path) -> Course:
    """Start grading and kill it when some were judged and some were not."""
    for number in range(5):
        course = copied(pristine, folder / str(number))
        run = started(course)
        wait_for_rows(course, run, 2)
        kill(run.pid, PATIENCE)
        run.wait()
        if len(rows(course)) < EVERYBODY - 1:
            return course
    raise AssertionError("five times, all were judged before this process had its turn")


def graded_at_once(course: Course, folder: Path) -> tuple[str, ...]:
    """Grade by two runs that begin while a third holds the class; return what they printed."""
    printed = [folder / "one.txt", folder / "two.txt"]
    with class_lock(course.directory, lambda: None):
        runs = [started(course, file, *ALONE) for file in printed]
        wait_for(
            lambda: all(WAITS in file.read_text("utf-8") for file in printed),
            "nobody waits",
            PATIENCE,
        )
    ended = [run.wait(timeout=PATIENCE) for run in runs]
    said = tuple(file.read_text("utf-8") for file in printed)
    assert ended == [0, 0], said
    return said


def judged_before(said: str) -> int:
    """How many were judged before, as a run says."""
    found = re.search(rf"(\d+) of {EVERYBODY} submissions were judged before", said)
    assert found, said
    return int(found[1])


def test_a_killed_run_goes_on_where_it_stood(killed: KilledRun, undisturbed: Result) -> None:
    assert not any(killed.marks.values())
    kept = min(map(judged_before, killed.said))
    assert len(killed.judged) <= kept <= len(killed.judged) + 1  # a twin counts twice
    assert result_of(killed.course) == undisturbed
    after = rows(killed.course)
    assert {key: after[key] for key in killed.judged} == killed.judged, "something judged twice"
    assert len(after) == EVERYBODY - 1, "equal submissions are judged once"


def test_of_two_runs_at_once_the_second_judges_nobody(killed: KilledRun) -> None:
    first, second = sorted(map(judged_before, killed.said))
    assert first < second == EVERYBODY


@dataclass(frozen=True)
class FailedJournal:
    """A course whose journal failed while it was graded, what was said, whose marks there are."""

    course: Course
    said: str
    written: dict[str, dict[str, float]]


@pytest.fixture(scope="module")
def failed(pristine: Course, tmp_path_factory: pytest.TempPathFactory) -> FailedJournal:
    """A run whose journal takes no more verdicts when two are in it."""
    folder = tmp_path_factory.mktemp("failed")
    for number in range(5):
        course = copied(pristine, folder / str(number))
        printed = folder / f"{number}.txt"
        run = started(course, printed, *ALONE)
        wait_for_rows(course, run, 2)
        # From inside SQLite: a full disk in the middle, for whoever is judged from now on.
        change(
            course,
            "create trigger full before insert on verdicts when new.key != '' "
            "begin select raise(fail, 'database or disk is full'); end",
        )
        ended, said = run.wait(timeout=PATIENCE), printed.read_text("utf-8")
        if len(rows(course)) < EVERYBODY - 1:
            assert ended == 1, said
            return FailedJournal(course, said, scores(course, NAME))
    raise AssertionError("five times, all were judged before this process had its turn")


@pytest.mark.slow
def test_a_journal_that_fails_on_the_way_costs_nobody_a_zero(
    failed: FailedJournal, undisturbed: Result
) -> None:
    lost = undisturbed.scores.keys() - failed.written
    assert lost and failed.written
    told = " ".join(failed.said.split()).split("not graded: ")[1:]
    ours = " ".join(each for each in told if "a fault of the grader" in each)
    assert all(name in ours for name in lost), failed.said
    assert "disk is full" in failed.said
    assert failed.written == {name: undisturbed.scores[name] for name in failed.written}


@pytest.mark.slow
def test_later_who_was_lost_is_judged_and_who_handed_in_again_and_nobody_else(
    failed: FailedJournal, undisturbed: Result
) -> None:
    course, weaker, better = failed.course, STUDENTS[0], "reference"
    assert weaker in failed.written
    folder = course.submitted(NAME, weaker)
    shutil.rmtree(folder)
    folder.mkdir()
    Work(folder).write(f"{Work(folder).script}\n# handed in again\n")
    change(course, "drop trigger full")
    kept = rows(course)
    run = grade(course, *ALONE)
    assert run.returncode == 0 and judged_before(run.stdout) == len(failed.written) - 1
    assert undisturbed.scores[better] != undisturbed.scores[weaker]
    again = result_of(course)
    assert again.scores == undisturbed.scores | {weaker: undisturbed.scores[better]}
    others = undisturbed.verdicts.keys() - {weaker}
    assert {name: again.verdicts[name] for name in others} == {
        name: undisturbed.verdicts[name] for name in others
    }
    assert kept.items() <= rows(course).items() and len(rows(course)) == EVERYBODY


def change(course: Course, statement: str) -> None:
    """Change the journal of a course."""
    with closing(sqlite3.connect(journal(course), timeout=PATIENCE)) as connection, connection:
        connection.execute(statement)


@pytest.mark.slow
def test_killed_at_random_moments_a_class_is_graded_as_if_undisturbed(
    pristine: Course, undisturbed: Result, tmp_path: Path
) -> None:
    moments = random.Random(SEED)
    course = copied(pristine, tmp_path / "whole")
    beginning = time.monotonic()
    assert grade(course).returncode == 0
    whole = time.monotonic() - beginning
    kills = rounds = 0
    phases: set[str] = set()
    while kills < KILLS:
        course = copied(pristine, tmp_path / str(rounds))
        finished = False
        rounds += 1
        while kills < KILLS and not finished:
            before = rows(course)
            run = started(course)
            try:
                run.wait(moments.uniform(0.0, 1.1 * whole))
                finished = True
            except subprocess.TimeoutExpired:
                kill(run.pid, PATIENCE)
                run.wait()
                kills += 1
            after, marks = rows(course), scores(course, NAME)
            where = f"seed {SEED}, kill {kills}"
            assert {key: after.get(key) for key in before} == before, f"judged twice: {where}"
            wrong = {n: m for n, m in marks.items() if m and m != undisturbed.scores[n]}
            assert not wrong, f"{wrong}: {where}"
            phase = "graded" if marks else "judging" if after else "starting"
            phases.add(phase)
            # Other work on the machine comes and goes; the moments follow.
            whole *= 1.1 if phase == "starting" else 0.9 if finished else 1
        run_to_the_end = grade(course)
        assert run_to_the_end.returncode == 0, run_to_the_end.stdout + run_to_the_end.stderr
        assert result_of(course) == undisturbed, f"round {rounds}, seed {SEED}"
    assert phases >= {"starting", "judging", "graded"}, (phases, SEED)
