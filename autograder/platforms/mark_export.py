"""Filling the marks of a class into a copy of a platform's own table, each row by who it is about.

Rows are matched by identifiers, never by names. A cell is left as it is when there is no mark, when
it is not clear whose the row is, and when it says something of its own.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from autograder.platforms.csv_table import (
    ClassList,
    CsvTable,
    identities,
    read_class_list,
    read_table,
)
from autograder.reports.roll import (
    NO_RECORD,
    ClassGradebook,
    EnteredCell,
    GradebookEntry,
    entry_of,
    max_points_of,
    points_of,
)
from autograder.values.sanitize import clean_line
from autograder.values.symbols import number, why_not_graded
from autograder.values.verdict import Verdict

# The marks of a class, as another gradebook gets them: a mark, or the reason why there is none.
#
# A mark is the gradebook's, as on every page of ours. What is not known is never a zero: who was
# not graded, or waits for a person to grade a question, has no mark.


@dataclass(frozen=True)
class StudentMark:
    """A student's points, or None and why; `max_points` without extra credit."""

    student: str
    points: float | None
    max_points: float
    reason: str = ""


def class_marks(
    verdicts: Sequence[Verdict], gradebook: ClassGradebook
) -> Mapping[str, StudentMark]:
    """Return the mark of everybody who has a verdict or an entry in the gradebook, by student."""
    marks = {verdict.student: _mark(verdict, gradebook) for verdict in verdicts}
    for student, entry in gradebook.entries.items():
        # Else graded by `nbgrader autograde`, or not at all.
        if student not in marks and not gradebook.has_only_time(student):
            mark = StudentMark(student, entry.points, entry.max_points)
            no_mark = gradebook.no_mark(student)
            marks[student] = mark if no_mark else _complete(mark, entry)
    return {student: _given_out(mark, gradebook) for student, mark in marks.items()}


def _given_out(mark: StudentMark, gradebook: ClassGradebook) -> StudentMark:
    """Return the mark, or none where what the gradebook has is none."""
    held = gradebook.records.get(mark.student, NO_RECORD).held
    entered = mark.points is not None and mark.student in gradebook.entries
    why = gradebook.no_mark(mark.student) if held or entered else ""
    return replace(mark, points=None, reason=why) if why else mark


def _mark(verdict: Verdict, gradebook: ClassGradebook) -> StudentMark:
    entry = entry_of(verdict, gradebook.entries)
    points = points_of(verdict, gradebook.entries)
    most = max_points_of(verdict, gradebook.entries)
    why = why_not_graded(verdict).removesuffix(".") if points is None else ""
    mark = StudentMark(verdict.student, points, most, why)
    return _complete(mark, entry)


def _complete(mark: StudentMark, entry: GradebookEntry | None) -> StudentMark:
    """Return the mark, or none as long as somebody has to grade a part of it."""
    waiting = [cell for cell in entry.cells if cell.open] if entry else []
    if mark.points is None or not waiting:
        return mark
    unasked = [cell for cell in waiting if not cell.asked]
    words = [
        _waiting([cell for cell in waiting if cell.asked], "not graded yet"),
        _waiting(unasked, "not in the release that was handed in"),
    ]
    return replace(mark, points=None, reason=", ".join(filter(None, words)))


def _waiting(cells: Sequence[EnteredCell], what: str) -> str:
    first = f"`{cells[0].shown_name}` is" if len(cells) == 1 else f"{len(cells)} questions are"
    return f"{first} {what}" if cells else ""


