"""What a graded class leaves as files: grades as CSV, each verdict as JSON, and the code."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from autograder.errors import KitError
from autograder.reports.class_summary import first_line
from autograder.reports.roll import (
    NO_ENTRIES,
    NO_RECORD,
    NO_RECORDS,
    GradebookEntries,
    GradebookEntry,
    StudentRecord,
    StudentRecords,
    class_roll,
    entry_of,
    held_words,
    judged_time,
    max_points_of,
    points_of,
    reasons_of,
    shown_names,
    sorted_roll,
    step_points,
    time_words,
)
from autograder.values.exercise import Exercise
from autograder.values.files import file_stem, files_in, found_in, read_small, write_whole
from autograder.values.sanitize import ELLIPSIS, clean_line
from autograder.values.verdict import Verdict, VerdictOutlines

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

    The columns are those of `STUDENT`, one for the points of each step, and those of `DETAILS`:
    chain (the outcome end to end), diagnosis (the first thing to look at), automatic_points (those
    of the code), reason (why the points are others), late (in seconds), graded (when), by (which
    kit and Python). Points are those of the gradebook, where it has `entries`; a mark that is held
    back is left out, since this goes elsewhere. Raise `KitError` when a verdict is not about this
    exercise.
    """
    roll = class_roll(exercise, verdicts)
    names = shown_names(verdict.student for verdict in roll)

    def row_of(verdict: Verdict) -> list[object]:
        record = records.get(verdict.student, NO_RECORD)
        row = _GradesRow(verdict, names[verdict.student], entries, record)
        return [
            *(value(row) for value in STUDENT.values()),
            *(row.mark(step_points(step, row.entry)) for step in verdict.steps),
            *(value(row) for value in DETAILS.values()),
        ]

    head = [*STUDENT, *(step.name for step in exercise.steps), *DETAILS]
    return csv_text(chain([head], map(row_of, roll)))


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV text; a text of a student's is a `cell` there."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def cell(text: str, longest: int = LONGEST) -> str:
    """Return `text` as one clean line that no spreadsheet runs as a formula."""
    return FORMULA.sub(r"\1\2'", clean_line(text, longest))


@dataclass(frozen=True)
class _GradesRow:
    """What a row is made of; `name` is what is shown of the student."""

    verdict: Verdict
    name: str
    entries: GradebookEntries
    record: StudentRecord

    @property
    def entry(self) -> GradebookEntry | None:
        return entry_of(self.verdict, self.entries)

    def mark(self, points: float | None) -> str:
        """Return points, but nothing of a mark that is held back."""
        return _number(None if self.record.held else points)

    @property
    def reason(self) -> str:
        words = (*held_words(self.record), *reasons_of(self.verdict, self.entries))
        return cell(" ".join(words), LONGEST_REASON)

    @property
    def late(self) -> str:
        unknown = self.record.handed_in is None or self.record.due is None
        return "" if unknown else str(int(self.record.late.total_seconds()))


Columns = dict[str, Callable[[_GradesRow], str]]
STUDENT: Columns = {
    "student": lambda row: cell(row.name),
    "points": lambda row: row.mark(points_of(row.verdict, row.entries)),
    "max_points": lambda row: _number(max_points_of(row.verdict, row.entries)),
}
DETAILS: Columns = {
    "chain": lambda row: row.verdict.chain.outcome.value if row.verdict.chain.asked else "",
    "diagnosis": lambda row: cell(_diagnosis(row.verdict)),
    "protection": lambda row: cell(row.verdict.protection),
    "code_hash": lambda row: cell(row.verdict.code_hash),
    "automatic_points": lambda row: row.mark(row.verdict.points if row.verdict.graded else None),
    "reason": lambda row: row.reason,
    "name": lambda row: cell(row.record.name),
    "group": lambda row: cell(row.record.group),
    "file": lambda row: cell(row.record.file),
    "handed_in": lambda row: time_words(row.record.handed_in) if row.record.handed_in else "",
    "late": lambda row: row.late,
    "graded": lambda row: judged_time(row.verdict),
    "by": lambda row: cell(row.verdict.judged_by),
}


