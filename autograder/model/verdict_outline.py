"""What all of a class needs of a verdict: marks, outcomes, and what is named on the class page.

A whole verdict takes 23 KB of memory, most of it texts that only its student reads. An outline is
a verdict without these, and shares what it has in common with the others. Student files and graded
notebooks are made from whole verdicts, everything about the class from outlines.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar, cast

from autograder.model.verdict import (
    ChainVerdict,
    CheckVerdict,
    Finding,
    Outcome,
    StepVerdict,
    Verdict,
)

Held = TypeVar("Held")


class VerdictOutlines:
    """Makes outlines of the verdicts of one class; equal parts of them are held once."""

    def __init__(self) -> None:
        self._known: dict[object, object] = {}

    def of(self, verdict: Verdict) -> Verdict:
        """Return the outline of a verdict: of each step, it has what is told of it first.

        Of other findings, the outcome and the name of the mistake stay; of one that is told
        or named, the fact stays, and the details of a fault of ours.
        """
        return Verdict(
            exercise=self._one(verdict.exercise),
            student=verdict.student,
            steps=self._one(tuple(map(self._step, verdict.steps))),
            chain=self._chain(verdict.chain),
            code_hash=verdict.code_hash,
            exercise_hash=self._one(verdict.exercise_hash),
            seed=verdict.seed,
            protection=self._one(verdict.protection),
            seconds=verdict.seconds,
            remarks=self._one(tuple(map(self._one, verdict.remarks))),
            judged_at=verdict.judged_at,
            judged_by=self._one(verdict.judged_by),
        )

    def _one(self, value: Held) -> Held:
        """Return the value that is equal to this one and was seen first."""
        return cast(Held, self._known.setdefault(value, value))

    def _step(self, step: StepVerdict) -> StepVerdict:
        told = step.failing
        if told is None:  # most steps of most students are right
            return self._one(step)
        checks = tuple(self._check(check, check is told) for check in step.checks)
        return self._one(replace(step, checks=self._one(checks)))

    def _check(self, check: CheckVerdict, told: bool) -> CheckVerdict:
        if check.finding is None:
            return check
        return replace(check, finding=self._finding(check.finding, told))

    def _chain(self, chain: ChainVerdict) -> ChainVerdict:
        layer = chain.layer and replace(chain.layer, finding=None)
        return self._one(replace(chain, finding=self._finding(chain.finding), layer=layer))

    def _finding(self, finding: Finding | None, told: bool = True) -> Finding | None:
        if finding is None:
            return None
        fact = finding.fact if told or finding.misconception else ""
        details = finding.details if finding.outcome is Outcome.INFRASTRUCTURE else ()
        return self._one(
            Finding(
                finding.outcome,
                fact,
                misconception=finding.misconception,
                details=details,
                vague=finding.vague,
            )
        )
