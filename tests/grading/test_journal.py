"""The journal of what has been judged: what it keeps is used again, and nothing else is believed.

Whoever may write to the folder of results may write to the journal in it, so every row is read as
if by a stranger. The real command grades a folder of files; that a course with a gradebook ends
alike is in test_interrupted.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from autograder.grading import journal as journal_writer
from autograder.grading.batch import grade_batch
from autograder.grading.class_task import GRADES, OWNER
from autograder.grading.journal import JOURNAL, Journal, JournalFault
from autograder.reports.grades_csv import read_verdicts
from autograder.values.verdict import Verdict
from demo.sample_class import hand_in
from support.broken.case import ASSIGNMENT, EXERCISE, NAME, ROOT
from support.handed_in import handed_in
from support.released_course import sample_class
from support.typed_commands import Run, attn
from support.verdicts import found_in

STUDENTS = ("broken_syntax", "half_finished", "mistake_not_scaled", "reference")
TWIN = "twin_of_reference"
EVERYBODY = len(STUDENTS) + 1


@dataclass(frozen=True)
class GradedFolder:
    """A folder of files with what its students handed in, and where its results lie."""

    folder: Path

    @property
    def output(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}-graded")

    @property
    def journal(self) -> Path:
        return self.output / JOURNAL

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdicts, without what differs from run to run."""
        found = read_verdicts(self.output / "verdicts")
        return {each.student: replace(each, seconds=0.0) for each in found}

    def grade(self, *options: str, solutions: Path = ROOT / "solutions") -> str:
        """Grade it; return what was printed."""
        run = self.run(*options, solutions=solutions)
        assert run.code == 0, run.said
        return run.out

    def run(self, *options: str, solutions: Path = ROOT / "solutions") -> Run:
        words = ("grade", self.folder, "--exercise", NAME, "--solutions", solutions, *options)
        # One process: here it does not matter who judges, and each one more takes a second.
        return attn(*words, "--processes", 1, folder=ROOT)

    def write(self, statement: str, *values: object) -> int:
        """Change the journal; return how many rows that changed."""
        with closing(sqlite3.connect(self.journal)) as connection, connection:
            return connection.execute(statement, values).rowcount

    def rows(self) -> dict[str, tuple[str, str]]:
        """What the journal holds: key to verdict and time."""
        with closing(sqlite3.connect(self.journal)) as connection:
            found = connection.execute("select key, verdict, judged_at from verdicts").fetchall()
        return {key: (verdict, judged_at) for key, verdict, judged_at in found}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> GradedFolder:
    """A class that was graded once; two of its students hand in the same."""
    found = GradedFolder(tmp_path_factory.mktemp("judged") / "class")
    for student in sample_class(*STUDENTS):
        hand_in(student, EXERCISE, ASSIGNMENT, found.folder / student.name)
    shutil.copytree(found.folder / "reference", found.folder / TWIN)
    assert "judged before" not in found.grade()
    assert {*found.verdicts} == {*STUDENTS, TWIN}
    assert len(found.rows()) == EVERYBODY - 1, "equal submissions are judged once"
    return found


@pytest.fixture
def graded(judged: GradedFolder, tmp_path: Path) -> GradedFolder:
    """A copy of that class with its results, for a test to change."""
    copy = GradedFolder(tmp_path / "class")
    shutil.copytree(judged.folder, copy.folder)
    shutil.copytree(judged.output, copy.output, ignore=shutil.ignore_patterns(OWNER))
    return copy


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    """Verdicts on two of these students."""
    class_ = handed_in(tmp_path_factory.mktemp("handed in"), "broken_syntax", "reference")
    return {each.student: each for each in grade_batch(EXERCISE.folder, class_)}


# --- what is kept ---------------------------------------------------------------------------------


def test_a_journal_gives_back_what_it_was_given_but_not_while_it_is_judged_anew(
    tmp_path: Path, verdicts: dict[str, Verdict]
) -> None:
    journal = Journal(tmp_path / JOURNAL)
    assert journal.prepare() is None
    verdict = verdicts["broken_syntax"]
    key = key_of(verdict)
    journal.keep(key, verdict)
    assert found_in(journal, key, "another", EXERCISE) == replace(verdict, student="another")
    assert found_in(journal, "another key", "another", EXERCISE) is None
    with journal.judged_anew([key]):
        assert found_in(journal, key, "another", EXERCISE) is None
    assert found_in(journal, key, "another", EXERCISE) == replace(verdict, student="another")


