"""What is known of a student beside the verdict and the mark: who it is, and what was handed in.

Ids stay the key of everything; a name only stands beside the id. Times are in UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from autograder.model.sanitize import clean_line
from autograder.model.symbols import count
from autograder.model.verdict import Verdict

LONGEST_NAME, LONGEST_REASON = 80, 300
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
    name = clean_line(record.name, LONGEST_NAME)
    return f"{shown} ({name})" if name and name != shown else shown


def hand_in_words(record: StudentRecord) -> str:
    """Return what was handed in and when, in one line; that a mark is held back comes first."""
    parts = (*held_words(record), clean_line(record.file, LONGEST_NAME), record.moment)
    return " · ".join(filter(None, parts))


def held_words(record: StudentRecord) -> tuple[str, ...]:
    """Return the sentence that a mark is held back, or nothing."""
    return (f"Held back: {clean_line(record.held, LONGEST_REASON)}",) if record.held else ()


def graded_facts(verdict: Verdict, record: StudentRecord) -> tuple[tuple[str, str], ...]:
    """Return what was judged, when and by what, as pairs of a heading and words."""
    due = record.due and f"{time_words(record.due)}{', extended for you' * record.extended}"
    facts = {
        "File": clean_line(record.file, LONGEST_NAME),
        "Handed in": record.moment,
        "Due": due or "",
        "Graded": judged_words(verdict),
        "Group": clean_line(record.group, LONGEST_NAME),
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
