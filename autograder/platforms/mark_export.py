"""Filling the marks of a class into a copy of a platform's own table, each row by who it is about.

Rows are matched by identifiers, never by names. A cell is left as it is when there is no mark, when
it is not clear whose the row is, and when it says something of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from autograder.errors import KitError
from autograder.model.sanitize import clean_line
from autograder.model.symbols import number
from autograder.platforms.class_list import ClassList, identities
from autograder.platforms.csv_table import CsvTable
from autograder.platforms.gradebook_column import GradebookColumn
from autograder.platforms.mark import StudentMark


@dataclass(frozen=True)
class FilledTable:
    """A filled copy: its bytes, the marks in it by student, and what was not filled in.

    `problems` are marks that did not get into the table, `notes` are rows without a mark.
    """

    content: bytes
    filled: Mapping[str, str]
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def fill(
    table: CsvTable,
    column: GradebookColumn,
    marks: Mapping[str, StudentMark],
    students: ClassList,
    *,
    scale: bool = False,
) -> FilledTable:
    """Return the table with the marks; `students` says which identifiers are whose.

    With `scale`, marks are converted to the most points of the column. Raise `KitError` when those
    differ from the exercise's, and nobody has said so.
    """
    factor = _factor(table, column, marks, scale)
    rows, problems, notes = _rows_of(table, column, students)
    values: dict[tuple[int, int], str] = {}
    filled: dict[str, str] = {}
    for student in sorted({*marks, *rows}):
        mark, own = marks.get(student), rows.get(student, [])
        reason = _obstacle(table, column, mark, own)
        if mark is None or mark.points is None or reason:
            told = problems if mark else notes
            told.append(f"{clean_line(student, 80)}: {reason}.")
            continue
        text = _written(mark.points * factor, table.decimal_comma)
        values[own[0], column.number] = filled[student] = text
        most = column.max_points
        if most is not None and mark.points * factor > most:
            notes.append(
                f"{clean_line(student, 80)}: {text} is more than the {number(most)} points there, "
                "which the platform may refuse."
            )
    return FilledTable(table.filled(values), filled, tuple(problems), tuple(notes))


def _rows_of(
    table: CsvTable, column: GradebookColumn, students: ClassList
) -> tuple[dict[str, list[int]], list[str], list[str]]:
    """Return the rows of each student, and what is to be told of rows that are nobody's."""
    rows: dict[str, list[int]] = defaultdict(list)
    problems: list[str] = []
    notes: list[str] = []
    for at, person in enumerate(identities(table, worksheet=column.worksheet), 1):
        if at in column.passed_over:
            continue
        found = students.find(person, by_name=False)
        if found.student:
            rows[found.student].append(at)
        else:
            known = "several" in found.reason
            name = person.name or next(iter(table.rows[at])).value
            reason = found.reason if known else "nobody in the class has these identifiers"
            told = problems if known else notes
            told.append(f"row {at + 1} ({clean_line(name, 80)}): {reason}.")
    return rows, problems, notes


def _obstacle(
    table: CsvTable, column: GradebookColumn, mark: StudentMark | None, rows: list[int]
) -> str:
    """Say why a student's mark cannot be filled in; "" when it can."""
    if mark is None:
        return "no mark, and the cell stays as it is"
    if not rows:
        return "is in no row of the table, by none of the identifiers"
    if len(rows) > 1:
        return f"could be in several rows ({', '.join(str(at + 1) for at in rows)})"
    if mark.points is None:
        return f"no mark, and the cell stays as it is: {mark.reason}"
    row = table.rows[rows[0]]
    if len(row) <= column.number:
        return f"row {rows[0] + 1} of the table is too short"
    return column.kept.get(table.value(row, column.number).casefold(), "")


def _factor(
    table: CsvTable, column: GradebookColumn, marks: Mapping[str, StudentMark], scale: bool
) -> float:
    most = max((mark.max_points for mark in marks.values()), default=0.0)
    there = column.max_points
    if there is None or not most or there == most:
        return 1.0
    if not scale:
        raise KitError(
            f"the exercise has {number(most)} points, and the column has {number(there)}",
            place=f"{table.path}, column {clean_line(table.headings[column.number], 80)}",
            cure=f"set the assignment there to {number(most)} points and export it again, or add "
            "--scale to have the marks converted",
        )
    if not there:
        raise KitError(
            "the column has 0 points, so every mark would be 0",
            place=f"{table.path}, column {clean_line(table.headings[column.number], 80)}",
            cure=f"set the assignment there to {number(most)} points and export it again",
        )
    return there / most


def _written(points: float, comma: bool) -> str:
    text = f"{round(points, 4) + 0.0:.10g}"  # as in grades.csv; -0 is 0
    return text.replace(".", ",") if comma else text
