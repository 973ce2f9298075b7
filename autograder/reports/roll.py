"""The class in order: a verdict for each student, and the mark that the gradebook has.

Every report looks up steps by name and names files after students. This is the
one place that makes sure that both are safe.
"""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType

from autograder.errors import KitError
from autograder.values.exercise import Exercise
from autograder.values.files import write_whole
from autograder.values.sanitize import UNSEEN_NAME, clean_line, listed
from autograder.values.symbols import count, number
from autograder.values.verdict import NOT_JUDGED, StepVerdict, Verdict

# What is known of a student beside the verdict and the mark: who it is, and what was handed in.
#
# Ids stay the key of everything; a name only stands beside the id. Times are in UTC.

LONGEST_FILE, LONGEST_REASON = 80, 300
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


@dataclass(frozen=True)
class MarkQuestion:
    """What a student asked about a mark, and the instructor's answer, "" until there is one.

    `asked` and `answered` are times; `file` is what it was handed in as, "" if somebody noted it.
    """

    text: str
    asked: str
    file: str = ""
    answer: str = ""
    answered: str = ""


@dataclass(frozen=True, slots=True)
class StudentRecord:
    """What is known of one student and one exercise.

    `due` is the student's own deadline, `extended` whether that is later than for the others.
    `group` is the group whose hand-in counts. `held` says why the mark is held back, "" when it is
    not; `gone`, that what was graded is not there any more. `file` and `code` are what was judged.
    """

    name: str = ""
    group: str = ""
    handed_in: datetime | None = None
    due: datetime | None = None
    extended: bool = False
    held: str = ""
    gone: bool = False
    questions: tuple[MarkQuestion, ...] = ()
    file: str = ""
    code: str = ""

    @property
    def late(self) -> timedelta:
        """How late the hand-in came, nothing where that is not known."""
        if self.handed_in is None or self.due is None:
            return timedelta()
        return max(timedelta(), self.handed_in - self.due)

    @property
    def moment(self) -> str:
        """When it was handed in, and how late: "2026-03-02 12:00 UTC, 23 h 30 min late"."""
        if self.handed_in is None:
            return ""
        late = f", {late_words(self.late)}" if self.late else ""
        return f"{time_words(self.handed_in)}{late}"

    @property
    def waiting(self) -> tuple[MarkQuestion, ...]:
        """The questions without an answer."""
        return tuple(each for each in self.questions if not each.answer)


# By student; of a folder that is graded without a course, little is known.
StudentRecords = Mapping[str, StudentRecord]
NO_RECORD = StudentRecord()
NO_RECORDS: StudentRecords = MappingProxyType({})


def called(shown: str, record: StudentRecord) -> str:
    """Return a student's id as it is shown, with the name beside it: "ada (Ada Lovelace)"."""
    name = clean_line(record.name, LONGEST_FILE)
    return f"{shown} ({name})" if name and name != shown else shown


def hand_in_words(record: StudentRecord) -> str:
    """Return what was handed in and when, in one line; that a mark is held back comes first."""
    parts = (*held_words(record), clean_line(record.file, LONGEST_FILE), record.moment)
    return " · ".join(filter(None, parts))


def held_words(record: StudentRecord) -> tuple[str, ...]:
    """Return the sentence that a mark is held back, or nothing."""
    return (f"Held back: {clean_line(record.held, LONGEST_REASON)}",) if record.held else ()


def graded_facts(verdict: Verdict, record: StudentRecord) -> tuple[tuple[str, str], ...]:
    """Return what was judged, when and by what, as pairs of a heading and words."""
    due = record.due and f"{time_words(record.due)}{', extended for you' * record.extended}"
    facts = {
        "File": clean_line(record.file, LONGEST_FILE),
        "Handed in": record.moment,
        "Due": due or "",
        "Graded": judged_words(verdict),
        "Group": clean_line(record.group, LONGEST_FILE),
    }
    return tuple((heading, words) for heading, words in facts.items() if words)


def judged_words(verdict: Verdict) -> str:
    """Return when a verdict was given and by what: "2026-03-03 09:12 UTC, by attention-kit …"."""
    return ", by ".join(filter(None, (judged_time(verdict), verdict.judged_by)))


def judged_time(verdict: Verdict) -> str:
    """Return when a verdict was given, in words; "" where that is not known."""
    try:
        return time_words(datetime.fromisoformat(verdict.judged_at))
    except ValueError:
        return ""


def time_words(moment: datetime) -> str:
    """Return a time as "2026-03-02 12:00 UTC"; one without a zone is in UTC already."""
    there = moment.astimezone(UTC) if moment.tzinfo else moment
    return f"{there:%Y-%m-%d %H:%M} UTC"


def late_words(late: timedelta) -> str:
    """Return "1 day 2 h late", with the two largest units; less than a minute is a minute."""
    seconds = max(_MINUTE, int(late.total_seconds()))
    days, hours, minutes = seconds // _DAY, seconds % _DAY // _HOUR, seconds % _HOUR // _MINUTE
    words = [count(days, "day"), f"{hours} h", f"{minutes} min"]
    begin = 0 if days else 1 if hours else 2
    parts = [word for word in words[begin : begin + 2] if not word.startswith("0 ")]
    return f"{' '.join(parts)} late"


LONGEST_NAME = 200


def shown_names(students: Iterable[str], records: StudentRecords = NO_RECORDS) -> dict[str, str]:
    """Return a name to show for each student: one clean line, and no two alike.

    If several ids look alike, the student with exactly that id keeps it; for the others, a hash is
    added. The name that `records` have stands beside the id.
    """
    clean = {student: clean_line(student, LONGEST_NAME) or UNSEEN_NAME for student in students}
    looks = {student: unicodedata.normalize("NFC", name) for student, name in clean.items()}
    count = Counter(looks.values())
    alone = {
        student: name
        if count[looks[student]] == 1 or looks[student] == student
        else f"{name}~{hashlib.sha256(student.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
        for student, name in clean.items()
    }
    return {
        student: called(name, records.get(student, NO_RECORD)) for student, name in alone.items()
    }


