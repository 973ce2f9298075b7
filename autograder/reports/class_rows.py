"""The rows of the class page's heat map: one student each, with a cell for every step.

A class has many thousand cells and few kinds of them, so a cell is written once and used again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from markupsafe import Markup

from autograder.model.exercise import Exercise
from autograder.model.symbols import KEY, RIGHT, mark, step_mark
from autograder.model.verdict import Verdict
from autograder.reports import table
from autograder.reports.chain_breaks import NOT_ASKED, chain_place
from autograder.reports.gradebook_entry import GradebookEntries, points_of
from autograder.reports.misunderstandings import Misunderstanding, has_unnamed_mistake
from autograder.reports.shown_students import ShownStudent
from autograder.reports.student_record import (
    NO_RECORD,
    NO_RECORDS,
    StudentRecord,
    StudentRecords,
    hand_in_words,
    judged_words,
)

# The class of a cell, by its sign: short, since a large class has many thousand cells.
KINDS = dict(zip(KEY, ("r", "l", "w", "e", "a", "o", "t", "c", "j", "q"), strict=True))
UNNAMED = "u"


@dataclass(frozen=True)
class ClassRow:
    """One student: name and page, points in words and as a number, cells, and what to look at.

    `place` is where the chain ends. `mistakes` are the numbers of the class's mistakes that this
    student made, and `UNNAMED` for any mistake that has no name. `hand_in` and `graded` say what
    was judged, when, and by what.
    """

    student: str
    page: str
    points: str
    amount: float | None
    cells: Markup
    place: str
    mistakes: str
    diagnosis: str
    hand_in: str = ""
    graded: str = ""


def class_rows(
    exercise: Exercise,
    verdicts: Sequence[Verdict],
    shown: Mapping[str, ShownStudent],
    entries: GradebookEntries,
    mistakes: Sequence[Misunderstanding],
    records: StudentRecords = NO_RECORDS,
) -> list[ClassRow]:
    """Return a row for each verdict, in their order; `shown` has all of them."""
    made: dict[str, list[str]] = defaultdict(list)
    for number, mistake in enumerate(mistakes):
        for student in mistake.students:
            made[student].append(str(number))
    known = (records.get(each.student, NO_RECORD) for each in verdicts)
    return [
        _row(exercise, each, shown[each.student], entries, made, record)
        for each, record in zip(verdicts, known, strict=True)
    ]


def _row(
    exercise: Exercise,
    verdict: Verdict,
    shown: ShownStudent,
    entries: GradebookEntries,
    made: Mapping[str, Sequence[str]],
    record: StudentRecord,
) -> ClassRow:
    place = chain_place(exercise, verdict)
    ends = "not asked" if place == NOT_ASKED else mark(verdict.chain.outcome).words
    marks = (step_mark(step) for step in verdict.steps)
    cells = [_cell(mark.sign, mark.words) for mark in marks]
    cells.append(_cell(table.chain_words(exercise, verdict), ends))
    unnamed = [UNNAMED] if has_unnamed_mistake(verdict) else []
    return ClassRow(
        student=shown.name,
        page=shown.page,
        points=table.points_words(verdict, entries),
        amount=points_of(verdict, entries),
        cells=Markup("").join(cells),
        place=place,
        mistakes=" ".join([*made.get(verdict.student, ()), *unnamed]),
        diagnosis=table.diagnosis_words(exercise, verdict),
        hand_in=hand_in_words(record),
        graded=judged_words(verdict),
    )


@cache
def _cell(shown: str, words: str) -> Markup:
    """Return a cell with its sign, and with words for who does not see it.

    The sign of what is right is read aloud as "check mark". Words in every such cell would take the
    browser twice as long as the whole table does without.
    """
    kind = KINDS.get(shown[0], "n")
    if shown == RIGHT:
        return Markup('<td class="{}">{}</td>').format(kind, shown)
    return Markup('<td class="{}">{}<i>{}</i></td>').format(kind, shown, words)
