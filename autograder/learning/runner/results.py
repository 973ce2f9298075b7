"""What a check of one's own work found: plain values, made in the child, shown by the parent.

They cross as JSON, so that the parent needs no NumPy; what a learner reads is a `Finding`,
as everywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from autograder.model.exercise import Exercise, Step
from autograder.model.verdict import Finding, Outcome

HIDDEN = "Hidden graders ask the same of other inputs, after you hand in."
RIGHT, WRONG, WAITING = "✓", "✗", "·"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class Drawn:
    """One array of a check: the learner's and the expected one, as nested lists of numbers.

    axes: the names of the axes, such as "B S S", or None. precision: the dtype
    that was asked for. `yours` is None when no array came back.
    """

    name: str
    axes: str | None
    precision: str
    yours: Any
    expected: Any


@dataclass(frozen=True)
class CheckResult:
    """One public check: what it found (None when it passes), and what the code printed."""

    title: str
    finding: Finding | None
    printed: str = ""
    arrays: tuple[Drawn, ...] = ()


@dataclass(frozen=True)
class StepResult:
    """The public checks of one step, in order."""

    step: Step
    checks: tuple[CheckResult, ...]

    @property
    def finding(self) -> Finding | None:
        """The first thing to look at, or None when every check passes."""
        return next((check.finding for check in self.checks if check.finding), None)

    @property
    def passes(self) -> bool:
        """Whether every check passes."""
        return self.finding is None

    @property
    def passed(self) -> int:
        """How many checks pass."""
        return sum(check.finding is None for check in self.checks)

    @property
    def mark(self) -> str:
        """✓ right, ✗ wrong, · not written yet."""
        if self.finding is None:
            return RIGHT
        return WAITING if self.finding.outcome is Outcome.NOT_WRITTEN else WRONG

    @property
    def points(self) -> float:
        """All of the step's points, or none."""
        return self.step.points if self.passes else 0.0


@dataclass(frozen=True)
class Checkup:
    """The answer to one `attn check`: what was run, and how each step that was asked does.

    `troubles` are what kept parts of the file from being run, before any step was asked;
    `printed` is what the file printed while it was loaded.
    """

    exercise: Exercise
    file: Path
    cells: tuple[str, ...]
    steps: tuple[StepResult, ...]
    remarks: tuple[str, ...] = ()
    troubles: tuple[Finding, ...] = ()
    printed: str = ""

    @property
    def passes(self) -> bool:
        """Whether every step that was asked passes."""
        return all(result.passes for result in self.steps)

    @property
    def next(self) -> StepResult | None:
        """The first step that does not pass, or None."""
        return next((result for result in self.steps if not result.passes), None)

    @property
    def points(self) -> float:
        """The points of the steps that pass."""
        return sum(result.points for result in self.steps)

    @property
    def max_points(self) -> float:
        """The points of all steps that were asked."""
        return sum(result.step.points for result in self.steps)

    def result(self, step: str) -> StepResult | None:
        """Return the result of a step, or None when it was not asked."""
        return next((result for result in self.steps if result.step.name == step), None)

    def document(self) -> dict[str, Any]:
        """Return what `attn check --json` prints; its keys stay as they are."""
        first = self.next
        return {
            "format_version": FORMAT_VERSION,
            "exercise": self.exercise.name,
            "file": str(self.file),
            "passes": self.passes,
            "points": self.points,
            "max_points": self.max_points,
            "steps": [_step_facts(result) for result in self.steps],
            "next": _next_facts(first) if first else None,
            "troubles": [trouble.message for trouble in self.troubles],
            "remarks": list(self.remarks),
            "printed": self.printed,
        }


def _step_facts(result: StepResult) -> dict[str, Any]:
    return {
        "name": result.step.name,
        "title": result.step.title,
        "passes": result.passes,
        "points": result.points,
        "max_points": result.step.points,
        "checks": [
            {
                "title": check.title,
                "passes": check.finding is None,
                "finding": _plain(check.finding) if check.finding else None,
                "printed": check.printed,
            }
            for check in result.checks
        ],
    }


def _next_facts(result: StepResult) -> dict[str, Any]:
    assert result.finding
    return {
        "step": result.step.name,
        "message": result.finding.message,
        "hint": result.step.hints[0] if result.step.hints else "",
    }


def _plain(finding: Finding) -> dict[str, Any]:
    facts = asdict(finding)
    del facts["matches"]
    return facts


def finding_facts(finding: Finding | None) -> dict[str, Any] | None:
    """Return a finding as JSON facts, without the known mistakes that match it."""
    return _plain(finding) if finding else None


def read_finding(facts: Mapping[str, Any] | None) -> Finding | None:
    """Read what `finding_facts` gave."""
    if facts is None:
        return None
    changed = {"outcome": Outcome(facts["outcome"]), "details": tuple(facts["details"])}
    return Finding(**{**facts, **changed})


def read_check(facts: Mapping[str, Any]) -> CheckResult:
    """Read one check's result as the child sends it."""
    return CheckResult(
        facts["title"],
        read_finding(facts["finding"]),
        facts["printed"],
        tuple(Drawn(**drawn) for drawn in facts["arrays"]),
    )
