"""The grades that `nbgrader export` writes, as CSV that is safe with any name.

nbgrader writes the values between commas without quoting them. So a comma or a line break in a
student's id starts a new cell or row, and a spreadsheet runs a cell that begins like a formula.
"""

from __future__ import annotations

import csv
import io
from types import SimpleNamespace
from typing import Any

from nbgrader.plugins.export import CsvExportPlugin

from autograder.reports.grades_csv import cell
from autograder.reports.roll import shown_names

WORDS = ("last_name", "first_name", "email")


class CleanCsv(CsvExportPlugin):
    """nbgrader's own export, with each text of a student's written as one quoted cell."""

    def export(self, gradebook: Any) -> None:
        """Write the grades to `self.to`, or to grades.csv when that is ""."""
        super().export(_Quoted(gradebook))


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


class _Quoted:
    """A gradebook in which the students' texts are `_Word`."""

    def __init__(self, gradebook: Any) -> None:
        self._gradebook = gradebook
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
        return self._gradebook.find_submission(assignment, str(student))
