"""What waits for the instructor after a run: who, why, and what settles it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.model.files import write_whole
from autograder.model.sanitize import clean_line
from autograder.model.symbols import count

FORMAT_VERSION = 1
LONGEST_NAME = 40
MOST_NAMES = 5
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
        first = self.shown_names[:MOST_NAMES]
        names = ", ".join(clean_line(name, LONGEST_NAME) for name in first)
        more = len(self.students) - MOST_NAMES
        return f"{names} and {more} more" if more > 0 else names

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