def class_roll(exercise: Exercise, verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Return `verdicts` sorted by student.

    Raise `KitError` when a verdict is about another exercise or other steps, or when one
    student has two.
    """
    return tuple(verdicts[place] for place in roll_places(exercise, verdicts))


def roll_places(exercise: Exercise, verdicts: Sequence[Verdict]) -> list[int]:
    """Return the places that the verdicts of `class_roll` have among `verdicts`; raises as it."""
    return _order(_fitting(exercise, verdicts))


def sorted_roll(verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Return `verdicts` sorted by student; raise `KitError` when one student has two."""
    return tuple(verdicts[place] for place in _order(verdicts))


def _fitting(exercise: Exercise, verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """Yield the verdicts; raise `KitError` when one is not about the exercise as it is."""
    names = [step.name for step in exercise.steps]
    for verdict in verdicts:
        judged = [step.name for step in verdict.steps]
        breaks_at = verdict.chain.breaks_at
        known = breaks_at is None or breaks_at in names
        if verdict.exercise != exercise.name or judged != names or not known:
            raise KitError(
                f"the verdict on {clean_line(verdict.student, 60)} does not fit {exercise.name}",
                place=f"it judges {clean_line(verdict.exercise, 60)}: "
                + (clean_line(", ".join(judged), 200) or "no step"),
                cure="grade the submission again with the exercise as it is now",
            )
        yield verdict


def _order(verdicts: Iterable[Verdict]) -> list[int]:
    """Return their places, sorted by student; raise `KitError` when one student has two."""
    places: dict[str, int] = {}
    for place, verdict in enumerate(verdicts):
        if verdict.student in places:
            raise KitError(
                f"{clean_line(verdict.student, 60)} has two verdicts",
                place=f"exercise {clean_line(verdict.exercise, 60)}",
                cure="keep one submission for each student",
            )
        places[verdict.student] = place
    return [places[student] for student in sorted(places, key=lambda name: (name.casefold(), name))]


# Hand-ins whose code is more alike than chance makes it, as the class page shows them.


@dataclass(frozen=True)
class SimilarPair:
    """Two students, the steps in which they share rare code, and the code of some of these steps.

    `part` is how much of the rare code of both is shared, from 0 to 1. `examples` holds for a step
    what each of the two wrote, without comments.
    """

    students: tuple[str, str]
    steps: tuple[str, ...]
    part: float
    examples: tuple[tuple[str, str, str], ...] = ()

    def words(self, titles: Mapping[str, str]) -> str:
        """Return in words what the two share; `titles` are those of the steps."""
        named = [titles[step] for step in self.steps if step in titles]
        others = len(self.steps) - len(named)
        listed = [*named, *([count(others, "further function")] if others else [])]
        where = ", ".join(listed)
        return f"{round(100 * self.part)} % of their rare code is the same, in: {where}."


@dataclass(frozen=True)
class SimilarCode:
    """The pairs to be shown, how many there are in all, and whether anybody was not compared."""

    pairs: tuple[SimilarPair, ...] = ()
    found: int = 0
    left_out: int = 0

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is to be said about the pairs that are not shown and the code that was not read."""
        more = self.found - len(self.pairs)
        told = [f"{count(more, 'further pair')} of this kind."] if more > 0 else []
        if self.left_out:
            told.append(f"The code of {count(self.left_out, 'student')} could not be compared.")
        return tuple(told)


NOTHING_SIMILAR = SimilarCode()


# What waits for the instructor after a run: who, why, and what settles it.

FORMAT_VERSION = 1
_TOLD = ("kind", "students", "reason", "cure", "not_graded")  # to programs


@dataclass(frozen=True)
class FollowUp:
    """One thing that waits for the instructor.

    `kind` is one word for programs, `reason` and `cure` are sentences; `cure` says what settles it.
    With `not_graded`, the students have no mark until then. `names` are those of the students as
    they are shown, and `files` what they handed in, where that is known.
    """

    kind: str
    students: tuple[str, ...]
    reason: str
    cure: str
    not_graded: bool = False
    names: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown_names(self) -> tuple[str, ...]:
        """The names of all students, as they are shown."""
        return self.names or self.students

    @property
    def who(self) -> str:
        """The students in words: the first five by name."""
        return listed(self.shown_names)

    @property
    def line(self) -> str:
        """The whole in one line: "ada, ben: reason cure"."""
        amount = f"{count(len(self.students), 'student')} " if len(self.students) > 1 else ""
        who = f"{amount}({self.who})" if amount else self.who
        return f"{who}: {self.reason} {self.cure}".rstrip()


def write_follow_ups(path: Path, exercise: str, follow_ups: Sequence[FollowUp]) -> Path:
    """Write the list to `path` as JSON, for programs; return `path`.

    It is an object with format_version, exercise, and needs_you: a list of objects with what is
    `_TOLD` of a `FollowUp`. Names are as they were handed in.
    """
    facts = {
        "format_version": FORMAT_VERSION,
        "exercise": exercise,
        "needs_you": [{name: getattr(each, name) for name in _TOLD} for each in follow_ups],
    }
    write_whole(path, json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
    return path


# A student's mark as the gradebook has it, and why it differs from the automatic one.
#
# The verdict is the truth about the code, the gradebook is the truth about the mark: people
# change marks there, by hand, with extra credit or for lateness, and grade questions of their
# own.

LONGEST_BY = 60
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
        return clean_line(self.name, LONGEST_BY)


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