def _diagnosis(verdict: Verdict) -> str:
    position, line = first_line(verdict)
    return f"{verdict.steps[position - 1].name}: {line}" if position else line


def _number(points: float | None) -> str:
    # For another program to read, so less rounded than what people read; -0 is 0.
    return "" if points is None else f"{round(points, 4) + 0.0:.10g}"


# One JSON file for each student, from which every other report can be made again; and the code.
#
# The text of a verdict is kept exactly, including hostile characters. It is cleaned when it is
# shown. The code that was judged lies beside it: what was handed in may change.

CODE = "code"  # the folder of the code that was judged
MOST_CODE = 200_000  # characters
_BETWEEN = "\n\n# %%\n"  # cells


def write_verdict(folder: Path, verdict: Verdict) -> Path:
    """Write one verdict to its file in `folder`; return the path.

    Raises `KitError` when the folder cannot be written.
    """
    path = folder / _name(verdict.student)
    write_whole(path, verdict.to_json())
    return path


def read_verdicts(folder: Path) -> tuple[Verdict, ...]:
    """Read the verdicts that lie in `folder`, sorted by student.

    Raise `KitError` when the folder has no verdicts, or has a JSON file that is not a verdict.
    """
    return sorted_roll(list(_read(folder)))


def read_outlines(folder: Path) -> tuple[Verdict, ...]:
    """Return the outlines of what `read_verdicts` reads: a large class fits into memory."""
    return sorted_roll(list(map(VerdictOutlines().of, _read(folder))))


def _read(folder: Path) -> Iterator[Verdict]:
    paths = list(files_in(folder, ".json"))
    if not paths:
        raise KitError(
            "there are no verdicts",
            place=str(folder),
            cure="grade the class first, or name its results: in a course, graded/EXERCISE",
        )
    yield from map(read_verdict, paths)


def find_verdict(folder: Path, student: str) -> Verdict | None:
    """Return the verdict that `write_verdict` left about `student`, None when there is none.

    Raise `KitError` when the file is not a verdict on this student.
    """
    path = found_in(folder, _name(student))
    if not path.is_file():
        return None
    verdict = read_verdict(path)
    if verdict.student != student:
        raise KitError(
            f"{path.name} is not about the student that it is named after",
            place=str(path),
            cure="remove the file, and grade again",
        )
    return verdict


def _name(student: str) -> str:
    return f"{file_stem(student)}.json"


def read_verdict(path: Path) -> Verdict:
    """Read one verdict file; raise `KitError` when it is none, and OSError."""
    try:
        return Verdict.from_json(path.read_text(encoding="utf-8"))
    except (ValueError, KeyError, TypeError) as error:
        raise KitError(
            f"{path.name} is not a verdict: {type(error).__name__}",
            place=str(path),
            cure="remove the file, or grade the submission again",
        ) from error


def write_code(output: Path, folder: str, student: str, file: str, cells: Sequence[str]) -> str:
    """Keep the code that was judged in `output`, below the name of its file; return the code."""
    code = _BETWEEN.join(cells)
    code = code if len(code) <= MOST_CODE else f"{code[:MOST_CODE]}{ELLIPSIS}"
    write_whole(output / CODE / folder / _code_name(student), f"{clean_line(file, 200)}\n{code}")
    return code


def read_code(output: Path, student: str) -> tuple[str, str]:
    """Return the name of the file that was judged, and its code; both "" where nothing is kept.

    Raise `KitError` when another file than the kit's is there.
    """
    path = found_in(output / CODE, _code_name(student))
    try:
        text = read_small(path, 4 * MOST_CODE + 1_000).decode("utf-8", "replace")
    except FileNotFoundError:
        return "", ""
    file, _, code = text.partition("\n")
    return file, code


def _code_name(student: str) -> str:
    return f"{file_stem(student)}.txt"
