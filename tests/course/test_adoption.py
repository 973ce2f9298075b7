"""`attn course adopt`: exercises of the kit in a course that nbgrader alone has made."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import chdir, closing, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nbformat
import nbgrader.apps.api
import pytest
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.converters import Autograde, GenerateAssignment, GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder.course.adjustment import PendingUpdate
from autograder.course.adoption import CourseExporter
from autograder.course.creation import Course, read_course
from course.changing_course import (
    FIFTH,
    MISTAKE,
    attn,
    cell_facts,
    graded_by_hand,
    rebuild,
    update,
)
from course.changing_course import hand_in as hand_in_ours
from demo.run import command_environment
from support.built_once import built_once
from support.fifth_exercise import fifth_exercise
from support.released_course import ROOT
from support.typed_commands import Run

FIRST, SECOND = "ps1", "ps2"
SETTINGS = """\
# Ours since 2019, do not touch.
c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "stats101"
c.CourseDirectory.db_url = "sqlite:///marks.db"
c.IncludeHeaderFooter.header = "source/header.ipynb"
c.Exchange.root = "EXCHANGE"
c.Autograde.autograde_preprocessors = [
    "nbgrader.preprocessors.Execute",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
]
if c.Exchange.root:
    c.ClearSolutions.code_stub = {"python": "raise NotImplementedError  # yours"}
# The end."""  # without a line break


def stock_course(root: Path, students: int) -> Path:
    """Make the course `root/course`, released and graded by nbgrader; its exchange is beside it."""
    made = built_once(f"stock-{students}", lambda folder: _make(folder, students))
    shutil.copytree(made, root, symlinks=True, dirs_exist_ok=True)
    config = root / "course" / "nbgrader_config.py"
    config.write_text(config.read_text().replace(str(made), str(root)))
    return root / "course"


def nbgrader_api(course: Path) -> NbGraderAPI:
    """What formgrader and nbgrader's commands do there, with the settings that it has now."""
    with chdir(course):
        config = PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config()
    return NbGraderAPI(CourseDirectory(config=config, root=str(course)), config=config)


def done(course: Path, action: str, *words: str, **more: Any) -> None:
    """Do one thing as formgrader's buttons do; fail with what nbgrader said if it went wrong."""
    with chdir(course), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SQLAlchemy and the kernel warn of what nbgrader does
        result = getattr(nbgrader_api(course), action)(*words, **more)
    assert result["success"], result


def gradebook(course: Path) -> Gradebook:
    return Gradebook(f"sqlite:///{course / 'marks.db'}")


def tables(course: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return every row of every table of the gradebook."""
    with closing(sqlite3.connect(course / "marks.db")) as database:
        names = [
            row[0] for row in database.execute("select name from sqlite_master where type='table'")
        ]
        return {name: sorted(database.execute(f"select * from {name}"), key=str) for name in names}


def files(root: Path) -> dict[str, bytes | None]:
    """Return every file below a folder with its bytes, and every folder with None."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(root.rglob("*"))
    }


def _make(root: Path, students: int) -> None:
    course = root / "course"
    for name in (FIRST, SECOND):
        (course / "source" / name).mkdir(parents=True)
        nbformat.write(_assignment(), course / "source" / name / f"{name}.ipynb")
    (course / "source" / FIRST / "data.csv").write_text("1,2\n")
    nbformat.write(
        new_notebook(cells=[new_markdown_cell("Statistics 101")]),
        course / "source" / "header.ipynb",
    )
    exchange = root / "exchange"
    exchange.mkdir()
    # `nbgrader quickstart` writes every setting that there is, as comments.
    every = "# c.NbGrader.log_level = 30\n" * 3_000
    (course / "nbgrader_config.py").write_text(every + SETTINGS.replace("EXCHANGE", str(exchange)))
    with patch.dict(os.environ, command_environment()):  # nbgrader runs Alembic
        done(course, "generate_assignment", FIRST)
        done(course, "generate_assignment", SECOND)
    for number in range(students):
        hand_in(course, FIRST, f"s{number:02}", right=number % 2 == 0)
        done(course, "autograde", FIRST, f"s{number:02}")
    done(course, "generate_feedback", FIRST)
    with gradebook(course) as book:
        for number in range(students):
            grade = book.find_grade("why", FIRST, FIRST, f"s{number:02}")
            grade.manual_score, grade.needs_manual_grade = number % 4, False
        book.db.commit()


