"""A run that is killed at any moment and started again ends as if nothing had happened.

The real command grades a real course and is killed with SIGKILL, which nothing can catch:
while it starts, judges, writes the gradebook, writes the pages.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autograder.course.creation import Course
from autograder.course.gradebook import scores
from autograder.grading.journal import Journal
from autograder.model.exercise import read_exercise
from autograder.model.verdict import Verdict
from support.copied_exercise import copy_exercise
from support.processes import descendants
from support.released_course import (
    NAME,
    Result,
    command,
    grade,
    journal,
    released_course,
    result_of,
    zoo,
)

EXERCISE = read_exercise(Path(__file__).resolve().parents[2] / "solutions" / NAME)
KILLS = 50
SEED = int(os.environ.get("ATTN_SEED", "20261120"))
PATIENCE = 60.0  # seconds that anything may take on a busy machine


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A released course that nobody has graded yet; two of its students hand in the same."""
    course = released_course(tmp_path_factory.mktemp("pristine") / "course", zoo("hostile_endless"))
    twin = course.submitted(NAME, "twin_of_reference")
    shutil.copytree(course.submitted(NAME, "reference"), twin)
    return course


@pytest.fixture(scope="module")
def undisturbed(pristine: Course, tmp_path_factory: pytest.TempPathFactory) -> Result:
    """What grading it leaves when nobody interferes."""
    course = copied(pristine, tmp_path_factory.mktemp("undisturbed") / "course")
    run = grade(course)
    assert run.returncode == 0, run.stdout + run.stderr
    return result_of(course)


def copied(course: Course, target: Path) -> Course:
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(course.directory, target)
    return replace(course, directory=target)


def rows(course: Course) -> dict[str, tuple[str, str]]:
    """What the journal holds: key to verdict and time."""
    if not journal(course).exists():
        return {}
    connection = sqlite3.connect(journal(course), timeout=PATIENCE)
    try:
        found = connection.execute("select key, verdict, judged_at from verdicts").fetchall()
    except sqlite3.OperationalError as error:  # killed before there was a table
        assert "no such table" in str(error)
        found = []
    finally:
        connection.close()
    return {key: (verdict, judged_at) for key, verdict, judged_at in found if key}


def alive(pid: int) -> bool:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return fields[0] != "Z"


def wait_until_gone(pids: list[int]) -> None:
    end = time.monotonic() + PATIENCE
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < end, "processes of a killed run live on"
        time.sleep(0.01)


def kill(run: subprocess.Popen[bytes]) -> None:
    """Kill the command alone, and see that all it started ends by itself."""
    family = descendants(run.pid)
    run.send_signal(signal.SIGKILL)
    run.wait()
    wait_until_gone(family)


def started(course: Course) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command(course), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def half_graded(pristine: Course, tmp_path: Path) -> Iterator[Course]:
    """A course whose grading was killed when some were judged and some were not."""
    course = copied(pristine, tmp_path / "course")
    run = started(course)
    end = time.monotonic() + PATIENCE
    while len(rows(course)) < 4:
        assert run.poll() is None and time.monotonic() < end
        time.sleep(0.005)
    kill(run)
    yield course


def test_a_killed_run_goes_on_where_it_stood(half_graded: Course, undisturbed: Result) -> None:
    before = rows(half_graded)
    everybody = len(undisturbed.verdicts)
    assert 4 <= len(before) < everybody
    assert not any(scores(half_graded, NAME).values())
    run = grade(half_graded)
    assert run.returncode == 0, run.stdout + run.stderr
    said = re.search(rf"(\d+) of {everybody} submissions were judged before", run.stdout)
    assert said and len(before) <= int(said[1]) <= len(before) + 1  # a twin counts twice
    assert result_of(half_graded) == undisturbed
    after = rows(half_graded)
    assert {key: after[key] for key in before} == before, "something was judged twice"
    assert len(after) == everybody - 1, "equal submissions are judged once"


def test_a_second_run_judges_nobody_and_ends_the_same(
    half_graded: Course, undisturbed: Result
) -> None:
    first = grade(half_graded)
    kept = rows(half_graded)
    second = grade(half_graded)
    assert first.returncode == second.returncode == 0
    everybody = len(undisturbed.verdicts)
    assert f"{everybody} of {everybody} submissions were judged before" in second.stdout
    assert rows(half_graded) == kept and result_of(half_graded) == undisturbed


