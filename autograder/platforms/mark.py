"""The marks of a class, as another gradebook gets them: a mark, or the reason why there is none.

A mark is the gradebook's, as on every page of ours. What is not known is never a zero: who was not
graded, or waits for a person to grade a question, has no mark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from autograder.model.symbols import count, why_not_graded
from autograder.model.verdict import Verdict
from autograder.reports.gradebook_entry import (
    ClassGradebook,
    entry_of,
    max_points_of,
    points_of,
)
from autograder.reports.student_record import NO_RECORD, StudentRecord

NOT_GRADED = "the work is not graded yet"


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
            points = entry.points if entry.has_marks else None
            mark = StudentMark(
                student, points, entry.max_points, NOT_GRADED if points is None else ""
            )
            marks[student] = _complete(mark, entry.waiting)
    held = ((mark, gradebook.records.get(mark.student, NO_RECORD)) for mark in marks.values())
    return {mark.student: _given_out(mark, record) for mark, record in held}


def _given_out(mark: StudentMark, record: StudentRecord) -> StudentMark:
    """Return the mark, or none as long as it is held back."""
    return replace(mark, points=None, reason=f"held back: {record.held}") if record.held else mark


def _mark(verdict: Verdict, gradebook: ClassGradebook) -> StudentMark:
    entry = entry_of(verdict, gradebook.entries)
    points = points_of(verdict, gradebook.entries)
    most = max_points_of(verdict, gradebook.entries)
    why = why_not_graded(verdict).removesuffix(".") if points is None else ""
    mark = StudentMark(verdict.student, points, most, why)
    return _complete(mark, entry.waiting if entry else ())


def _complete(mark: StudentMark, waiting: Sequence[str]) -> StudentMark:
    """Return the mark, or none as long as somebody has to grade a part of it."""
    if mark.points is None or not waiting:
        return mark
    first = f"`{waiting[0]}`" if len(waiting) == 1 else count(len(waiting), "question")
    verb = "is" if len(waiting) == 1 else "are"
    return StudentMark(mark.student, None, mark.max_points, f"{first} {verb} not graded yet")
