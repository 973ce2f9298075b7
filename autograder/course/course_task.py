"""A course to be graded: who has handed in, and where results go.

Imports little: the gradebook is opened when grader processes have started (`course_records`).
"""

from __future__ import annotations

from pathlib import Path

from autograder.course.creation import Course, read_course
from autograder.course.students import CourseHandIns
from autograder.errors import KitError
from autograder.grading.class_task import ClassTask


def course_task(
    path: Path, exercise: str | None, solutions: Path | None, output: Path | None
) -> tuple[Course, ClassTask]:
    """Return the course at `path`, and what there is to grade; raise `KitError` on bad input."""
    course = read_course(path)
    if solutions and solutions.resolve() != course.solutions:
        raise KitError(
            "the course already says where its solutions are, and --solutions names another place",
            place=str(path),
            cure=f"leave out --solutions; this course uses {course.solutions}",
        )
    facts = course.only_exercise(exercise)
    found = CourseHandIns.of(course, facts.name)
    if not found.every:
        raise KitError(
            f"nobody has handed in {facts.name}",
            place=str(path / "submitted"),
            cure=f"collect the submissions first: each goes into submitted/STUDENT/{facts.name}/",
        )
    target = output or course.graded(facts.name)
    named = target.resolve() != course.graded(facts.name).resolve()
    secret, rules = course.secret_folder, course.rules
    return course, ClassTask(
        facts, found.every, path, target, named, secret, rules, groups=found.groups
    )
