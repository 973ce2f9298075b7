"""The figures of an exercise: what became of its mutants, and which check kills how many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autograder.verification.mutants.judged import Fate, JudgedMutant

LEAST_PUBLIC = 98  # percent of what the hidden checks kill


@dataclass(frozen=True)
class MutantFigures:
    """Numbers of mutants.

    equivalent: not to be told from the reference. accepted: other only in dtype, or within the
    tolerance. killed: by a hidden check; public, named and described are parts of those, the last
    two None when nobody asked what the student is told.
    """

    mutants: int
    equivalent: int
    accepted: int
    killed: int
    public: int
    named: int | None
    described: int | None
    declared: int
    survivors: int

    @property
    def public_percent(self) -> float:
        """How many of the killed the public checks kill too."""
        return 100 * self.public / self.killed if self.killed else 100.0


@dataclass(frozen=True)
class Kills:
    """How many mutants a check kills, and how many of them no other check of the step does."""

    step: str
    check: str
    kills: int
    alone: int


def figures_of(
    judged: Sequence[JudgedMutant], undeclared: Sequence[JudgedMutant], naming: bool
) -> MutantFigures:
    """Count the mutants of an exercise; `undeclared` are the survivors without a reason."""
    killed = [each for each in judged if each.fate is Fate.KILLED]

    def count(fate: Fate) -> int:
        return sum(each.fate is fate for each in judged)

    return MutantFigures(
        mutants=len(judged),
        equivalent=count(Fate.EQUIVALENT) + count(Fate.REFUSED),
        accepted=count(Fate.ACCEPTED),
        killed=len(killed),
        public=sum(each.public for each in killed),
        named=sum(each.named for each in killed) if naming else None,
        described=sum(each.described and not each.named for each in killed) if naming else None,
        declared=count(Fate.SURVIVED) - len(undeclared),
        survivors=len(undeclared),
    )


def kills_of(
    checks: Iterable[tuple[str, str]], judged: Sequence[JudgedMutant]
) -> tuple[Kills, ...]:
    """Count for each check, as (step, name), what it kills and what it alone kills."""
    found = []
    for step, check in dict.fromkeys(checks):
        own = [each for each in judged if each.mutant.step == step and check in each.caught_by]
        alone = sum(each.caught_by == (check,) for each in own)
        found.append(Kills(step, check, len(own), alone))
    return tuple(found)
