"""The grades that `nbgrader export` writes, as CSV that is safe with any name.

nbgrader writes the values between commas without quoting them. So a comma or a line break in a
student's id starts a new cell or row, and a spreadsheet runs a cell that begins like a formula. A
mark that is held back is an empty cell.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Container
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from nbgrader.plugins.export import CsvExportPlugin

from autograder.course.creation import read_course
from autograder.course.decisions import Decisions
from autograder.grading.class_task import FACTS
from autograder.reports.grades_csv import cell
from autograder.reports.roll import shown_names

WORDS = ("last_name", "first_name", "email")


class CleanCsv(CsvExportPlugin):
    """nbgrader's own export, with each text of a student's written as one quoted cell."""

    def export(self, gradebook: Any) -> None:
        """Write the grades to `self.to`, or to grades.csv when that is ""."""
        course = Path(self.parent.coursedir.root)
        super().export(_Quoted(gradebook, held_marks(course)))


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
    """What stands for a mark that is held back: an empty cell, whatever nbgrader computes of it."""

    def __sub__(self, other: float) -> _NoMark:
        return self

    def __gt__(self, other: float) -> bool:
        return True

    def __str__(self) -> str:
        return ""


def held_marks(directory: Path) -> frozenset[tuple[str, str]]:
    """Return the exercise and the student of each mark that is held back in a course."""
    if not (directory / FACTS).is_file():
        return frozenset()
    course = read_course(directory)
    return frozenset(
        (exercise, student)
        for exercise in course.exercises
        for student in Decisions.read(course, exercise).held
    )


class _Quoted:
    """A gradebook in which the students' texts are `_Word`."""

    def __init__(self, gradebook: Any, held: Container[tuple[str, str]] = ()) -> None:
        self._gradebook, self._held = gradebook, held
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
        found = self._gradebook.find_submission(assignment, str(student))
        if (assignment, str(student)) not in self._held:
            return found
        nothing = _NoMark()
        return SimpleNamespace(
            timestamp=found.timestamp, score=nothing, late_submission_penalty=nothing
        )
