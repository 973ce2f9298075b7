"""What there is to grade at a path, and where its grades are kept.

Imports little: grader processes start as soon as this is known, and the rest is imported then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from autograder.errors import KitError
from autograder.grading.class_task import (
    WAITS,
    ClassTask,
    class_lock,
    ended_by_signals,
    folder_task,
    is_course,
)
from autograder.values.this_machine import refuse_modules_in

if TYPE_CHECKING:
    from autograder.cli.student_files import Deliver
    from autograder.grading.classroom import JudgedClass
    from autograder.grading.grader_pool import GraderPool
    from autograder.reports.roll import ClassGradebook


class ClassRecords(Protocol):
    """What is kept of a class beside its results: a gradebook, and pages that are handed out."""

    @property
    def last_counts(self) -> bool:
        """Whether the gradebook has the points of the verdicts, and not of other attempts."""

    def read(self) -> ClassGradebook:
        """Return what the gradebook has now."""

    def enter(self, judged: JudgedClass, pool: GraderPool) -> ClassGradebook:
        """Put the grades of a class into the gradebook, and return what is there then."""

    def delivery(self) -> Deliver | None:
        """Return what puts a page that was just made where it is handed out from."""

    def deliver(self, students: Sequence[str], pool: GraderPool) -> None:
        """Put there the pages of `students`, which lie among the results."""


@dataclass(frozen=True)
class FoundClass:
    """What there is to grade, and what opens the records of it.

    To open them raises `KitError` where grades would have no place. It takes long to import what
    opens those of a course.
    """

    task: ClassTask
    opened_records: Callable[[], ClassRecords]


@contextmanager
def opened_class(
    path: Path,
    exercise: str | None,
    solutions: Path | None,
    output: Path | None,
    say: Callable[[str], None],
) -> Iterator[FoundClass]:
    """Give what there is to grade at `path`, while no other run is at work on it.

    If one is, say so and wait for it. Raises `KitError` on bad input.
    """
    path = _class_folder(path)
    with ended_by_signals(), class_lock(path, lambda: say(WAITS)):
        yield found_class(path, exercise, solutions, output.absolute() if output else None)


def _class_folder(path: Path) -> Path:
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
    return FoundClass(folder_task(path, exercise, solutions, output), _NoRecords)


def _in_course(
    path: Path, exercise: str | None, solutions: Path | None, output: Path | None
) -> FoundClass:
    from autograder.course.students import course_task

    course, task = course_task(path, exercise, solutions, output)

    def opened() -> ClassRecords:
        from autograder.course.course_records import CourseRecords  # only a course has nbgrader

        return CourseRecords.opened(course, task.exercise)

    return FoundClass(task, opened)


class _NoRecords:
    """Those of a folder, which has none."""

    last_counts = True

    def read(self) -> ClassGradebook:
        from autograder.reports.roll import ClassGradebook

        return ClassGradebook()

    def enter(self, judged: JudgedClass, pool: GraderPool) -> ClassGradebook:
        return self.read()

    def delivery(self) -> None:
        return None

    def deliver(self, students: Sequence[str], pool: GraderPool) -> None:
        pass