def test_who_hands_in_again_is_judged_again_and_nobody_else(
    half_graded: Course, undisturbed: Result
) -> None:
    assert grade(half_graded).returncode == 0
    weaker, better = "mistake_not_scaled", "reference"
    folder = half_graded.submitted(NAME, weaker)
    shutil.rmtree(folder)
    shutil.copytree(half_graded.submitted(NAME, better), folder)
    extra = "\n# handed in again\n"
    for file in folder.glob("*.py"):
        file.write_text(file.read_text(encoding="utf-8") + extra, encoding="utf-8")
    kept = rows(half_graded)
    run = grade(half_graded)
    everybody = len(undisturbed.verdicts)
    assert run.returncode == 0
    again = result_of(half_graded)
    assert again.scores[weaker] == undisturbed.scores[better] != undisturbed.scores[weaker]
    others = {name: marks for name, marks in again.scores.items() if name != weaker}
    assert others == {name: undisturbed.scores[name] for name in others}
    assert set(kept.items()) <= set(rows(half_graded).items())
    assert f"{everybody} of {everybody}" in run.stdout or f"{everybody - 1} of" in run.stdout


def test_asked_to_it_judges_everybody_again(half_graded: Course, undisturbed: Result) -> None:
    marked = "update verdicts set judged_at = 'before'"
    connection = sqlite3.connect(journal(half_graded))
    with connection:
        assert connection.execute(marked).rowcount >= 4
    connection.close()
    run = grade(half_graded, "--again")
    assert run.returncode == 0 and "judged before" not in run.stdout
    assert all(judged_at != "before" for _, judged_at in rows(half_graded).values())
    assert result_of(half_graded) == undisturbed


