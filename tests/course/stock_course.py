"""A course that nbgrader alone has made: two assignments, students, marks by hand, own settings."""

from __future__ import annotations

import os
import shutil
import sqlite3
import warnings
from contextlib import chdir, closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from traitlets.config.loader import PyFileConfigLoader

from autograder.course.creation import command_environment
from course.changing_course import cell_facts, graded_by_hand
from support.built_once import built_once

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
    with Gradebook(f"sqlite:///{course / 'marks.db'}") as book:
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