def test_no_lock_is_held_between_two_verdicts_and_all_is_in_its_place_at_the_end(
    tmp_path: Path, verdicts: dict[str, Verdict]
) -> None:
    journal = Journal(tmp_path / JOURNAL)
    journal.prepare()
    with journal.held_open():
        for verdict in verdicts.values():
            journal.keep(key_of(verdict), verdict)
            with closing(sqlite3.connect(journal.path, timeout=0.0)) as other:
                other.execute("begin immediate")
    assert all(found_in(journal, key_of(v), v.student, EXERCISE) == v for v in verdicts.values())
    assert [file.name for file in tmp_path.iterdir()] == [JOURNAL]


def test_a_verdict_is_not_kept_in_a_journal_that_was_removed_meanwhile(
    tmp_path: Path, verdicts: dict[str, Verdict], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_writer, "PAUSE", 0.0)
    kept_here = Journal(tmp_path / JOURNAL)
    kept_here.prepare()
    verdict = verdicts["broken_syntax"]
    kept_here.keep(key_of(verdict), verdict)
    for file in tmp_path.iterdir():
        file.unlink()
    with pytest.raises(JournalFault, match="no such table"):
        kept_here.keep(key_of(verdict), verdict)
    kept_here.path.unlink()
    kept_here.prepare()
    kept_here.keep(key_of(verdict), verdict)
    assert found_in(kept_here, key_of(verdict), "ada", EXERCISE)


def key_of(verdict: Verdict) -> str:
    return f"{NAME}:{verdict.code_hash}:{verdict.exercise_hash}:"


# --- when everybody is judged anew ----------------------------------------------------------------


@pytest.mark.slow
def test_asked_to_it_judges_everybody_again(graded: GradedFolder) -> None:
    before = graded.verdicts
    assert graded.write("update verdicts set judged_at = 'before'") == EVERYBODY - 1
    assert "judged before" not in graded.grade("--again")
    assert all(judged_at != "before" for _, judged_at in graded.rows().values())
    assert graded.verdicts == before


@pytest.mark.slow
def test_a_broken_journal_is_set_aside_and_everybody_judged(graded: GradedFolder) -> None:
    before = graded.verdicts
    for path in graded.output.glob(f"{JOURNAL}-*"):
        path.unlink()
    graded.journal.write_bytes(b"this is no database, and never was" * 100)
    said = " ".join(graded.grade().split())
    assert "The journal could not be read and was moved to journal.sqlite.broken-1" in said
    assert "judged before" not in said and graded.verdicts == before


@pytest.mark.slow
def test_a_locked_journal_is_said_and_nothing_is_graded(graded: GradedFolder) -> None:
    (graded.output / GRADES).unlink()
    with closing(sqlite3.connect(graded.journal, isolation_level=None)) as connection:
        connection.execute("begin exclusive")
        run = graded.run()
        connection.execute("rollback")
    assert run.code == 2 and "database is locked" in run.err and "cure:" in run.err
    assert not (graded.output / GRADES).exists()


# --- rows that the kit cannot have written --------------------------------------------------------

NOT_WRITTEN: dict[str, object] = {
    "outcome": "not_written",
    "fact": "`softmax` is not written yet.",
    "right": "",
    "look": "",
    "misconception": None,
    "details": [],
    "matches": [],
}
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
    "a right step by the layer": lambda row: row["steps"][0].update(by_layer=True),
    "a step by no layer": lambda row: (
        row["chain"].update(layer=None),
        row["steps"][0].update(by_layer=True, outcome="not_written"),
        [
            check.update(outcome="not_written", finding=NOT_WRITTEN)
            for check in row["steps"][0]["checks"]
        ],
    ),
    "a layer that ended in another way": lambda row: row["chain"]["layer"].update(outcome="raised"),
    "a layer that is no step": lambda row: row["chain"]["layer"].update(name="Layer"),
    "an unknown break": lambda row: row["chain"].update(outcome="raised", breaks_at="nothing"),
    "a break that passed": lambda row: row["chain"].update(outcome="passed", breaks_at="softmax"),
    "time without end": lambda row: row.update(seconds=float("inf")),
    "time that is none": lambda row: row.update(seconds=float("nan")),
    "time as text": lambda row: row.update(seconds="NaN"),
    "time that runs back": lambda row: row.update(seconds=-1.0),
    "no seed": lambda row: row.update(seed=None),
    "other code": lambda row: row.update(code_hash="0" * 64),
    "other graders": lambda row: row.update(exercise_hash="0" * 64),
    "another exercise": lambda row: row.update(exercise="torch_single_head"),
    "points as text": lambda row: row["steps"][0].update(points="2"),
    "points that are no number": lambda row: row["steps"][0].update(points=float("nan")),
    "points that are a truth": lambda row: row["steps"][0].update(points=True),
    "no most points": lambda row: row["steps"][0].update(max_points=None),
    "a list of protections": lambda row: row.update(protection=["x"]),
    "remarks that are numbers": lambda row: row.update(remarks=[1]),
    "a remark without end": lambda row: row.update(remarks=["x" * 20_000_000]),
}


