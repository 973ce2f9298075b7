"""A course in the middle of a term: with a question of its own, and three who have handed in."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
from nbformat.v4 import new_markdown_cell

from autograder.course.creation import Course, read_course
from course.changing_course import graded_by_hand
from demo.run import release
from demo.sample_class import hand_in
from support.built_once import built_once
from support.released_course import NAME, copied, grade, kit_course, sample_class

RIGHT, WRONG, LATE = "correct_einsum", "mistake_not_scaled", "correct_loops"
QUESTION, ANSWER = "discussion", "So that no token sees the future."
SECRET, COPY = "5ec2e7" * 21, "my <b>copy<b>"


def term_course(folder: Path) -> Course:
    """Make the course in `folder`, graded by `attn grade`."""
    return copied(read_course(built_once("term-graded", _make_graded) / "course"), folder)


def term_said() -> str:
    """What `attn grade` said when it graded the course."""
    return (built_once("term-graded", _make_graded) / "said.txt").read_text(encoding="utf-8")


def ungraded_term_course(folder: Path) -> Course:
    """Make the course in `folder`, as it was before anybody was graded."""
    return copied(read_course(built_once("term-handed-in", _make) / "course"), folder)


def hand_in_of(course: Course, student: str, work: str = "") -> None:
    """Hand in, in place of what was there, the work of a sample student, or that of another."""
    (made,) = sample_class(work or student)
    folder = course.submitted(NAME, student)
    shutil.rmtree(folder, ignore_errors=True)
    hand_in(made, course.exercise(NAME), course.release(NAME), folder)


def _make_graded(root: Path) -> None:
    run = grade(ungraded_term_course(root / "course"))
    assert run.returncode == 0, run.stdout + run.stderr
    (root / "said.txt").write_text(run.stdout, encoding="utf-8")


def _make(root: Path) -> None:
    course = kit_course(root / "course")
    with (course.directory / "nbgrader_config.py").open("a") as config:
        config.write('\nc.LateSubmissionPlugin.penalty_method = "zero"\n')
    ask(course.source(NAME) / f"{NAME}.ipynb")
    release(course, NAME)
    for student in (RIGHT, WRONG, LATE):
        hand_in_of(course, student)
    answer(course.submitted(NAME, LATE) / f"{NAME}.ipynb")
    _as_nbgrader_collects(course.submitted(NAME, WRONG), course.release(NAME))


def ask(notebook: Path) -> None:
    """Add a question that is graded by hand, as "Create Assignment" in JupyterLab marks it."""
    book = nbformat.read(notebook, as_version=4)
    facts = graded_by_hand(QUESTION, cell_type="markdown")
    book.cells.append(new_markdown_cell("Why is there a mask?", metadata=facts))
    nbformat.write(book, notebook)


def answer(notebook: Path) -> None:
    book = nbformat.read(notebook, as_version=4)
    book.cells[-1].source = ANSWER
    nbformat.write(book, notebook)


def _as_nbgrader_collects(folder: Path, released: Path) -> None:
    """Put beside the file that counts what comes through nbgrader, which asks by notebooks."""
    (folder / "timestamp.txt").write_text("2026-02-20 12:00:00.000000 UTC")
    (folder / "submission_secret.txt").write_text(SECRET)
    shutil.copy(released / f"{NAME}.ipynb", folder / f"{COPY}.ipynb")