# Where in a platform's own table marks go: the column, the most points there, and what is kept.
#
# - Canvas, `lib/gradebook_exporter.rb` and `gradebook_importer.rb`: headings Student, ID, SIS User
#   ID, SIS Login ID, Section, then `Title (123)` for each assignment. The row that begins with
#   "Points Possible" has the most points, "(read only)" where nothing may be imported. `EX` is a
#   student who is excused, `N/A` one who does not have the assignment. Numbers may have a comma.
# - Moodle, `mod/assign/gradingtable.php` and `feedback/offline/importgradeslib.php`: Identifier
#   ("Participant 123"), Full name, Email address, Status, Grade, Maximum grade, "Grade can be
#   changed", and more, all in the language of the site. The import wants the headings as they were.
#   So the grade is known by its place: left of a column in which every number is the same.

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
        raise table.wrong(
            "this is not a gradebook that Canvas exported: it has no columns ID and Section",
            "in Canvas, open Grades, choose Export, and name that file",
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
        fact = f"Canvas does not import the column {clean_line(headings[number], 80)!r}"
        raise table.wrong(fact, "name the column of an assignment")
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
    found = "no column" if not chosen else "more than one column"
    cure = f"name it with --column; there are: {names}"
    raise table.wrong(f"{found} could be that of {which}", cure)


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
    cure = f"set the assignment there to {number(most)} points and export it again"
    if not scale:
        fact = f"the exercise has {number(most)} points, and the column has {number(there)}"
        cure += ", or add --scale to have the marks converted"
        raise table.wrong(fact, cure, column.number)
    if not there:
        raise table.wrong("the column has 0 points, so every mark would be 0", cure, column.number)
    return there / most


def _written(points: float, comma: bool) -> str:
    text = f"{round(points, 4) + 0.0:.10g}"  # as in grades.csv; -0 is 0
    return text.replace(".", ",") if comma else text


# The marks of a class as scores of LTI 1.3, for a program that sends them: nothing is sent here.
#
# A score is the object that "Assignment and Grade Services 2.0" of 1EdTech posts to a platform,
# with the media type application/vnd.ims.lis.v1.score+json
# (https://www.imsglobal.org/spec/lti-ags/v2p0). Who has no mark has no object: one without a
# score would clear what the platform has.

LONGEST_USER = 255  # characters of a `sub`, as OpenID Connect has it
_NO_USER = "has no user of the platform in the roster"


@dataclass(frozen=True)
class LtiScores:
    """The scores as JSON, how many there are, and whom there is none for.

    `problems` are marks without a score, `notes` are students of the roster without a mark.
    """

    text: str
    count: int
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def read_users(roster: Path, id_column: str | None, user_column: str) -> Mapping[str, str]:
    """Return the platform's user of each student, exactly as it is written; "" for none.

    Raise `KitError` when the roster has no such column, or two users for one student.
    """
    students, table = read_class_list(roster, id_column), read_table(roster)
    if user_column not in table.headings:
        raise table.wrong(
            f"the roster has no column {clean_line(user_column, 80)!r} with the platform's users",
            "add it, or name the column that has them with --user-column: "
            + ", ".join(clean_line(each, 60) for each in table.headings[:20]),
        )
    if (columns := table.headings.count(user_column)) > 1:
        fact = f"the roster has {columns} columns {clean_line(user_column, 80)!r}"
        cure = "leave the one with the platform's users, or give the other another heading"
        raise table.wrong(fact, cure)
    student_at, user_at = (table.headings.index(name) for name in (students.ids, user_column))
    found: dict[str, set[str]] = defaultdict(set)
    for row in table.rows[1:]:
        if student := table.value(row, student_at):
            found[student] |= {user} if (user := table.value(row, user_at)) else set()
    for student, users in found.items():
        if len(users) > 1:
            fact = f"{clean_line(student, 80)} has {len(users)} users in the roster"
            raise table.wrong(fact, "leave the one that the platform knows")
    return {student: next(iter(users), "") for student, users in found.items()}


def lti_scores(
    marks: Mapping[str, StudentMark], users: Mapping[str, str], moment: datetime
) -> LtiScores:
    """Return a score for every mark; `moment` is when the marks were taken from the gradebook."""
    owners = Counter(user for user in users.values() if user)
    timestamp = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    scores: list[dict[str, object]] = []
    problems: list[str] = []
    for student, mark in sorted(marks.items()):
        user = users.get(student, "")
        if reason := _no_score(mark, user, owners[user]):
            problems.append(f"{clean_line(student, 80)}: {reason}.")
            continue
        scores.append(
            {
                "userId": user,
                "scoreGiven": mark.points,
                "scoreMaximum": mark.max_points,
                "timestamp": timestamp,
                "activityProgress": "Completed",
                "gradingProgress": "FullyGraded",
            }
        )
    notes = [f"{clean_line(each, 80)}: no mark." for each in sorted({*users} - {*marks})]
    text = json.dumps(scores, indent=2) + "\n"
    return LtiScores(text, len(scores), tuple(problems), tuple(notes))


def _no_score(mark: StudentMark, user: str, owners: int) -> str:
    """Return why there is no score for a mark; "" when there is one."""
    if mark.points is None:
        return f"no mark: {mark.reason}"
    if not user:
        return _NO_USER
    if owners > 1:
        return f"{owners} students have the same user in the roster"
    if len(user) > LONGEST_USER or not user.isprintable():
        return "what the roster has is no user of a platform"
    if mark.points < 0 or mark.max_points <= 0:
        return "a score is at least 0, and the most points are more than 0"
    return ""