def hand_in(course: Path, assignment: str, student: str, *, right: bool) -> None:
    """Hand in one of the course's own assignments."""
    book = nbformat.read(course / "release" / assignment / f"{assignment}.ipynb", as_version=4)
    for cell in book.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "double":
            cell.source = f"def double(x):\n    return {2 if right else 3} * x"
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "why":
            cell.source = "Since <b>two</b> is <script>alert(1)</script> enough."
    folder = course / "submitted" / student / assignment
    folder.mkdir(parents=True)
    nbformat.write(book, folder / f"{assignment}.ipynb")
    (folder / "timestamp.txt").write_text("2026-02-20 12:00:00.000000 UTC")


def _assignment() -> nbformat.NotebookNode:
    solution = "def double(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION"
    test = "assert double(2) == 4\n### BEGIN HIDDEN TESTS\nassert double(5) == 10\n"
    made: nbformat.NotebookNode = new_notebook(
        cells=[
            new_markdown_cell("# Problem"),
            new_code_cell(solution, metadata=cell_facts("double", solution=True)),
            new_code_cell(
                f"{test}### END HIDDEN TESTS",
                metadata=cell_facts("test_double", grade=True, locked=True, points=5),
            ),
            new_markdown_cell("Why?", metadata=graded_by_hand("why")),
        ],
        metadata={"kernelspec": {"display_name": "P", "language": "python", "name": "python3"}},
    )
    return made


