"""Who somebody is on a platform and in the course: by numbers and addresses, and by name.

Two are the same when an identifier of one kind is equal, never when identifiers of two kinds happen
to look alike: 4711 may be one student's number in Canvas and another's in the register. A name
counts only where there is nothing better, and only when it is one person's.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

# The kinds of identifiers. STUDENT is the id that the course uses.
STUDENT, CANVAS, MOODLE, SIS, LOGIN, EMAIL, GITHUB, BRIGHTSPACE = (
    *("student_id", "canvas_id", "moodle_participant", "sis_id", "login"),
    *("email", "github_username", "brightspace_id"),
)
KINDS = (STUDENT, CANVAS, MOODLE, SIS, LOGIN, EMAIL, GITHUB, BRIGHTSPACE)
_MOST_WORDS = 12


@dataclass(frozen=True)
class Identity:
    """A person as one list knows them: a name to show, and identifiers by kind."""

    name: str
    identifiers: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, **identifiers: str) -> Identity:
        """Return the person with one identifier of each kind that is named and not empty."""
        found = {kind: frozenset({plain(one)}) for kind, one in identifiers.items() if plain(one)}
        return cls(name, found)

    @classmethod
    def plain(cls, name: str) -> Identity:
        """Return somebody of whom only the name of a folder is known, which may be of any kind."""
        return cls.of(name, **dict.fromkeys((STUDENT, SIS, LOGIN, EMAIL, GITHUB), name))

    def shares_with(self, other: Identity) -> bool:
        """Whether an identifier of the same kind is the same."""
        return any(
            values & other.identifiers.get(kind, frozenset())
            for kind, values in self.identifiers.items()
        )

    def contradicts(self, other: Identity) -> bool:
        """Whether each has a number of its own on a platform: whatever the names, these are two.

        A number in Moodle is one for an assignment, so another says nothing.
        """
        both = ((self.identifiers.get(k), other.identifiers.get(k)) for k in (CANVAS, BRIGHTSPACE))
        return any(mine and theirs and not mine & theirs for mine, theirs in both)

    def one(self, kind: str) -> str:
        """Return the identifier of this kind; "" when there is none."""
        return min(self.identifiers.get(kind, frozenset()), default="")


def plain(identifier: str) -> str:
    """Return an identifier as it is compared: without white space around it, in small letters."""
    return unicodedata.normalize("NFC", identifier).strip().casefold()


@lru_cache(maxsize=10_000)
def spellings(name: str) -> frozenset[str]:
    """Return a name run together, beginning at each of its words: "janedoe" and "doejane"."""
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", name).casefold())[:_MOST_WORDS]
    turns = ("".join(words[at:] + words[:at]) for at in range(len(words)))
    return frozenset(turn for turn in turns if turn)
