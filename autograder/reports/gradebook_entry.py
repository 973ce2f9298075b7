"""A student's mark as the gradebook has it, and why it differs from the automatic one.

The verdict is the truth about the code, the gradebook is the truth about the mark: people change
marks there, by hand, with extra credit or for lateness, and grade questions of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from autograder.reports.roll import (
    LONGEST_REASON,
    NO_RECORD,
    NO_RECORDS,
    StudentRecords,
    shown_names,
)
from autograder.values.sanitize import clean_line
from autograder.values.symbols import count, number
from autograder.values.verdict import NOT_JUDGED, StepVerdict, Verdict

LONGEST_NAME = 60
HELD, NOT_GRADED = "held back", "the work is not graded yet"
REMOVED = "the student is not in the gradebook any more"
_NOT_ASKED = "is not in the release that was handed in, and has no points"
_NOT_READ = "what was handed in last could not be read"


@dataclass(frozen=True)
class NamedCell:
    """A cell: `step` is the step that it is about, "" for a question of the instructor's own."""

    name: str
    step: str

    @property
    def shown_name(self) -> str:
        """Its name as one clean line."""
        return clean_line(self.name, LONGEST_NAME)


@dataclass(frozen=True)
class EnteredCell(NamedCell):
    """What the gradebook has about one graded cell, all in points.

    `automatic`
    and `by_hand` are None where nobody gave such points; those by hand count. `look_again` says
    that somebody has to decide about those by hand once more, for example since the work is other.
    What the student's release did not have was not `asked`.
    """

    max_points: float
    automatic: float | None = None
    by_hand: float | None = None
    extra: float = 0.0
    look_again: bool = False
    asked: bool = True

    @property
    def points(self) -> float:
        """The points that count. As in nbgrader, an open cell has 0, whatever its extra credit."""
        given = self.automatic if self.by_hand is None else self.by_hand
        return 0.0 if given is None else given + self.extra

    @property
    def open(self) -> bool:
        """Whether nobody has graded it yet."""
        return self.automatic is None and self.by_hand is None


@dataclass(frozen=True)
class CellComment(NamedCell):
    """What somebody wrote in formgrader about a cell."""

    text: str


@dataclass(frozen=True)
class GradebookEntry:
    """The gradebook's entry for one student and one exercise; `penalty` is for being late."""

    student: str
    cells: tuple[EnteredCell, ...]
    penalty: float = 0.0
    comments: tuple[CellComment, ...] = ()

    @property
    def points(self) -> float:
        """The mark, as nbgrader counts it: never below 0."""
        return max(0.0, sum(cell.points for cell in self.cells) - self.penalty)

    @property
    def max_points(self) -> float:
        """The most points that there are without extra credit."""
        return sum(cell.max_points for cell in self.cells)

    @property
    def automatic(self) -> float:
        """The automatic points of the steps."""
        return sum(cell.automatic or 0.0 for cell in self.cells if cell.step)

    @property
    def changes(self) -> tuple[str, ...]:
        """What people gave and took for the steps, and what they have to look at again."""
        late = (f"{count(self.penalty, 'point')} off for being late.",) if self.penalty else ()
        return (*late, *(words for cell in self.cells for words in _changes(cell)))

    @property
    def own_questions(self) -> tuple[str, ...]:
        """The points of the instructor's own questions, a sentence for each that has any."""
        own = [cell for cell in self.cells if not (cell.step or cell.open or cell.look_again)]
        return tuple(f"`{cell.shown_name}`: {_earned(cell)}." for cell in own)

    @property
    def has_marks(self) -> bool:
        """Whether any step has points; a run that failed leaves an entry without."""
        return any(cell.step and not cell.open for cell in self.cells)

    @property
    def was_graded(self) -> bool:
        """Whether any step has automatic points, of whichever attempt."""
        return any(cell.step and cell.automatic is not None for cell in self.cells)

    @property
    def waiting(self) -> tuple[str, ...]:
        """The names of the cells that nobody has graded yet."""
        return tuple(cell.shown_name for cell in self.cells if cell.open)

    def comments_on(self, step: str) -> tuple[str, ...]:
        """Return what was written about a step."""
        return tuple(each.text for each in self.comments if each.step == step)

    @property
    def own_comments(self) -> tuple[CellComment, ...]:
        """What was written about anything that is no step."""
        return tuple(each for each in self.comments if not each.step)

    def step(self, name: str) -> EnteredCell | None:
        """Return the cell that checks the step `name`, if there is one."""
        return next((cell for cell in self.cells if cell.step == name), None)


# By student; a folder that is graded without a course has none.
GradebookEntries = Mapping[str, GradebookEntry]
NO_ENTRIES: GradebookEntries = MappingProxyType({})


