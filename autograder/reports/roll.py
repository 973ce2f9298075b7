"""The class in order: one verdict for each student, all about one exercise.

Every report looks up steps by name and names files after students. This is the
one place that makes sure that both are safe.
"""

from __future__ import annotations

import hashlib
import json
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
from autograder.values.symbols import count
from autograder.values.verdict import Verdict

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
