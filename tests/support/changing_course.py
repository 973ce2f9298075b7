"""A course of a small exercise that changes after students have handed in and were graded."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from nbgrader.api import Gradebook

from autograder.building.build import build
from autograder.checks.recording import record_examples
from autograder.course.assignment_release import command_environment
from autograder.course.creation import Course, create_course, read_course
from support.fifth_exercise import SOLUTION, fifth_exercise
from support.written_exercise import Change, changed

FIFTH, QUESTION = "fifth", "why"
# The step `spread` is gone, and `deviation` is new; every file has to follow.
OTHER_STEP: tuple[Change, ...] = (
    ("exercise.toml", 'name = "spread"', 'name = "deviation"'),
    ("solution.py", "spread(", "deviation("),
    ("graders.py", '"spread"', '"deviation"'),
    ("graders.py", "test_spread", "test_deviation"),
    ("misconceptions.py", "class spread", "class deviation"),
)
MORE_POINTS: Change = (
    "exercise.toml",
    'title = "Centering"\npoints = 2',
    'title = "Centering"\npoints = 4',
)
OTHER_HINT: Change = ("exercise.toml", "Take the mean.", "Add the numbers, then divide.")
OTHER_PROSE: Change = ("solution.py", "# ## Center\n", "# ## Center every row\n")


@dataclass(frozen=True)
class Run:
    """How a command ended, and what it printed."""

    code: int
    out: str


def new_course(root: Path) -> Course:
    """Make a course of the exercise, in its first version."""
    fifth_exercise(root / "solutions")
    rebuild(root)
    return create_course(
        root / "course",
        solutions=Path(os.path.relpath(root / "solutions")),  # goes along when it is copied
        assignments=root / "assignments",
        exercises=(FIFTH,),
    )


def course_copied(root: Path, target: Path) -> Course:
    """Copy a folder in which `new_course` has made a course; return the course of the copy."""
    shutil.copytree(root, target, symlinks=True)
    return Course(target / "course", target / "solutions", (FIFTH,))


def rebuild(root: Path, *changes: Change) -> None:
    """Change the exercise, and make what students get of it."""
    changed(root / "solutions" / FIFTH, *changes)
    build(root / "solutions" / FIFTH, root / "assignments", record_examples)


def attn(*words: object, typed: str | None = None) -> Run:
    """Run the command in a process of its own, without a terminal."""
    done = subprocess.run(
        [sys.executable, "-m", "autograder.cli", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        input=typed or "",
        env=os.environ | {"COLUMNS": "200"},
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Run(done.returncode, done.stdout + done.stderr)


def release(course: Course, *more: str) -> Run:
    """Release the exercise with nbgrader's own command."""
    return nbgrader("generate_assignment", FIFTH, *more, folder=course.directory)


def nbgrader(*words: str, folder: Path) -> Run:
    """Run one of nbgrader's own commands in a course."""
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *words],
        cwd=folder,
        env=command_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return Run(done.returncode, done.stdout + done.stderr)


def hand_in(course: Course, student: str, *mistakes: tuple[str, str]) -> None:
    """Hand in the released notebook with right answers, but for the texts that are replaced."""
    notebook = read(course.release(FIFTH) / f"{FIFTH}.ipynb")
    answers = SOLUTION
    for old, new in mistakes:
        assert old in answers
        answers = answers.replace(old, new)
    for text in answers.split("# %%\n"):
        for name in ("center", "spread", "both", "Standardize"):
            if text.startswith((f"def {name}(", f"class {name}:")):
                step_cell(notebook, name).source = text.split("\n\n\n# %%")[0]
    folder = course.submitted(FIFTH, student)
    folder.mkdir(parents=True)
    nbformat.write(notebook, folder / f"{FIFTH}.ipynb")


def read(path: Path) -> NotebookNode:
    """Read a notebook."""
    notebook: NotebookNode = nbformat.read(path, as_version=4)
    return notebook


def source(course: Course) -> NotebookNode:
    """Read the notebook in the course's `source/`."""
    return read(course.source(FIFTH) / f"{FIFTH}.ipynb")


def write_source(course: Course, notebook: NotebookNode) -> None:
    """Write the notebook in the course's `source/`, as JupyterLab saves it."""
    nbformat.write(notebook, course.source(FIFTH) / f"{FIFTH}.ipynb")


def step_cell(notebook: NotebookNode, grade_id: str) -> NotebookNode:
    """Return the cell that nbgrader knows by this name."""
    cell: NotebookNode
    (cell,) = (c for c in notebook.cells if grade_of(c) == grade_id)
    return cell


def grade_of(cell: NotebookNode) -> str:
    """Return the name by which nbgrader knows a cell, or ""."""
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))


def add_question(course: Course) -> None:
    """Put a question of the instructor's own below the first step."""
    notebook = source(course)
    facts: dict[str, Any] = {"grade": True, "solution": True, "locked": False, "points": 3}
    facts |= {"schema_version": 3, "grade_id": QUESTION, "task": False, "cell_type": "markdown"}
    place = notebook.cells.index(step_cell(notebook, "check_center")) + 1
    question = new_markdown_cell("Why are rows centered?", metadata={"nbgrader": facts}, id="mine")
    notebook.cells.insert(place, question)
    write_source(course, notebook)


def by_hand(course: Course, student: str, cell: str, points: float) -> None:
    """Enter points as formgrader does."""
    with Gradebook(f"sqlite:///{course.directory / 'gradebook.db'}") as book:
        grade = book.find_grade(cell, FIFTH, FIFTH, student)
        grade.manual_score, grade.needs_manual_grade = points, False
        book.db.commit()


def marks(course: Course) -> dict[str, float]:
    """Return the marks of all students, as nbgrader has them."""
    with Gradebook(f"sqlite:///{course.directory / 'gradebook.db'}") as book:
        return {each.student.id: each.score for each in book.assignment_submissions(FIFTH)}


def contents(course: Course) -> dict[str, bytes]:
    """Return every file of the course with its bytes."""
    return {
        path.relative_to(course.directory).as_posix(): path.read_bytes()
        for path in sorted(course.directory.rglob("*"))
        if path.is_file()
    }


def again(course: Course) -> Course:
    """Read the course anew."""
    return read_course(course.directory)
