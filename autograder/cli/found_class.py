"""What there is to grade at a path, and how its gradebook is written and read.

Imports little: grader processes start as soon as this is known, and the rest is imported then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from autograder.errors import KitError
from autograder.grading.class_task import ClassTask
from autograder.grading.folder_task import folder_task
from autograder.grading.graded_folder import is_course
from autograder.model.import_path import refuse_modules_in

if TYPE_CHECKING:
    from autograder.cli.student_files import Deliver
    from autograder.grading.grader_pool import GraderPool
    from autograder.grading.judged_class import JudgedClass
    from autograder.reports.gradebook_entry import ClassGradebook

# Puts the grades of a class where its course keeps them, and returns what is there then.
EnterGrades: TypeAlias = "Callable[[JudgedClass, GraderPool], ClassGradebook]"


@dataclass(frozen=True)
class FoundClass:
    """What there is to grade, how a gradebook gets the grades, and how it is read.

    `delivery` returns what puts a page that was just made where it is handed out from. `deliver`
    does so for students whose pages lie among the results. With `last_counts`, the gradebook has
    the points of the verdicts, and not of other attempts.
    """

    task: ClassTask
    enter: EnterGrades
    read: Callable[[], ClassGradebook]
    delivery: Callable[[], Deliver | None]
    deliver: Callable[[Sequence[str], GraderPool], None]
    last_counts: bool = True


def class_folder(path: Path) -> Path:
    """Return the absolute path of a class; raise `KitError` when it is none."""
    if path.is_file():
        raise KitError(
            "a class is a folder, and this is a file",
            place=str(path),
            cure="put it into a folder, named by its student (homework/ada.py), and grade that; "
            "a student checks one file with `attn check`",
        )
    if not path.is_dir():
        raise KitError(
            "there is no such folder",
            place=str(path),
            cure="name a folder of submissions, or a course",
        )
    path = path.absolute()  # grader processes work in another folder
    refuse_modules_in(path)
    return path


def found_class(
    path: Path, exercise: str | None, solutions: Path | None, output: Path | None
) -> FoundClass:
    """Return what there is to grade at `path`, which is absolute; raise `KitError` on bad input."""
    if is_course(path):
        return _in_course(path, exercise, solutions, output)
    from autograder.reports.gradebook_entry import ClassGradebook

    task = folder_task(path, exercise, solutions, output)
    return FoundClass(
        task,
        enter=lambda judged, pool: ClassGradebook(),
        read=ClassGradebook,
        delivery=lambda: None,
        deliver=lambda students, pool: None,
    )


def _in_course(
    path: Path, exercise: str | None, solutions: Path | None, output: Path | None
) -> FoundClass:
    from autograder.course.course_task import course_task  # only a course has nbgrader
    from autograder.course.delivered_page import PageDelivery, deliver_class
    from autograder.course.gradebook import write_gradebook
    from autograder.course.gradebook_entries import read_gradebook
    from autograder.course.graded_attempts import noted_attempts
    from autograder.course.intake import handed_in_at

    found = course_task(path, exercise, solutions, output)
    name = found.task.exercise.name

    def read() -> ClassGradebook:
        return read_gradebook(found.course, name)

    def enter(judged: JudgedClass, pool: GraderPool) -> ClassGradebook:
        course, facts = found.course, found.task.exercise
        times = {each.student: handed_in_at(each) for each in judged.submissions}
        notes = noted_attempts(course.graded(name), judged.outlines, times)
        counted = notes.counted(facts, judged.outlines, course.attempts, course.rules)
        write_gradebook(course, name, judged, pool, counted)
        notes.save()
        return read()

    def delivery() -> PageDelivery:
        return PageDelivery.into(found.course, name)

    def deliver(students: Sequence[str], pool: GraderPool) -> None:
        deliver_class(found.course, name, students, pool)

    only_last = found.course.attempts.only_the_last
    return FoundClass(found.task, enter, read, delivery, deliver, only_last)
