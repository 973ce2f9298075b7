"""A course to be graded: who has handed in, and where results and grades go."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autograder.course.creation import Course, read_course
from autograder.course.settings import open_gradebook, read_settings
from autograder.course.stale_release import refuse_stale_release
from autograder.errors import KitError
from autograder.grading.class_task import ClassTask
from autograder.grading.roster import course_roster


@dataclass(frozen=True)
class CourseTask:
    """A course, and the part of it that is graded."""

    course: Course
    task: ClassTask


def course_task(
    path: Path, exercise: str | None, solutions: Path | None, output: Path | None
) -> CourseTask:
    """Return what is to be graded in the course at `path`; raise `KitError` on bad input.

    An exercise that has not been released, or was released with other steps or points, is refused
    here, before anybody is judged.
    """
    course = read_course(path)
    if solutions and solutions.resolve() != course.solutions:
        raise KitError(
            "the course already says where its solutions are, and --solutions names another place",
            place=str(path),
            cure=f"leave out --solutions; this course uses {course.solutions}",
        )
    if exercise is None and len(course.exercises) != 1:
        raise KitError(
            "the course has several exercises",
            place=str(path),
            cure=f"add --exercise with one of: {', '.join(course.exercises)}",
        )
    facts = course.exercise(exercise or course.exercises[0])
    students = course.students(facts.name)
    if not students:
        raise KitError(
            f"nobody has handed in {facts.name}",
            place=str(path / "submitted"),
            cure=f"collect the submissions first: each goes into submitted/STUDENT/{facts.name}/",
        )
    # Without a release that fits there is no place for grades: say so before grading, not after.
    with open_gradebook(course, read_settings(course), facts.name) as (_, notebook):
        refuse_stale_release(course, facts, notebook)
    folders = [(student, course.submitted(facts.name, student)) for student in students]
    target = output or course.graded(facts.name)
    hand_ins = course_roster(folders)
    task = ClassTask(
        facts,
        hand_ins,
        path,
        target,
        output is not None,
        course.secret_folder,
        course.rules,
    )
    return CourseTask(course, task)
