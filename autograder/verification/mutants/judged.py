"""What came of one mutant: equivalent, within what the kit accepts, killed, or a survivor."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from autograder.verification.mutants.mutant import Mutant


class Fate(StrEnum):
    """What became of a mutant."""

    EQUIVALENT = "equivalent"  # no probe tells it from the reference, and no check refuses it
    ACCEPTED = "accepted"  # it differs only in the dtype, or within the tolerance
    KILLED = "killed"
    SURVIVED = "survived"
    REFUSED = "refused"  # a check fails it, although no probe tells it from the reference


@dataclass(frozen=True)
class JudgedMutant:
    """A mutant and its fate.

    caught_by: the names of the hidden checks that fail it. public: whether a worked example fails
    it too. named: whether the student is told a known mistake; described: whether the student is
    told more than that values differ. shown_by: which probe tells it from the reference, in words,
    and by what.
    """

    mutant: Mutant
    fate: Fate
    caught_by: tuple[str, ...] = ()
    public: bool = False
    named: bool = False
    described: bool = False
    shown_by: str = ""

    @property
    def sentence(self) -> str:
        """The mutant, and how it can be told from the reference."""
        return f"{self.mutant.words}; {self.shown_by}" if self.shown_by else self.mutant.words
