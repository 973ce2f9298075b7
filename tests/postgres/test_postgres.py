"""A course whose gradebook is in PostgreSQL has the same marks as one with a file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from nbgrader import api

from autograder.course.creation import Course
from course.changing_course import nbgrader
from demo.run import release
from demo.sample_class import hand_in
from support.gradebook_scores import scores
from support.released_course import (
    NAME,
    command,
    grade,
    graded_course,
    kit_course,
    released_course,
    result_of,
    sample_class,
)

STUDENTS = ("reference", "mistake_softmax_over_queries", "half_finished")
LINE = '# c.CourseDirectory.db_url = "postgresql://user@host/gradebook"'


def keep_marks_in(course: Course, database: str) -> None:
    file = course.directory / "nbgrader_config.py"
    text = file.read_text(encoding="utf-8")
    assert LINE in text
    file.write_text(text.replace(LINE, f"c.CourseDirectory.db_url = {database!r}"))


@pytest.fixture
def course(database: str, tmp_path: Path) -> Course:
    """A course that keeps its marks in the database, graded by two who both began at once."""
    made = kit_course(tmp_path / "course")
    keep_marks_in(made, database)
    release(made, NAME)
    for student in sample_class(*STUDENTS):
        hand_in(
            student, made.exercise(NAME), made.release(NAME), made.submitted(NAME, student.name)
        )
    both = [
        subprocess.Popen(command(made), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(2)
    ]
    said = [run.communicate()[0] for run in both]
    assert [run.returncode for run in both] == [0, 0], "".join(said)
    return made


def test_its_marks_are_those_of_a_course_with_a_file_and_points_by_hand_stay(
    course: Course, database: str, tmp_path: Path
) -> None:
    assert not (course.directory / "gradebook.db").exists()
    beside = graded_course(tmp_path / "beside", *STUDENTS)
    assert scores(course, NAME) == scores(beside, NAME)
    assert result_of(course).graded == result_of(beside).graded

    student = STUDENTS[1]
    with api.Gradebook(database, course.directory.name) as gradebook:
        cell = gradebook.find_grade("check_softmax", NAME, NAME, student)
        before, cell.manual_score = cell.score, 1.25
        gradebook.db.commit()
    assert grade(course).returncode == 0
    assert scores(course, NAME)[student]["check_softmax"] == 1.25 != before
    nbgrader("autograde", NAME, "--force", folder=course.directory)
    assert scores(course, NAME)[student]["check_softmax"] == 1.25


def test_a_database_that_is_not_there_is_told_without_its_password(tmp_path: Path) -> None:
    course = released_course(tmp_path / "course", sample_class(STUDENTS[0]))
    keep_marks_in(course, "postgresql+psycopg2://grace:swordfish@/nowhere?host=/nowhere")
    run = grade(course)
    assert run.returncode == 2
    assert "the gradebook's database does not answer" in run.stderr
    assert "swordfish" not in run.stdout + run.stderr
