"""A course as something to grade: who has handed in, and where results and grades go."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autograder.course.creation import Course, read_course
from autograder.course.settings import open_gradebook, read_settings
from autograder.errors import KitError
from autograder.grading.class_task import ClassTask
from autograder.grading.roster import course_roster


@dataclass(frozen=True)
class CourseTask:
    """A course, and what of it is graded."""

    course: Course
    task: ClassTask


def course_task(
    path: Path, exercise: str | None, solutions: Path | None, output: Path | None
) -> CourseTask:
    """Return what there is to grade in the course at `path`; raise `KitError` on bad input.

    An exercise that is not released is refused here, before anybody is judged.
    """
    course = read_course(path)
    if solutions and solutions.resolve() != course.solutions:
        raise KitError(
            "a course says itself where its solutions are, and --solutions names another place",
            place=str(path),
            cure=f"leave --solutions out; the course's are in {course.solutions}",
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
            cure=f"collect first, so that there are submitted/STUDENT/{facts.name}/ folders",
        )
    # A course that is not released has no place for grades: better said before than after.
    with open_gradebook(course, read_settings(course), facts.name):
        pass
    folders = [(student, course.submitted(facts.name, student)) for student in students]
    target = output or course.graded(facts.name)
    hand_ins = course_roster(folders)
    task = ClassTask(facts, hand_ins, path, target, output is not None, course.secret_folder)
    return CourseTask(course, task)
