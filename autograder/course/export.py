"""The grades that `nbgrader export` writes, as CSV that holds whatever a name holds.

nbgrader puts the values between commas as they are, so a comma or a line break in a
student's id makes a cell or a row, and a spreadsheet runs one that begins like a formula.
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
    """nbgrader's own export, with the students' words written as one cell each."""

    def export(self, gradebook: Any) -> None:
        """Write the grades to `self.to`, grades.csv when it is ""."""
        super().export(_Quoted(gradebook))


class _Word(str):
    """A word that is itself, and a cell of CSV that says `shown` where it is put into a line."""

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
    """A gradebook whose students' words are `_Word`."""

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