def kept_in(folder: Path, verdict: Verdict, text: str | bytes | None) -> Journal:
    """A journal that holds `verdict`, and then `text` in its place."""
    journal = Journal(folder / JOURNAL)
    assert journal.prepare() is None
    journal.keep(key_of(verdict), verdict)
    with closing(sqlite3.connect(journal.path)) as connection, connection:
        connection.execute("update verdicts set verdict = cast(? as text)", (text,))
    return journal


@pytest.mark.parametrize("forged", FORGED)
def test_a_row_that_the_kit_cannot_have_written_is_not_used(
    tmp_path: Path, verdicts: dict[str, Verdict], forged: str
) -> None:
    verdict = verdicts["reference"]
    key, row = key_of(verdict), json.loads(verdict.to_json())
    assert found_in(kept_in(tmp_path, verdict, json.dumps(row)), key, "ada", EXERCISE)
    FORGED[forged](row)
    journal = kept_in(tmp_path, verdict, json.dumps(row))
    assert found_in(journal, key, "ada", EXERCISE) is None
    journal.keep(key, verdict)
    assert found_in(journal, key, "ada", EXERCISE) == replace(verdict, student="ada")


NO_VERDICTS = (b"\xff\x00", "", "[]", "1", "{}", '{"steps": [1]}', "[" * 100_000)


@pytest.mark.parametrize("text", NO_VERDICTS, ids=lambda text: repr(text[:20]))
def test_a_row_that_is_no_verdict_is_not_used(
    tmp_path: Path, verdicts: dict[str, Verdict], text: str | bytes
) -> None:
    verdict = verdicts["reference"]
    journal = kept_in(tmp_path, verdict, text)
    assert found_in(journal, key_of(verdict), "ada", EXERCISE) is None


@pytest.mark.parametrize(
    "sql",
    [
        "create trigger t after insert on verdicts begin "
        "update verdicts set verdict = replace(new.verdict, '0.0', '2.0'); end",
        "alter table verdicts rename to v; create view verdicts as select * from v",
        "create table more (a)",
    ],
)
def test_a_journal_that_holds_more_than_verdicts_is_set_aside(
    tmp_path: Path, verdicts: dict[str, Verdict], sql: str
) -> None:
    verdict = replace(verdicts["reference"], student="ada")
    journal, key = kept_in(tmp_path, verdict, verdict.to_json()), key_of(verdict)
    with closing(sqlite3.connect(journal.path)) as connection:
        connection.executescript(sql)
    assert "was moved to journal.sqlite.broken-1" in str(journal.prepare())
    assert found_in(journal, key, "ada", EXERCISE) is None
    journal.keep(key, verdict)
    assert found_in(journal, key, "ada", EXERCISE) == verdict


@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe"])
def test_a_journal_that_is_no_file_is_set_aside_and_nothing_is_written_through_it(
    tmp_path: Path, kind: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    if kind == "link":
        elsewhere.write_bytes(b"")
    path = tmp_path / JOURNAL
    os.mkfifo(path) if kind == "pipe" else path.symlink_to(elsewhere)
    assert "journal.sqlite.broken-1" in str(Journal(path).prepare())
    assert path.is_file() and not path.is_symlink()
    assert not elsewhere.exists() or elsewhere.read_bytes() == b""


@pytest.mark.slow
def test_a_class_with_forged_and_unreadable_rows_is_graded_as_if_there_were_none(
    graded: GradedFolder,
) -> None:
    before = graded.verdicts
    changes = [FORGED[name] for name in ("more to get", "another name", "a fault of ours")]
    first, *others = sorted(graded.rows().items())
    forge = "update verdicts set verdict = ? where key = ?"
    graded.write(forge, first[1][0][:100], first[0])
    for (key, (text, _)), change in zip(others, changes, strict=True):
        row = json.loads(text)
        change(row)
        graded.write(forge, json.dumps(row), key)
    assert "judged before" not in graded.grade()
    assert graded.verdicts == before
