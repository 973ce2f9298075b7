"""Where in a platform's own table marks go: the column, the most points there, and what is kept.

- Canvas, `lib/gradebook_exporter.rb` and `gradebook_importer.rb`: headings Student, ID, SIS User
  ID, SIS Login ID, Section, then `Title (123)` for each assignment. The row that begins with
  "Points Possible" has the most points, "(read only)" where nothing may be imported. `EX` is a
  student who is excused, `N/A` one who does not have the assignment. Numbers may have a comma.
- Moodle, `mod/assign/gradingtable.php` and `feedback/offline/importgradeslib.php`: Identifier
  ("Participant 123"), Full name, Email address, Status, Grade, Maximum grade, "Grade can be
  changed", and more, all in the language of the site. The import wants the headings as they were.
  So the grade is known by its place: left of a column in which every number is the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.errors import KitError
from autograder.model.sanitize import clean_line
from autograder.platforms.csv_table import CsvTable

POINTS_POSSIBLE = "Points Possible"
KEPT = {"ex": "excused in Canvas", "n/a": "does not have the assignment in Canvas"}
_ASSIGNMENT = re.compile(r"(?P<title>.+) \((?P<number>\d+)\)")
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)?")


@dataclass(frozen=True)
class GradebookColumn:
    """A column for marks: its number, the most points there (None if unknown), rows to pass over.

    `kept` are values that say something of their own and stay, with what they say. `worksheet`
    says that the table is Moodle's.
    """

    number: int
    max_points: float | None
    passed_over: frozenset[int]
    kept: dict[str, str]
    worksheet: bool = False


def canvas_column(table: CsvTable, wanted: str | None) -> GradebookColumn:
    """Return the column of an assignment in a gradebook that Canvas exported.

    `wanted` is its heading, its title or its number; without it, there has to be just one. Raise
    `KitError` when there is no such column, or Canvas would not read it.
    """
    headings = table.headings
    if "ID" not in headings or "Section" not in headings:
        raise KitError(
            "this is not a gradebook that Canvas exported: it has no columns ID and Section",
            place=str(table.path),
            cure="in Canvas, open Grades, choose Export, and name that file",
        )
    found = {
        at: match for at, text in enumerate(headings) if (match := _ASSIGNMENT.fullmatch(text))
    }
    chosen = [
        at
        for at, match in found.items()
        if wanted in (None, headings[at], match["title"], match["number"])
    ]
    number = _only(chosen, [headings[at] for at in found], wanted, table)
    possible = next(
        (at for at, row in enumerate(table.rows) if at and POINTS_POSSIBLE in row[0].value), None
    )
    words = table.value(table.rows[possible], number) if possible else ""
    if "read only" in words:
        raise KitError(
            f"Canvas does not import the column {clean_line(headings[number], 80)!r}",
            place=str(table.path),
            cure="name the column of an assignment",
        )
    passed_over = frozenset(() if possible is None else range(1, possible + 1))
    return GradebookColumn(number, number_of(words), passed_over, KEPT)


def moodle_column(table: CsvTable, wanted: str | None) -> GradebookColumn:
    """Return the column of the grade in a grading worksheet of Moodle.

    `wanted` is its heading; without it, its place tells. Raise `KitError` when that is not clear.
    """
    headings = table.headings
    if wanted is not None:
        chosen = [at for at, text in enumerate(headings) if text == wanted]
    else:
        chosen = [at for at in range(1, len(headings) - 1) if _is_grade(table, at)]
    number = _only(chosen, headings, wanted, table)
    return GradebookColumn(number, _same_number(table.column(number + 1)), frozenset(), {}, True)


def number_of(text: str) -> float | None:
    """Return the number that a cell holds, with a point or a comma; None for anything else."""
    text = text.strip()
    return float(text.replace(",", ".")) if _NUMBER.fullmatch(text) else None


def _is_grade(table: CsvTable, number: int) -> bool:
    """Whether a column may be the grade: numbers or nothing, and right of it the most points."""
    most = _same_number(table.column(number + 1))
    values = [value for value in table.column(number) if value not in ("", "-")]
    numbers = [number_of(value) for value in values]
    return most is not None and most > 0 and all(n is not None and n <= most for n in numbers)


def _same_number(values: Sequence[str]) -> float | None:
    """Return the number that stands in every cell, None when they differ or one is no number."""
    numbers = {number_of(value) for value in values}
    return numbers.pop() if len(numbers) == 1 else None


def _only(chosen: Sequence[int], known: Sequence[str], wanted: str | None, table: CsvTable) -> int:
    if len(chosen) == 1:
        return chosen[0]
    which = "the marks" if wanted is None else f"{clean_line(wanted, 80)!r}"
    names = ", ".join(clean_line(name, 60) for name in known[:20]) or "none"
    raise KitError(
        f"{'no column' if not chosen else 'more than one column'} could be that of {which}",
        place=str(table.path),
        cure=f"name it with --column; there are: {names}",
    )
