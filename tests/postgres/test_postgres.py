"""A course whose gradebook is in PostgreSQL has the same marks as one with a file."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from nbgrader import api

from autograder.course.creation import Course, create_course
from demo.sample_class import hand_in
from support.gradebook_scores import scores
from support.released_course import (
    NAME,
    ROOT,
    command,
    grade,
    released_course,
    result_of,
    sample_class,
)

STUDENTS = sample_class("reference", "mistake_softmax_over_queries", "half_finished")
LINE = '# c.CourseDirectory.db_url = "postgresql://user@host/gradebook"'


def nbgrader(course: Course, *words: str) -> None:
    programs = Path(sys.executable).parent
    run = subprocess.run(
        [str(programs / "nbgrader"), *words],
        cwd=course.directory,
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"},
    )
    assert run.returncode == 0, run.stderr


@pytest.fixture
def course(database: str, tmp_path: Path) -> Course:
    """A course that keeps its marks in the database, released and handed in."""
    made = create_course(
        tmp_path / "course",
        solutions=ROOT / "solutions",
        assignments=ROOT / "assignments",
        exercises=(NAME,),
    )
    file = made.directory / "nbgrader_config.py"
    text = file.read_text(encoding="utf-8")
    assert LINE in text
    file.write_text(text.replace(LINE, f"c.CourseDirectory.db_url = {database!r}"))
    nbgrader(made, "generate_assignment", NAME)
    for student in STUDENTS:
        hand_in(
            student, made.exercise(NAME), made.release(NAME), made.submitted(NAME, student.name)
        )
    return made


def test_its_marks_are_those_of_a_course_with_a_file(course: Course, tmp_path: Path) -> None:
    run = grade(course)
    assert run.returncode == 0, run.stdout + run.stderr
    assert not (course.directory / "gradebook.db").exists()
    beside = released_course(tmp_path / "beside", STUDENTS)
    assert grade(beside).returncode == 0
    assert scores(course, NAME) == scores(beside, NAME)
    assert result_of(course).graded == result_of(beside).graded


def test_points_by_hand_stay_and_nbgraders_own_command_finds_them(
    course: Course, database: str
) -> None:
    assert grade(course).returncode == 0
    name = STUDENTS[1].name
    with api.Gradebook(database, course.directory.name) as gradebook:
        cell = gradebook.find_grade("check_softmax", NAME, NAME, name)
        before, cell.manual_score = cell.score, 1.25
        gradebook.db.commit()
    assert grade(course).returncode == 0
    assert scores(course, NAME)[name]["check_softmax"] == 1.25 != before
    nbgrader(course, "autograde", NAME, "--force")
    assert scores(course, NAME)[name]["check_softmax"] == 1.25


def test_two_runs_at_once_grade_everybody_once(course: Course) -> None:
    with ThreadPoolExecutor() as both:
        runs = list(
            both.map(
                lambda _: subprocess.run(command(course), capture_output=True, text=True), range(2)
            )
        )
    assert [run.returncode for run in runs] == [0, 0], "".join(run.stderr for run in runs)
    assert len(scores(course, NAME)) == len(STUDENTS)


def test_a_database_that_is_not_there_is_told_without_its_password(course: Course) -> None:
    file = course.directory / "nbgrader_config.py"
    text = file.read_text(encoding="utf-8")
    (line,) = (each for each in text.splitlines() if each.startswith("c.CourseDirectory.db_url"))
    gone = "postgresql+psycopg2://grace:swordfish@/nowhere?host=/nowhere"
    file.write_text(text.replace(line, f"c.CourseDirectory.db_url = {gone!r}"), encoding="utf-8")
    run = grade(course)
    assert run.returncode == 2
    assert "the gradebook's database does not answer" in run.stderr
    assert "swordfish" not in run.stdout + run.stderr
