"""The grades of a class as CSV, for a spreadsheet or a learning platform.

A spreadsheet runs a cell that begins like a formula, and a student can put a
formula into a file name or an error message. Such cells get an apostrophe in front.
A submission that was not graded has empty points, never 0.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

from autograder.model.exercise import Exercise
from autograder.model.files import write_whole
from autograder.model.sanitize import clean_line
from autograder.model.verdict import Verdict
from autograder.reports.advice import first_line
from autograder.reports.gradebook_entry import (
    NO_ENTRIES,
    GradebookEntries,
    entry_of,
    max_points_of,
    points_of,
    reasons_of,
    step_points,
)
from autograder.reports.roll import class_roll, shown_names
from autograder.reports.student_record import (
    NO_RECORD,
    NO_RECORDS,
    StudentRecord,
    StudentRecords,
    held_words,
    judged_time,
    time_words,
)

# Full-width signs also begin a formula in a Japanese or Chinese setting. A spreadsheet that
# splits at semicolons begins a new cell after each one, even inside quotes.
FORMULA = re.compile(r"(^|;)(\s*)(?=[=+\-@＝＋－＠])")
LONGEST, LONGEST_REASON = 300, 3_000


def grades_csv(
    exercise: Exercise,
    verdicts: Sequence[Verdict],
    entries: GradebookEntries = NO_ENTRIES,
    records: StudentRecords = NO_RECORDS,
) -> str:
    """Return the grades as CSV text: a row of names, then one row for each student.

    The columns are: student, points, max_points, one for the points of each step, chain (the
    outcome end to end), diagnosis (the first thing to look at), protection, code_hash,
    automatic_points (those of the code), reason (why the points are others), and what is known of
    the student: name, group, file, handed_in, late (in seconds), graded (when), by (which kit and
    Python). Points are those of the gradebook, where it has `entries`; a mark that is held back is
    left out, since this goes elsewhere. Raise `KitError` when a verdict is not about this exercise.
    """
    steps = [step.name for step in exercise.steps]
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(
        ["student", "points", "max_points", *steps, "chain", "diagnosis", "protection", "code_hash"]
        + ["automatic_points", "reason", "name", "group", "file", "handed_in", "late"]
        + ["graded", "by"]
    )
    roll = class_roll(exercise, verdicts)
    names = shown_names(verdict.student for verdict in roll)
    for verdict in roll:
        record = records.get(verdict.student, NO_RECORD)
        row = _row(verdict, names[verdict.student], entries, record)
        rows.writerow([*row, *_known(verdict, record)])
    return text.getvalue()


def write_grades(
    path: Path,
    exercise: Exercise,
    verdicts: Sequence[Verdict],
    entries: GradebookEntries = NO_ENTRIES,
    records: StudentRecords = NO_RECORDS,
) -> Path:
    """Write `grades_csv` to `path` as UTF-8 and return `path`."""
    write_whole(path, grades_csv(exercise, verdicts, entries, records))
    return path


def cell(text: str, longest: int = LONGEST) -> str:
    """Return `text` as one clean line that no spreadsheet runs as a formula."""
    return FORMULA.sub(r"\1\2'", clean_line(text, longest))


def _row(
    verdict: Verdict, name: str, entries: GradebookEntries, record: StudentRecord
) -> list[str]:
    entry = entry_of(verdict, entries)
    points = [points_of(verdict, entries), *(step_points(step, entry) for step in verdict.steps)]
    mark, *of_steps = (_number(None if record.held else each) for each in points)
    return [
        cell(name),
        mark,
        _number(max_points_of(verdict, entries)),
        *of_steps,
        verdict.chain.outcome.value if verdict.chain.asked else "",
        cell(_diagnosis(verdict)),
        cell(verdict.protection),
        cell(verdict.code_hash),
        _number(verdict.points if verdict.graded and not record.held else None),
        cell(" ".join((*held_words(record), *reasons_of(verdict, entries))), LONGEST_REASON),
    ]


def _known(verdict: Verdict, record: StudentRecord) -> list[str]:
    moment = record.handed_in
    late = "" if moment is None or record.due is None else str(int(record.late.total_seconds()))
    return [
        cell(record.name),
        cell(record.group),
        cell(record.file),
        time_words(moment) if moment else "",
        late,
        judged_time(verdict),
        cell(verdict.judged_by),
    ]


def _diagnosis(verdict: Verdict) -> str:
    position, line = first_line(verdict)
    return f"{verdict.steps[position - 1].name}: {line}" if position else line


def _number(points: float | None) -> str:
    # For another program to read, so less rounded than what people read; -0 is 0.
    return "" if points is None else f"{round(points, 4) + 0.0:.10g}"
