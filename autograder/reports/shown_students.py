"""How the class page shows students: each by a name, with a link to a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from autograder.model.student_folders import folders_of
from autograder.reports.feedback import page_name
from autograder.reports.roll import shown_names
from autograder.reports.student_record import NO_RECORDS, StudentRecords


class ShownStudent(NamedTuple):
    """The name of a student as it is shown, and the link to the page."""

    name: str
    page: str


def shown_students(
    students: Sequence[str], records: StudentRecords = NO_RECORDS
) -> Mapping[str, ShownStudent]:
    """Return how each of the `students` is shown, who are all of the class, in its order."""
    names = shown_names(students, records)
    return {
        student: ShownStudent(
            names[student], f"{folder}/{page_name(student)}" if folder else page_name(student)
        )
        for student, folder in zip(students, folders_of(len(students)), strict=True)
    }
