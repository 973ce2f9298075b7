"""The grades that `nbgrader export` writes, as CSV that is safe with any name.

nbgrader writes the values between commas without quoting them. So a comma or a line break in a
student's id starts a new cell or row, and a spreadsheet runs a cell that begins like a formula.
Where there is no mark, cells are empty, and the log says why.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
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
COLUMNS = (
    *("assignment", "duedate", "timestamp", "student_id", *WORDS),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)


class CleanCsv(CsvExportPlugin):
    """The rows and columns of nbgrader's own export, each text of a student's as one cell."""

    def export(self, gradebook: Any) -> None:
        """Write the grades to `self.to`, or to grades.csv when that is ""."""
        none = self._not_marks(gradebook)
        for (exercise, student), why in sorted(none.items()):
            self.log.warning("%s: no mark of %s: %s", exercise, clean_line(student, 60), why)
        names = shown_names(student.id for student in gradebook.students)
        target = self.to or "grades.csv"
        self.log.info("Exporting grades to %s", target)
        with open(target, "w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(COLUMNS)
            for assignment in gradebook.assignments:
                for student in gradebook.students:
                    if self._is_asked_for(assignment.name, student.id):
                        words = [cell(getattr(student, name) or "") for name in WORDS]
                        at, *marks = _marks(gradebook, assignment.name, student.id, none)
                        head = assignment.name, assignment.duedate, at, cell(names[student.id])
                        rows.writerow((*head, *words, *marks, assignment.max_score))

    def _is_asked_for(self, assignment: str, student: str) -> bool:
        asked = ((assignment, self.assignment), (student, self.student))
        return all(not wanted or name in map(str, wanted) for name, wanted in asked)

    def _not_marks(self, gradebook: Any) -> Mapping[tuple[str, str], str]:
        root = Path(self.parent.coursedir.root)
        try:
            return not_marks(read_course(root), gradebook) if (root / FACTS).is_file() else {}
        except KitError as error:
            # Only for this exception do nbgrader's apps show the log and exit with an error.
            raise NbGraderException(str(error)) from error


def _marks(
    gradebook: Any, assignment: str, student: str, none: Mapping[tuple[str, str], str]
) -> tuple[Any, Any, Any, Any]:
    """Return when work was handed in, its score, what being late costs, and what is left."""
    at, score, penalty = None, 0.0, 0.0
    with suppress(MissingEntry):  # who has handed in nothing has no point
        found = gradebook.find_submission(assignment, student)
        at, score, penalty = found.timestamp, found.score, found.late_submission_penalty
    if (assignment, student) in none:
        return at, None, None, None
    return at, score, penalty, max(0.0, score - penalty)