def test_a_changed_exercise_makes_what_is_kept_worthless(
    half_graded: Course, undisturbed: Result, tmp_path: Path
) -> None:
    exercise = half_graded.exercise(NAME)
    solutions = tmp_path / "solutions"
    copy_exercise(NAME, solutions)
    facts = half_graded.directory / "attn.toml"
    text = facts.read_text(encoding="utf-8")
    assert str(exercise.folder.parent) in text
    facts.write_text(text.replace(str(exercise.folder.parent), str(solutions)), encoding="utf-8")
    manifest = solutions / NAME / "exercise.toml"
    manifest.write_text(manifest.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
    kept = len(rows(half_graded))
    run = grade(half_graded)
    assert run.returncode == 0, run.stderr
    assert "judged before" not in run.stdout
    assert len(rows(half_graded)) == kept + len(undisturbed.verdicts) - 1


def test_a_broken_journal_is_set_aside_and_everybody_judged(
    half_graded: Course, undisturbed: Result
) -> None:
    for path in journal(half_graded).parent.glob(f"{journal(half_graded).name}-*"):
        path.unlink()
    journal(half_graded).write_bytes(b"this is no database, and never was" * 100)
    run = grade(half_graded)
    assert run.returncode == 0, run.stderr
    assert "The journal could not be read and lies in journal.sqlite.broken-1" in run.stdout
    assert result_of(half_graded) == undisturbed


def test_a_verdict_that_cannot_be_read_is_judged_again(
    half_graded: Course, undisturbed: Result
) -> None:
    connection = sqlite3.connect(journal(half_graded))
    with connection:
        connection.execute("update verdicts set verdict = substr(verdict, 1, 100)")
    connection.close()
    run = grade(half_graded)
    assert run.returncode == 0 and "judged before" not in run.stdout
    assert result_of(half_graded) == undisturbed


def test_a_locked_journal_is_said_and_nothing_is_graded(half_graded: Course) -> None:
    connection = sqlite3.connect(journal(half_graded), isolation_level=None)
    connection.execute("begin exclusive")
    try:
        run = grade(half_graded)
    finally:
        connection.execute("rollback")
        connection.close()
    assert run.returncode == 2 and "database is locked" in run.stderr and "cure:" in run.stderr
    assert not any(scores(half_graded, NAME).values())


def test_a_journal_that_fails_on_the_way_costs_nobody_a_zero(
    pristine: Course, undisturbed: Result, tmp_path: Path
) -> None:
    half_graded = copied(pristine, tmp_path / "course")
    grading = subprocess.Popen(
        command(half_graded), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    end = time.monotonic() + PATIENCE
    while len(rows(half_graded)) < 4:
        assert grading.poll() is None and time.monotonic() < end
        time.sleep(0.005)
    # From inside SQLite: a full disk in the middle, for whoever is judged from now on.
    connection = sqlite3.connect(journal(half_graded))
    with connection:
        connection.execute(
            "create trigger full before insert on verdicts when new.key != '' "
            "begin select raise(fail, 'database or disk is full'); end"
        )
    kept = {name for name, found in undisturbed.verdicts.items() if found.points >= 0}
    connection.close()
    said, _ = grading.communicate(timeout=PATIENCE)
    assert grading.returncode == 1, said
    written = {name for name, marks in scores(half_graded, NAME).items() if marks}
    lost = kept - written
    assert lost and written
    for name in lost:
        assert f"{name}: a fault of the grader" in said
    assert "disk is full" in said
    assert {name: scores(half_graded, NAME)[name] for name in written} == {
        name: undisturbed.scores[name] for name in written
    }
    connection = sqlite3.connect(journal(half_graded))
    with connection:
        connection.execute("drop trigger full")
    connection.close()
    assert grade(half_graded).returncode == 0
    assert result_of(half_graded) == undisturbed


def test_of_two_runs_at_once_one_waits_and_judges_nobody(
    pristine: Course, undisturbed: Result, tmp_path: Path
) -> None:
    course = copied(pristine, tmp_path / "course")
    runs = [
        subprocess.Popen(command(course), stdout=subprocess.PIPE, text=True, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    said = [run.communicate(timeout=PATIENCE * 3) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    everybody = len(undisturbed.verdicts)
    waited = [out for out, _ in said if "another run is grading this class" in out]
    assert len(waited) == 1 and f"{everybody} of {everybody} submissions were judged" in waited[0]
    assert result_of(course) == undisturbed


def test_the_journal_keeps_what_it_is_given(tmp_path: Path, undisturbed: Result) -> None:
    ledger = Journal(tmp_path / "journal.sqlite")
    assert ledger.prepare() is None
    verdict = undisturbed.verdicts["hostile_thief"]
    key = f"{NAME}:{verdict.code_hash}:{verdict.exercise_hash}:"
    ledger.keep(key, verdict)
    assert ledger.find(key, "another", EXERCISE) == replace(verdict, student="another")
    assert ledger.find("another key", "another", EXERCISE) is None
    ledger.forget([key])
    assert ledger.find(key, "another", EXERCISE) is None


FORGED: dict[str, Callable[[dict[str, Any]], object]] = {
    "fewer steps": lambda row: row["steps"].pop(),
    "no steps": lambda row: row["steps"].clear(),
    "another order": lambda row: row["steps"].reverse(),
    "another name": lambda row: row["steps"][0].update(name="hardmax"),
    "another title": lambda row: row["steps"][0].update(title="<script>"),
    "a title that is no text": lambda row: row["steps"][0].update(title=None),
    "more to get": lambda row: row["steps"][0].update(max_points=1000, points=1000),
    "a part of a step": lambda row: row["steps"][0].update(points=1.0),
    "points for what is wrong": lambda row: row["steps"][0].update(
        outcome="wrong_values", points=row["steps"][0]["max_points"]
    ),
    "points that checks deny": lambda row: row["steps"][0]["checks"][0].update(
        outcome="wrong_values"
    ),
    "no checks": lambda row: row["steps"][0]["checks"].clear(),
    "a fault of ours": lambda row: [
        step.update(outcome="infrastructure", points=0.0) for step in row["steps"]
    ],
    "leaning by a number": lambda row: row["steps"][0].update(leaning=1),
    "an unknown break": lambda row: row["chain"].update(outcome="raised", breaks_at="nothing"),
    "a break that passed": lambda row: row["chain"].update(outcome="passed", breaks_at="softmax"),
    "time without end": lambda row: row.update(seconds=float("inf")),
    "time that is none": lambda row: row.update(seconds=float("nan")),
    "time as text": lambda row: row.update(seconds="NaN"),
    "time that runs back": lambda row: row.update(seconds=-1.0),
    "no seed": lambda row: row.update(seed=None),
    "a list of protections": lambda row: row.update(protection=["x"]),
    "remarks that are numbers": lambda row: row.update(remarks=[1]),
    "a remark without end": lambda row: row.update(remarks=["x" * 20_000_000]),
}


def kept_in(folder: Path, key: str, verdict: Verdict, text: str | bytes | None) -> Journal:
    """A journal that holds `verdict` under `key`, and then `text` in its place."""
    ledger = Journal(folder / "journal.sqlite")
    assert ledger.prepare() is None
    ledger.keep(key, verdict)
    connection = sqlite3.connect(ledger.path)
    with connection:
        connection.execute("update verdicts set verdict = cast(? as text)", (text,))
    connection.close()
    return ledger


@pytest.mark.parametrize("forged", FORGED)
def test_a_row_that_the_kit_cannot_have_written_is_not_used(
    tmp_path: Path, undisturbed: Result, forged: str
) -> None:
    verdict = undisturbed.verdicts["reference"]
    key = f"{NAME}:{verdict.code_hash}:{verdict.exercise_hash}:"
    row = json.loads(verdict.to_json())
    assert kept_in(tmp_path, key, verdict, json.dumps(row)).find(key, "ada", EXERCISE)
    FORGED[forged](row)
    ledger = kept_in(tmp_path, key, verdict, json.dumps(row))
    assert ledger.find(key, "ada", EXERCISE) is None
    ledger.keep(key, verdict)
    assert ledger.find(key, "ada", EXERCISE) == replace(verdict, student="ada")


def test_a_row_that_is_no_text_is_not_used(tmp_path: Path, undisturbed: Result) -> None:
    verdict = undisturbed.verdicts["reference"]
    key = f"{NAME}:{verdict.code_hash}:{verdict.exercise_hash}:"
    assert kept_in(tmp_path, key, verdict, b"\xff\x00").find(key, "ada", EXERCISE) is None


def test_every_verdict_that_the_kit_gives_is_used_again(
    tmp_path: Path, undisturbed: Result
) -> None:
    for name, verdict in undisturbed.verdicts.items():
        key = f"{NAME}:{verdict.code_hash}:{verdict.exercise_hash}:"
        found = kept_in(tmp_path, key, verdict, verdict.to_json()).find(key, name, EXERCISE)
        assert found == verdict, name


def test_a_class_with_forged_rows_is_graded_as_if_there_were_none(
    half_graded: Course, undisturbed: Result
) -> None:
    changes = [change for name, change in FORGED.items() if "without end" not in name]
    connection = sqlite3.connect(journal(half_graded))
    with connection:
        for number, (key, (text, _)) in enumerate(sorted(rows(half_graded).items())):
            row = json.loads(text)
            changes[number % len(changes)](row)
            forged = "update verdicts set verdict = ? where key = ?"
            connection.execute(forged, (json.dumps(row), key))
    connection.close()
    run = grade(half_graded)
    assert run.returncode == 0, run.stderr
    assert result_of(half_graded) == undisturbed


@pytest.mark.slow
def test_killed_at_fifty_random_moments_a_class_is_graded_as_if_undisturbed(
    pristine: Course, undisturbed: Result, tmp_path: Path
) -> None:
    moments = random.Random(SEED)
    course = copied(pristine, tmp_path / "course")
    beginning = time.monotonic()
    assert grade(course).returncode == 0
    whole = time.monotonic() - beginning
    kills = rounds = 0
    phases: set[str] = set()
    while kills < KILLS:
        course = copied(pristine, tmp_path / "course")
        finished = False
        rounds += 1
        while kills < KILLS and not finished:
            before = rows(course)
            run = started(course)
            try:
                run.wait(moments.uniform(0.0, 1.1 * whole))
                finished = True
            except subprocess.TimeoutExpired:
                kill(run)
                kills += 1
            after, marks = rows(course), scores(course, NAME)
            where = f"seed {SEED}, kill {kills}"
            assert {key: after.get(key) for key in before} == before, f"judged twice: {where}"
            wrong = {n: m for n, m in marks.items() if m and m != undisturbed.scores[n]}
            assert not wrong, f"{wrong}: {where}"
            phases.add("graded" if marks else "judging" if after else "starting")
        run_to_the_end = grade(course)
        assert run_to_the_end.returncode == 0, run_to_the_end.stdout + run_to_the_end.stderr
        assert result_of(course) == undisturbed, f"round {rounds}, seed {SEED}"
    assert phases >= {"starting", "judging", "graded"}, (phases, SEED)
