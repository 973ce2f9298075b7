"""What is done in a course, and what it shows; a course of a small exercise that changes."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.apps.exportapp import ExportApp
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograder.authoring.build import build
from autograder.checks.plugin import record_examples
from autograder.course.creation import GRADEBOOK, Course, create_course, read_course
from autograder.course.export import CleanCsv
from autograder.course.settings import course_directory, read_settings
from demo.run import command_environment
from support.built_once import built_once
from support.fifth_exercise import SOLUTION, fifth_exercise
from support.typed_commands import Run, typed
from support.written_exercise import Change, changed

FIFTH, QUESTION = "fifth", "why"
RIGHT, WRONG, GIVEN = "ada", "ben", "cleo"
MISTAKE = ("return x - middle", "return x")
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


def new_course(root: Path) -> Course:
    """Make a course of the exercise, in its first version, in `root`."""
    return _copied("course", _make, root)


def released_course(root: Path) -> Course:
    """Such a course, with a question of the instructor's own, released."""
    return _copied("released", _make_released, root)


def graded_course(root: Path) -> Course:
    """The released course, in which three are graded."""
    return _copied("graded", _make_graded, root)


def _copied(name: str, make: Callable[[Path], object], root: Path) -> Course:
    """A copy of what `make` does, with the exercise: `root` has solutions, assignments, course."""
    made = built_once(f"{FIFTH}-{name}", make)
    shutil.copytree(made, root, symlinks=True, dirs_exist_ok=True)
    return read_course(root / "course")


def _make(root: Path) -> None:
    fifth_exercise(root / "solutions")
    rebuild(root)
    create_course(
        root / "course",
        solutions=Path(os.path.relpath(root / "solutions")),  # goes along when it is copied
        assignments=root / "assignments",
        exercises=(FIFTH,),
    )


def _make_released(root: Path) -> None:
    course = new_course(root)
    add_question(course, QUESTION)
    release(course)


def _make_graded(root: Path) -> None:
    course = released_course(root)
    hand_in(course, RIGHT)
    hand_in(course, WRONG, MISTAKE)
    hand_in(course, GIVEN, MISTAKE)
    grade(course)
    by_hand(course, GIVEN, "check_center", 1.5)
    by_hand(course, GIVEN, QUESTION, 3)


def rebuild(root: Path, *changes: Change) -> None:
    """Change the exercise, and make what students get of it."""
    changed(root / "solutions" / FIFTH, *changes)
    build(root / "solutions" / FIFTH, root / "assignments", record_examples)


def attn(*words: object) -> Run:
    """Do in this process what a command does, in a terminal of 200 columns."""
    run = typed(*words, folder=Path.cwd(), COLUMNS="200")
    return Run(run.code, run.out + run.err, "")


def check(course: Course) -> Run:
    """Say what is stale in a course."""
    return attn("course", "check", course.directory)


def update(course: Course, *options: str) -> str:
    """Bring a course up to date; return what was said."""
    run = attn("course", "update", course.directory, "--yes", *options)
    assert run.code == 0, run.out
    return run.out


def grade(course: Course, code: int = 0) -> str:
    """Grade a course; return what was said."""
    run = attn("grade", course.directory)
    assert run.code == code, run.out
    return run.out


def formgrader(course: Course, **settings: dict[str, object]) -> NbGraderAPI:
    """What the buttons in formgrader call: what nbgrader's commands do, in this process."""
    if not (course.directory / GRADEBOOK).exists():
        shutil.copy(built_once("gradebook", _make_gradebook) / GRADEBOOK, course.directory)
    config = read_settings(course)
    config.merge(Config(settings))
    return NbGraderAPI(course_directory(course, config), config=config)


def _make_gradebook(folder: Path) -> None:
    with patch.dict(os.environ, command_environment()):  # nbgrader runs Alembic
        Gradebook(f"sqlite:///{folder / GRADEBOOK}").close()


def done(result: dict[str, Any]) -> None:
    """Fail with what nbgrader said if what a button does went wrong."""
    assert result["success"], result


def release(course: Course) -> None:
    """Release the exercise, as the button in formgrader does."""
    done(formgrader(course).generate_assignment(course.exercises[0]))