@dataclass(frozen=True)
class ClassGradebook:
    """What is known of a class: the gradebook's entries, the ids of all who are `enrolled`, and the
    `records` of students. Who was `removed` from the gradebook has a hand-in still."""

    entries: GradebookEntries = field(default_factory=lambda: NO_ENTRIES)
    enrolled: tuple[str, ...] = ()
    records: StudentRecords = field(default_factory=lambda: NO_RECORDS)
    removed: tuple[str, ...] = ()

    def no_mark(self, student: str) -> str:
        """Return why what the gradebook has of a student is no mark; "" where it is one.

        Points for a question alone are left from before: the steps could not be read since. Whoever
        takes marks elsewhere asks this.
        """
        record, entry = self.records.get(student, NO_RECORD), self.entries.get(student)
        if record.held:
            return f"{HELD}: {clean_line(record.held, LONGEST_REASON)}"
        if student in self.removed:
            return REMOVED
        if entry is None or not entry.has_marks:
            return NOT_GRADED
        if record.gone:
            return (
                f"the hand-in is gone; the gradebook still has {count(entry.points, 'point')} of it"
            )
        return ""

    def has_only_time(self, student: str) -> bool:
        """Whether an entry is only there for an extension: nothing was handed in so far."""
        record, entry = self.records.get(student, NO_RECORD), self.entries[student]
        return record.extended and record.handed_in is None and not entry.has_marks


def entry_of(verdict: Verdict, entries: GradebookEntries) -> GradebookEntry | None:
    """Return a student's entry; None without one, and where nothing has been judged so far."""
    entry = entries.get(verdict.student)
    return None if entry and not (verdict.graded or entry.has_marks) else entry


def points_of(verdict: Verdict, entries: GradebookEntries) -> float | None:
    """Return a student's mark; None when there is none, since the work was not graded."""
    entry = entry_of(verdict, entries)
    if entry:
        return entry.points
    return verdict.points if verdict.graded else None


def max_points_of(verdict: Verdict, entries: GradebookEntries) -> float:
    """Return the most points that the student could have, without extra credit."""
    entry = entries.get(verdict.student)
    return entry.max_points if entry else verdict.max_points


def changes_of(verdict: Verdict, entries: GradebookEntries) -> tuple[str, ...]:
    """Return why a mark is not the automatic one, a sentence each; empty when it is."""
    entry = entry_of(verdict, entries)
    if entry is None:
        return ()
    return (*_of_other_work_than(verdict, entry), *entry.changes)


def _of_other_work_than(verdict: Verdict, entry: GradebookEntry) -> Iterator[str]:
    if verdict.infrastructure:
        yield "The mark is of an earlier run; this time, the work could not be judged."
    elif not verdict.graded:
        if entry.was_graded:
            points = count(entry.automatic, "point")
            yield f"The mark is of another attempt: that one earned {points}, and {_NOT_READ}."
    elif entry.has_marks and not math.isclose(entry.automatic, verdict.points):
        points = f"{count(entry.automatic, 'point')}, this one {number(verdict.points)}"
        yield f"The mark is of another attempt: that one earned {points}."


def reasons_of(verdict: Verdict, entries: GradebookEntries) -> tuple[str, ...]:
    """Return `changes_of`, and what else makes up the mark or is not graded yet."""
    entry = entry_of(verdict, entries)
    if entry is None:
        return ()
    waiting = (
        f"`{cell.shown_name}` {'is not graded yet' if cell.asked else _NOT_ASKED}."
        for cell in entry.cells
        if cell.open
    )
    return (*changes_of(verdict, entries), *entry.own_questions, *waiting)


def step_points(step: StepVerdict, entry: GradebookEntry | None) -> float | None:
    """Return the points that count for a step; None when there are none yet."""
    cell = entry.step(step.name) if entry else None
    if cell:
        return None if cell.open else cell.points
    return None if step.outcome in NOT_JUDGED else step.points


def changed_marks(
    verdicts: Sequence[Verdict],
    entries: GradebookEntries,
    records: StudentRecords = NO_RECORDS,
) -> tuple[str, ...]:
    """Return a sentence about each student whose mark is not the automatic one."""
    names = shown_names((verdict.student for verdict in verdicts), records)
    return tuple(
        _changed_mark(verdict, names[verdict.student], entries)
        for verdict in verdicts
        if changes_of(verdict, entries)
    )


def _changed_mark(verdict: Verdict, name: str, entries: GradebookEntries) -> str:
    entry = entries[verdict.student]
    mark = f"{number(entry.points)} of {number(entry.max_points)}"
    automatic = f", {number(verdict.points)} automatic" if verdict.graded else ""
    return f"{name}: {mark}{automatic}. {' '.join(reasons_of(verdict, entries))}"


def _changes(cell: EnteredCell) -> tuple[str, ...]:
    again = "; to be looked at again" if cell.look_again else ""
    found = []
    other = cell.by_hand is not None and cell.by_hand != cell.automatic
    if (cell.step and other) or (again and cell.by_hand is not None):
        instead = "" if cell.automatic is None else f", in place of {number(cell.automatic)}"
        found.append(f"`{cell.shown_name}`: {_earned(cell)} by hand{instead}{again}.")
    if cell.extra and not cell.open:
        found.append(f"`{cell.shown_name}`: {count(cell.extra, 'point')} of extra credit{again}.")
    return tuple(found)


def _earned(cell: EnteredCell) -> str:
    """Return "1.5 of 2 points", without extra credit."""
    return f"{number(cell.points - cell.extra)} of {count(cell.max_points, 'point')}"
