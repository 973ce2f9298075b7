"""The grades that `nbgrader export` writes, as CSV that is safe with any name.

nbgrader writes the values between commas without quoting them. So a comma or a line break in a
student's id starts a new cell or row, and a spreadsheet runs a cell that begins like a formula.
Where there is no mark, cells are empty, and the log says why.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Container
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from nbgrader.api import MissingEntry
from nbgrader.converters import NbGraderException
from nbgrader.plugins.export import CsvExportPlugin

from autograder.course.creation import read_course
from autograder.course.gradebook_entries import not_marks
from autograder.errors import KitError
from autograder.grading.class_task import FACTS
from autograder.reports.grades_csv import cell
from autograder.reports.roll import shown_names
from autograder.values.sanitize import clean_line

WORDS = ("last_name", "first_name", "email")


class CleanCsv(CsvExportPlugin):
    """nbgrader's own export, with each text of a student's written as one quoted cell."""

    def export(self, gradebook: Any) -> None:
        """Write the grades to `self.to`, or to grades.csv when that is ""."""
        root, none = Path(self.parent.coursedir.root), dict[tuple[str, str], str]()
        try:
            if (root / FACTS).is_file():
                none = dict(not_marks(read_course(root), gradebook))
        except KitError as error:
            # Only for this exception do nbgrader's apps show the log and exit with an error.
            raise NbGraderException(str(error)) from error
        for (exercise, student), why in sorted(none.items()):
            self.log.warning("%s: no mark of %s: %s", exercise, clean_line(student, 60), why)
        super().export(_Quoted(gradebook, none))


class _Word(str):
    """A string that formats itself, in an f-string or template, as the CSV cell of `shown`."""

    shown: str

    def __new__(cls, word: str, shown: str) -> _Word:
        made = super().__new__(cls, word)
        made.shown = shown
        return made

    def __format__(self, spec: str) -> str:
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow([cell(self.shown)])
        return "" if not self else line.getvalue()


def _words(student: Any) -> list[tuple[str, str]]:
    return [(name, getattr(student, name) or "") for name in WORDS]


class _NoMark(float):
    """What stands where there is no mark: an empty cell, whatever nbgrader computes of it."""

    def __sub__(self, other: float) -> _NoMark:
        return self

    def __gt__(self, other: float) -> bool:
        return True

    def __str__(self) -> str:
        return ""


class _Quoted:
    """A gradebook in which the students' texts are `_Word`."""

    def __init__(self, gradebook: Any, no_marks: Container[tuple[str, str]] = ()) -> None:
        self._gradebook, self._no_marks = gradebook, no_marks
        self.assignments = gradebook.assignments
        names = shown_names(student.id for student in gradebook.students)
        self.students = [
            SimpleNamespace(
                id=_Word(student.id, names[student.id]),
                **{name: _Word(word, word) for name, word in _words(student)},
            )
            for student in gradebook.students
        ]

    def find_submission(self, assignment: str, student: str) -> Any:
        if (assignment, str(student)) not in self._no_marks:
            return self._gradebook.find_submission(assignment, str(student))
        nothing, at = _NoMark(), None
        with suppress(MissingEntry):  # what was handed in could not be judged so far
            at = self._gradebook.find_submission(assignment, str(student)).timestamp
        return SimpleNamespace(timestamp=at, score=nothing, late_submission_penalty=nothing)