def nbgrader(*words: str, folder: Path, code: int = 0) -> str:
    """Run one of nbgrader's own commands in a course; return what was said."""
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *words],
        cwd=folder,
        env=command_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    return said


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


def add_question(course: Course, name: str) -> None:
    """Put a question of the instructor's own below the first step."""
    notebook = source(course)
    facts = graded_by_hand(name, cell_type="markdown")
    place = notebook.cells.index(step_cell(notebook, "check_center")) + 1
    notebook.cells.insert(
        place, new_markdown_cell("Why are rows centered?", metadata=facts, id=name)
    )
    write_source(course, notebook)


def graded_by_hand(name: str, points: float = 3, **more: object) -> dict[str, dict[str, object]]:
    """The metadata of an answer that a person grades."""
    return cell_facts(name, grade=True, solution=True, points=points, **more)


def cell_facts(name: str, **more: object) -> dict[str, dict[str, object]]:
    """The metadata by which nbgrader knows a cell."""
    kind = {"grade": False, "solution": False, "locked": False, "task": False}
    return {"nbgrader": {"schema_version": 3, **kind, "grade_id": name, **more}}


def gradebook(course: Course) -> Gradebook:
    """Open a course's gradebook."""
    return Gradebook(f"sqlite:///{course.directory / GRADEBOOK}")


def by_hand(
    course: Course, student: str, cell: str, points: float | None, extra: float | None = None
) -> None:
    """Enter points as formgrader does, which then takes the cell for looked at."""
    (name,) = course.exercises
    with gradebook(course) as book:
        grade = book.find_grade(cell, name, name, student)
        grade.manual_score, grade.extra_credit = points, extra
        grade.needs_manual_grade = False
        book.db.commit()


def marks(course: Course) -> dict[str, float]:
    """Return the marks of all students, as nbgrader has them."""
    with gradebook(course) as book:
        return {each.student.id: each.score for each in book.assignment_submissions(FIFTH)}


def exported_by_nbgrader(course: Course) -> dict[str, dict[str, str]]:
    """The rows of what `nbgrader export` writes, by student."""
    exported = course.directory.parent / "exported.csv"
    app = ExportApp(coursedir=CourseDirectory(root=str(course.directory)))
    with gradebook(course) as book:
        CleanCsv(parent=app, to=str(exported)).export(book)
    return {row["student_id"]: row for row in table(exported)}


def exported_to_lti(
    place: Path, students: Iterable[str], folder: Path
) -> tuple[Run, dict[str, float]]:
    """Export the marks of a place to LTI; return how that ended, and each student's score."""
    roster, scores = folder / "platform.csv", folder / "scores.json"
    roster.write_text("student_id,lti_user_id\n" + "".join(f"{it},{it}\n" for it in students))
    scores.unlink(missing_ok=True)
    run = attn("platform", "export", "lti", place, "--roster", roster, "--to", scores)
    return run, {each["userId"]: each["scoreGiven"] for each in json.loads(scores.read_text())}


def row_of(course: Course, student: str) -> dict[str, str]:
    """The line of a student in grades.csv."""
    (row,) = (each for each in table(results(course) / "grades.csv") if each["student"] == student)
    return row


def page_of(course: Course, student: str, ending: str = "html") -> str:
    """The page of a student, or with "index" that of the class; the mail, which ends with "txt"."""
    return (results(course) / "feedback" / f"{student}.{ending}").read_text(encoding="utf-8")


def delivered(course: Course, student: str) -> Path:
    """The page that nbgrader hands out."""
    (name,) = course.exercises
    return course.feedback(name, student) / f"{name}.html"


def needs_you(course: Course) -> list[dict[str, Any]]:
    """What waits for the instructor."""
    listed: list[dict[str, Any]] = json.loads((results(course) / "needs-you.json").read_text())[
        "needs_you"
    ]
    return listed


def results(course: Course) -> Path:
    """Where grading the course's one exercise has left its results."""
    (name,) = course.exercises
    return course.graded(name)


def table(path: Path) -> list[dict[str, str]]:
    """Read a CSV file."""
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def contents(course: Course) -> dict[str, bytes]:
    """Return every file of the course with its bytes."""
    return {
        path.relative_to(course.directory).as_posix(): path.read_bytes()
        for path in sorted(course.directory.rglob("*"))
        if path.is_file()
    }
