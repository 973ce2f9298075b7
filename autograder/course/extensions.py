"""More time for single students, as nbgrader's own extensions: its late penalties follow them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from nbgrader import api
from sqlalchemy import select

from autograder.course.creation import Course
from autograder.course.hand_ins import CourseHandIns
from autograder.course.nbgrader_functions import parse_utc
from autograder.course.settings import open_gradebook, read_settings
from autograder.errors import KitError
from autograder.model.sanitize import terminal_line
from autograder.reports.student_record import time_words

_DAY = re.compile(r"\s*\d{4}-\d{2}-\d{2}\s*")


@dataclass(frozen=True)
class Extension:
    """The time (UTC) until which a student may hand in."""

    student: str
    until: datetime


def read_moment(text: str) -> datetime:
    """Return a time in UTC; a day alone means its end. Raise `KitError` when it is no time."""
    whole = f"{text.strip()} 23:59" if _DAY.fullmatch(text) else text.strip()
    try:
        found: datetime = parse_utc(whole)
    except Exception as error:  # the parser does not document what it raises
        raise KitError(
            f"{terminal_line(text, 60)!r} is not a time",
            place="--until",
            cure='write it as "2026-03-05 18:00 UTC", or a day alone for all of that day',
        ) from error
    return found


def extensions(course: Course, exercise: str) -> tuple[Extension, ...]:
    """Return the extensions that the gradebook has, by student; raise `KitError`."""
    with open_gradebook(course, read_settings(course), exercise) as (gradebook, notebook):
        if notebook.assignment.duedate is None:
            return ()
        rows = gradebook.db.scalars(
            select(api.SubmittedAssignment)
            .where(api.SubmittedAssignment.assignment_id == notebook.assignment_id)
            .where(api.SubmittedAssignment.extension.is_not(None))
            .order_by(api.SubmittedAssignment.student_id)
        )
        return tuple(Extension(row.student_id, row.duedate) for row in rows)


def extend(course: Course, exercise: str, students: Sequence[str], until: datetime | None) -> None:
    """Give `students` time until then, or (None) no more than everybody has.

    Who has not handed in yet gets an empty submission, as nbgrader keeps an extension there. Raise
    `KitError` when a student is not in the gradebook or the exercise has no deadline.
    """
    with open_gradebook(course, read_settings(course), exercise) as (gradebook, notebook):
        extension = _extension(exercise, notebook.assignment.duedate, until)
        for student in students:
            try:
                gradebook.find_student(student)
            except api.MissingEntry:
                raise _unknown(course, student) from None
        handed_in = CourseHandIns.of(course, exercise).folders
        for student in students:
            with gradebook.db.no_autoflush:  # nbgrader's new rows are whole only at the end
                row = gradebook.update_or_create_submission(exercise, student, extension=extension)
            grades = [grade for book in row.notebooks for grade in book.grades]
            empty = all(each.auto_score is None and each.manual_score is None for each in grades)
            if extension is None and row.timestamp is None and empty and student not in handed_in:
                gradebook.remove_submission(exercise, student)


def _extension(exercise: str, due: datetime | None, until: datetime | None) -> timedelta | None:
    if until is None:
        return None
    if due is None:
        raise KitError(
            f"{exercise} has no deadline, so nobody is late",
            place="the gradebook",
            cure="set one in formgrader, or with `nbgrader db assignment add NAME --duedate TIME`",
        )
    if until <= due:
        raise KitError(
            f"{time_words(until)} is not after the deadline, which is {time_words(due)}",
            place="--until",
            cure="name a later time; without a zone, it is in UTC",
        )
    return until - due


def _unknown(course: Course, student: str) -> KitError:
    return KitError(
        f"{terminal_line(student, 60)} is not in the gradebook's list of students",
        place=str(course.directory),
        cure="check the id; nbgrader adds a student with `nbgrader db student add ID`",
    )