@pytest.fixture(params=[2, pytest.param(10, marks=pytest.mark.slow)])
def stock(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A course that does not know the kit, and beside it an exercise."""
    fifth_exercise(tmp_path / "solutions")
    rebuild(tmp_path)
    return stock_course(tmp_path, request.param)


def adopt(stock: Path, *words: str) -> Run:
    solutions = () if "--undo" in words else ("--solutions", stock.parent / "solutions")
    exercise = () if "--undo" in words else ("--exercise", FIFTH)
    return attn("course", "adopt", stock, *exercise, *solutions, *words)


def adopted(stock: Path) -> Course:
    run = adopt(stock, "--yes")
    assert run.code == 0, run.out
    return read_course(stock)


def taken_back(stock: Path) -> str:
    run = adopt(stock, "--undo", "--yes")
    assert run.code == 0, run.out
    return run.out


def test_adopting_shows_first_what_changes_and_changes_nothing_without_a_yes(stock: Path) -> None:
    before = files(stock.parent)
    run = adopt(stock)
    assert run.code == 1 and "Nothing was changed." in run.out, run.out
    assert "nbgrader release_assignment" not in run.out
    assert "nbgrader_config.py: 6 lines at its end" in run.out
    assert f"assignments: {FIRST}, {SECOND}" in run.out
    assert "c.Autograde.autograde_preprocessors: yours holds for your assignments" in run.out
    assert files(stock.parent) == before


def test_an_adopted_course_has_every_byte_and_every_row_that_it_had(stock: Path) -> None:
    before, rows = files(stock), tables(stock)
    said = adopt(stock, "--yes").out
    assert said.splitlines()[-2:] == [
        f"next: cd {stock} && nbgrader generate_assignment {FIFTH}",
        f"then: cd {stock} && nbgrader release_assignment {FIFTH}",
    ]
    after = files(stock)
    config = "nbgrader_config.py"
    assert {name for name in before if after[name] != before[name]} == {config}
    assert (after[config] or b"").startswith(before[config] or b"?")
    assert tables(stock) == rows
    new = {name.partition("/")[0] for name in after if name not in before}
    assert new == {"source", ".course", "attn.toml"}


def test_what_was_adopted_can_be_taken_back_byte_by_byte(stock: Path) -> None:
    before = files(stock)
    adopted(stock)
    asked = adopt(stock, "--undo")
    assert asked.code == 1 and "source/fifth" in asked.out, asked.out
    taken_back(stock)
    assert files(stock) == before


def test_a_release_that_nobody_has_handed_in_is_taken_back_row_by_row(stock: Path) -> None:
    before, rows = files(stock), tables(stock)
    adopted(stock)
    done(stock, "generate_assignment", FIFTH)
    assert tables(stock) != rows
    taken_back(stock)
    assert tables(stock) == rows
    after = files(stock)
    assert {**after, "marks.db": before["marks.db"]} == before


def test_what_students_can_still_fetch_is_named_with_what_takes_it_away(stock: Path) -> None:
    adopted(stock)
    done(stock, "generate_assignment", FIFTH)
    done(stock, "release_assignment", FIFTH)
    there = stock.parent / "exchange" / "stats101" / "outbound" / FIFTH
    command = f"nbgrader list {FIFTH} --remove"
    assert f"{there}: students can fetch it until `{command}`" in taken_back(stock)
    words = [sys.executable, "-m", *command.split()]
    subprocess.run(words, cwd=stock, check=True, capture_output=True)
    assert not there.exists()


def test_marks_and_own_work_are_never_taken_back(stock: Path) -> None:
    course = adopted(stock)
    notes = course.source(FIFTH) / "my-notes.md"
    notes.write_text("mine")
    run = adopt(stock, "--undo", "--yes")
    assert run.code == 2 and f"would be lost: source/{FIFTH}/my-notes.md" in run.out, run.out
    assert "handed in" not in run.out
    done(stock, "generate_assignment", FIFTH)
    hand_in_ours(course, "s00")
    before = files(stock)
    run = adopt(stock, "--undo", "--yes")
    assert run.code == 2 and f"1 have handed in {FIFTH}" in run.out, run.out
    assert f"would be lost: source/{FIFTH}/my-notes.md" in run.out, "both causes at once"
    assert files(stock) == before


def test_their_assignments_are_graded_and_handed_back_as_if_the_kit_were_not_there(
    stock: Path, tmp_path: Path
) -> None:
    untouched = tmp_path / "untouched"
    shutil.copytree(stock, untouched)
    adopted(stock)
    done(stock, "generate_assignment", FIFTH)
    with nbgrader_alone():
        use(untouched)
    use(stock)
    assert scores(stock, SECOND) == scores(untouched, SECOND) == {"s00": 5.0}
    assert scores(stock, FIRST) == scores(untouched, FIRST)
    for part in ("autograded", "feedback", "release"):
        theirs, ours = files(untouched / part), files(stock / part)
        assert set(theirs) == {name for name in ours if FIFTH not in name}
        for name, content in theirs.items():
            assert plain(ours[name]) == plain(content), name
    assert "alert(1)" in str(files(stock / "feedback")), "nbgrader cleans nothing"


def use(course: Path) -> None:
    """Do with an assignment of theirs what nbgrader can do with it."""
    hand_in(course, SECOND, "s00", right=True)
    done(course, "autograde", SECOND, "s00")
    done(course, "generate_feedback", SECOND)
    done(course, "generate_assignment", FIRST, force=True)


@contextmanager
def nbgrader_alone() -> Iterator[None]:
    """Take back what a configuration of the kit leaves in this process."""
    classes = {"Autograde": Autograde, "GenerateFeedback": GenerateFeedback}
    with patch.multiple(nbgrader.apps.api, GenerateAssignment=GenerateAssignment, **classes):
        yield


def plain(content: bytes | None) -> object:
    """A file without what differs from run to run: times, and the memory address in a traceback."""
    if content is None or not content.startswith(b"{"):
        return content and len(content)
    book = json.loads(content)
    for cell in book["cells"]:
        cell["metadata"].pop("execution", None)
    return book


def scores(course: Path, assignment: str) -> dict[str, float]:
    with gradebook(course) as book:
        return {each.student.id: each.score for each in book.assignment_submissions(assignment)}


def test_the_kits_exercise_is_released_graded_and_kept_up_to_date_in_it(stock: Path) -> None:
    course = adopted(stock)
    before, theirs = files(stock), scores(stock, FIRST)
    done(stock, "generate_assignment", FIFTH)
    released = nbformat.read(course.release(FIFTH) / f"{FIFTH}.ipynb", as_version=4)
    source = nbformat.read(course.source(FIFTH) / f"{FIFTH}.ipynb", as_version=4)
    assert [cell.source for cell in released.cells] == [cell.source for cell in source.cells], (
        "without their header and their words for a stub"
    )
    hand_in_ours(course, "s00")
    hand_in_ours(course, "s01", MISTAKE)
    run = attn("grade", stock)
    assert run.code == 0 and "release_feedback" not in run.out, run.out
    done(stock, "release_assignment", FIFTH)
    run = attn("grade", stock)
    assert run.out.splitlines()[-1] == f"then: cd {stock} && nbgrader release_feedback {FIFTH}"
    done(stock, "release_feedback", FIFTH)
    fast = scores(stock, FIFTH)
    assert fast["s00"] > fast["s01"] > 0
    done(stock, "autograde", FIFTH, "s01", force=True)
    assert scores(stock, FIFTH) == fast
    done(stock, "generate_feedback", FIFTH)
    page = (course.feedback(FIFTH, "s01") / f"{FIFTH}.html").read_text()
    assert "Protection while grading" in page, "it is the kit's"
    check = attn("course", "check", stock)
    assert check.code == 0, check.out
    assert "There is nothing to update" in update(course)
    after = files(stock)
    assert scores(stock, FIRST) == theirs
    changed = {name for name in before if after[name] != before[name]}
    assert changed == {"marks.db"}


def test_being_late_can_cost_points_in_the_kits_exercise_only(stock: Path) -> None:
    """With the lines in docs/instructors.md; the hand-ins are from February."""
    document = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"```python\n(from autograder.course.late_policy.*?)```", document, re.S)
    course = adopted(stock)
    config, text = stock / "nbgrader_config.py", (stock / "nbgrader_config.py").read_text()
    config.write_text(f"{text}\n{lines.replace('numpy_single_head', FIFTH)}")
    done(stock, "generate_assignment", FIFTH)
    hand_in_ours(course, "s00")
    (course.submitted(FIFTH, "s00") / "timestamp.txt").write_text("2026-02-20 12:00:00 UTC")
    theirs = scores(stock, FIRST)
    with gradebook(stock) as book:
        for name in (FIRST, FIFTH):
            book.update_or_create_assignment(name, duedate="2026-02-19 00:00:00 UTC")
    assert attn("grade", stock).code == 0
    done(stock, "autograde", FIRST, "s00", force=True)
    assert penalties(stock) == {FIRST: 0, FIFTH: scores(stock, FIFTH)["s00"] / 5}
    assert scores(stock, FIRST) == theirs
    config.write_text(
        f'{text}\nc.AssignLatePenalties.plugin_class = "autograder.course.late_policy.LatePolicy"\n'
    )
    done(stock, "autograde", FIRST, "s00", force=True)
    assert penalties(stock)[FIRST] > 0, "else the lines hold for all assignments"


def penalties(course: Path) -> dict[str, float]:
    with gradebook(course) as book:
        return {
            name: book.find_submission(name, "s00").late_submission_penalty
            for name in (FIRST, FIFTH)
        }


def test_what_the_kit_cannot_adopt_is_refused_with_the_place_and_a_cure(stock: Path) -> None:
    config, text = stock / "nbgrader_config.py", (stock / "nbgrader_config.py").read_text()

    def refused(line: str) -> str:
        config.write_text(f"{text}\n{line}\n")
        before = files(stock)
        run = adopt(stock, "--yes")
        assert run.code == 2 and "where:" in run.out and "cure:" in run.out, run.out
        assert files(stock) == before
        return run.out

    said = refused('c.CourseDirectory.submitted_directory = "in"')
    assert "c.CourseDirectory.submitted_directory is 'in'" in said
    assert "computes the gradebook's address" in refused('c.CourseDirectory.db_url = "sqlite" * 2')
    assert "stops with ZeroDivisionError" in refused("1 / 0")
    config.write_text(text)
    (stock / "lectures").mkdir()
    (stock / "lectures" / "one.ipynb").write_text("{}")
    (stock / "policy.py").write_text("late = 1\n")
    said = adopt(stock, "--yes").out
    assert "lectures/ and policy.py" in said and "sys.path.append" in said and str(stock) in said
    (stock / "policy.py").unlink()
    shutil.rmtree(stock / "lectures")
    for part in ("source", "release"):
        (stock / part / FIFTH).mkdir()
        assert f"{part}/{FIFTH} is there already" in adopt(stock, "--yes").out
        (stock / part / FIFTH).rmdir()
    (stock / "nbgrader_config.json").write_text("{}")
    assert "nbgrader_config.json has settings of the course" in adopt(stock, "--yes").out


def test_a_course_that_exists_is_pointed_to_adopting(stock: Path) -> None:
    folders = ("--solutions", stock.parent / "solutions")
    for words in (("new", "--exercise", FIFTH, *folders), ("update",), ("check",)):
        run = attn("course", words[0], stock, *words[1:])
        assert run.code == 2 and f"adopt {stock} --exercise NAME" in run.out, run.out
    for run in (attn("grade", stock), adopt(stock, "--undo")):
        assert run.code == 2 and f"adopt {stock} --exercise NAME" in run.out, run.out
    course = adopted(stock)
    for command, option in (("extend", "--remove"), ("hold", "--release")):
        run = attn("course", command, "s00", FIRST, option, "--course", course.directory)
        assert run.code == 2 and f"cure:  use one of: {FIFTH}\n" in run.out, run.out
    again = adopt(stock, "--yes")
    assert again.code == 2 and f"attn course update {stock} --exercise" in again.out


def test_formgrader_cleans_what_students_wrote_on_the_kits_pages_only(stock: Path) -> None:
    course = adopted(stock)
    own = stock / "autograded" / "s00" / FIRST / f"{FIRST}.ipynb"
    ours = course.autograded(FIFTH, "s00") / f"{FIFTH}.ipynb"
    ours.parent.mkdir(parents=True)
    shutil.copy(own, ours)
    formgrader = CourseExporter(config=Config())  # type: ignore[no-untyped-call]
    assert "<script>alert" not in formgrader.from_filename(str(ours))[0]
    assert formgrader.from_filename(str(own))[0] == HTMLExporter().from_filename(str(own))[0]


def test_a_pattern_that_means_theirs_and_ours_is_refused(stock: Path) -> None:
    adopted(stock)
    with pytest.raises(AssertionError, match="name one assignment"):
        done(stock, "generate_assignment", "*")


def test_a_stopped_adoption_is_finished_by_the_next_command(
    stock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(self: PendingUpdate) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(PendingUpdate, "put_in_place", killed)
        assert adopt(stock, "--yes").code == 2
    run = adopt(stock, "--yes")
    assert run.code == 0 and "Finished what was stopped." in run.out
    assert read_course(stock).adopted


def test_a_configuration_with_a_password_stays_closed_and_so_do_its_copies(stock: Path) -> None:
    config = stock / "nbgrader_config.py"
    config.chmod(0o600)
    adopted(stock)
    kept = list((stock / ".course" / "backup").rglob(config.name))
    assert len(kept) == 1
    assert {path.stat().st_mode & 0o777 for path in (config, *kept)} == {0o600}
    taken_back(stock)
    assert config.stat().st_mode & 0o777 == 0o600


def test_lines_of_the_kit_that_went_are_told_and_put_back(stock: Path) -> None:
    config = stock / "nbgrader_config.py"
    before = config.read_bytes()
    course = adopted(stock)
    after = config.read_bytes()
    config.write_bytes(before)
    run = attn("course", "check", stock)
    assert run.code == 1 and "the kit's lines are missing" in run.out, run.out
    update(course)
    assert config.read_bytes() == after


def test_a_course_without_a_configuration_of_its_own_gets_one_and_loses_it(stock: Path) -> None:
    (stock / "nbgrader_config.py").unlink()
    before = files(stock)
    run = adopt(stock, "--yes")
    assert run.code == 0 and "nbgrader_config.py: new" in run.out
    assert "c.CourseDirectory.course_id is not set" in run.out
    taken_back(stock)
    assert files(stock) == before
