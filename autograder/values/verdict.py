"""The verdict on one submission: outcomes, points and findings, frozen.

Everything downstream (gradebook, feedback, reports, exports) reads these
values and nothing else. The outcomes are a closed enum: only `passed` earns
points, by the step itself or by a layer that does its work, and
`infrastructure` is a fault of ours, and what is `rejected` could not be read:
neither is a judgement, so neither gives a mark.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar, cast

from autograder.values.exercise import Step
from autograder.values.value_file import indented_json, read_as

# One thing that is true of a wrong result, until the claims of a step are put together.


@dataclass(frozen=True)
class Measure:
    """A number that was found in a result, and the sizes that it may follow from.

    `sizes` are pairs of a name and a size, such as ("the size of axis 1 (S)", 5).
    """

    number: float
    sizes: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Claim:
    """A true sentence about a wrong result, and a question to look at.

    Claims of one `kind` say the same about the results of several checks. One that does not
    lead stands behind the bare fact, such as that of a wrong shape. One that is `weak` says where
    numbers differ, or by how much, but not what was done to them.
    """

    kind: str
    fact: str
    look: str = ""
    measure: Measure | None = None
    leads: bool = True
    weak: bool = False


class Outcome(enum.StrEnum):
    """How a check ended."""

    PASSED = "passed"
    WRONG_TYPE = "wrong_type"
    WRONG_SHAPE = "wrong_shape"
    WRONG_VALUES = "wrong_values"
    RAISED = "raised"
    NOT_WRITTEN = "not_written"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    OUTPUT_LIMIT = "output_limit"
    PROTOCOL = "protocol"
    REJECTED = "rejected"
    INFRASTRUCTURE = "infrastructure"
    # At home only: the step calls an earlier one that is wrong. In grading, it is judged with the
    # reference's answers in place of that one.
    WAITS = "waits"


# How a step ends that was not judged.
NOT_JUDGED = (Outcome.REJECTED, Outcome.INFRASTRUCTURE)
# Something came back, but not what is expected.
ANSWERED = (Outcome.WRONG_TYPE, Outcome.WRONG_SHAPE, Outcome.WRONG_VALUES)

# Of verdict files: it changes when a program that reads them would have to change.
FORMAT_VERSION = 1
# Of a verdict, what the first files of this version lack.
ADDED = ("judged_at", "judged_by")
# What only judging needs.
LEFT_OUT = ("evidence", "cause")

# Stands in place of a protection level when nothing of a submission could be run.
NOT_RUN = "not run"

# So begins a finding on a class that keeps nothing by a name that the checks read and set.
NO_ATTRIBUTE = "After `__init__` there is no attribute"


@dataclass(frozen=True)
class Finding:
    """What a check saw, as a person reads it.

    `right` is what the answer has right so far, `fact` the one thing that is not,
    `look` where to look next. `misconception` names the known wrong
    implementation that gives the same array, when there is one. `details` are
    folded away where the finding is shown. `vague` is True when all that is known is that
    numbers differ. Until the findings of a step are reconciled, `matches` are all known mistakes
    that give this result, with their words, and `evidence` is what else the finding rests on.
    `cause` is True when the finding tells what makes the answer wrong, rather than in what it is.
    """

    outcome: Outcome
    fact: str
    right: str = ""
    look: str = ""
    misconception: str | None = None
    details: tuple[str, ...] = ()
    vague: bool = False
    matches: tuple[tuple[str, str], ...] = ()
    evidence: Evidence | None = field(default=None, repr=False, compare=False)
    cause: bool = field(default=False, repr=False, compare=False)

    @property
    def message(self) -> str:
        """The finding as running text: what is right, what is not, where to look."""
        return " ".join(part for part in (self.right, self.fact, self.look) if part)

    @property
    def line(self) -> str:
        """The finding in one line, for a table."""
        return self.fact.split("\n", 1)[0]


@dataclass(frozen=True)
class Evidence:
    """What a finding rests on, for weighing it against the other findings of its step.

    `bare` is the finding before it was named or described. `allowed` are the known mistakes
    that it agrees with, None when it agrees with every one. `claims` gives what is true of the
    result, and is None where the bare finding says it all. `has_nan` says that the result holds
    NaN, which may hide a second mistake.
    """

    bare: Finding
    allowed: tuple[str, ...] | None
    claims: Callable[[], tuple[Claim, ...]] | None = None
    has_nan: bool = False


def telling(findings: Sequence[Finding | None]) -> int | None:
    """Return the place of the finding to read first, or None when there is no finding.

    It is the first on an attribute that is not there, since the other checks set it in vain; else
    the first that is named, else the first that says more than that numbers differ. What only
    waits for another step comes last.
    """
    ranks = {
        place: (
            finding.outcome is Outcome.WAITS,
            not finding.fact.startswith(NO_ATTRIBUTE),
            finding.misconception is None and 1 + finding.vague,
        )
        for place, finding in enumerate(findings)
        if finding
    }
    return min(ranks, key=lambda place: ranks[place], default=None)


@dataclass(frozen=True)
class CheckVerdict:
    """How one check of a step ended; `finding` is None when it passed."""

    name: str
    title: str
    outcome: Outcome
    finding: Finding | None = None

    @classmethod
    def of(cls, name: str, title: str, finding: Finding | None) -> CheckVerdict:
        """Return the verdict of a check with this finding, or with none."""
        return cls(name, title, finding.outcome if finding else Outcome.PASSED, finding)

    @property
    def passes(self) -> bool:
        """Whether the check passed."""
        return self.outcome is Outcome.PASSED


@dataclass(frozen=True)
class StepVerdict:
    """How one step ended, judged alone: all of its points, or none.

    `leaning` is True when the step is right only with the reference's answers
    in place of the student's earlier steps, which are wrong themselves.
    `by_layer` is True when the step is not written, and its points come from
    the student's layer, which is right by itself and does the step's work. `answer` is a digest of
    what a wrong step returns on inputs that the whole class gets, "" where nobody asked.
    """

    name: str
    title: str
    outcome: Outcome
    points: float
    max_points: float
    checks: tuple[CheckVerdict, ...]
    leaning: bool = False
    by_layer: bool = False
    answer: str = ""

    @classmethod
    def of(
        cls,
        step: Step,
        checks: tuple[CheckVerdict, ...],
        leaning: bool = False,
        by_layer: bool = False,
    ) -> StepVerdict:
        """Return the verdict on a step; its outcome is that of the check that is told first."""
        told = _told(checks)
        failed = (check.outcome for check in checks if not check.passes)
        outcome = told.outcome if told else next(failed, Outcome.PASSED)
        points = step.points if outcome is Outcome.PASSED or by_layer else 0.0
        return cls(step.name, step.title, outcome, points, step.points, checks, leaning, by_layer)

    @property
    def passes(self) -> bool:
        """Whether every check passed."""
        return self.outcome is Outcome.PASSED

    @property
    def never_written(self) -> bool:
        """Whether nothing of the step is there, so that a layer may do its work."""
        return self.outcome is Outcome.NOT_WRITTEN and self.checks_passed == 0

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to do: every check passed, or the layer does its work."""
        return self.passes or self.by_layer

    @property
    def checks_passed(self) -> int:
        """How many checks passed."""
        return sum(check.passes for check in self.checks)

    @property
    def failing(self) -> CheckVerdict | None:
        """The check whose finding is to be read first, or None when every check passed."""
        return _told(self.checks)

    @property
    def finding(self) -> Finding | None:
        """The first thing to look at, or None when every check passed."""
        return self.failing.finding if self.failing else None


def _told(checks: tuple[CheckVerdict, ...]) -> CheckVerdict | None:
    if all(check.finding is None for check in checks):  # nearly always
        return None
    place = telling([check.finding for check in checks])
    return None if place is None else checks[place]


@dataclass(frozen=True)
class LayerVerdict:
    """How the student's own class does by itself, with no step of the reference in it.

    `name` is the step that asks for the class. When it is wrong and in one piece, `finding`
    says what was found inside it; that costs and earns nothing.
    """

    name: str
    outcome: Outcome
    finding: Finding | None = None

    @property
    def is_right(self) -> bool:
        """Whether the class passes all of its own checks by itself."""
        return self.outcome is Outcome.PASSED


@dataclass(frozen=True)
class ChainVerdict:
    """How the student's own steps work end to end; `breaks_at` names the first wrong one.

    `asked` is False in an exercise without a check of the chain: nothing is known then.
    `layer` says how the student's own class does; None where it is not known, or where it is
    right only with the reference's steps.
    """

    outcome: Outcome
    breaks_at: str | None = None
    finding: Finding | None = None
    asked: bool = True
    layer: LayerVerdict | None = None


@dataclass(frozen=True)
class Verdict:
    """All outcomes, points and findings of one submission.

    `code_hash` and `exercise_hash` say what was judged and by what, `seed` which
    inputs were drawn, `protection` which sandbox level held. `remarks` are for
    the instructor and the student alike and cost nothing. `judged_at` (UTC) and `judged_by` (the
    kit's version and Python's) are "" where judging never began or was stopped.
    """

    exercise: str
    student: str
    steps: tuple[StepVerdict, ...]
    chain: ChainVerdict
    code_hash: str
    exercise_hash: str
    seed: int
    protection: str
    seconds: float
    remarks: tuple[str, ...] = ()
    judged_at: str = field(default="", compare=False)
    judged_by: str = field(default="", compare=False)

    @property
    def points(self) -> float:
        """Points earned, over all steps."""
        return sum(step.points for step in self.steps)

    @property
    def max_points(self) -> float:
        """Points that could be earned."""
        return sum(step.max_points for step in self.steps)

    @property
    def infrastructure(self) -> bool:
        """True when a fault of ours kept a step from being judged: it is judged once more."""
        return any(step.outcome is Outcome.INFRASTRUCTURE for step in self.steps)

    @property
    def graded(self) -> bool:
        """Whether there is a mark: every step was judged. `why_not_graded` says why not."""
        return not any(step.outcome in NOT_JUDGED for step in self.steps)

    def to_json(self, indent: int | None = 2) -> str:
        """Return the verdict as JSON text, keys in the order of the fields.

        Without an `indent`, it is one line, which Python writes several times as fast.
        """
        facts: dict[str, Any] = {
            "version": FORMAT_VERSION,
            "points": self.points,
            "max_points": self.max_points,
        }
        facts |= {name: getattr(self, name) for name in self.__dataclass_fields__}
        return indented_json(facts, LEFT_OUT, indent) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Verdict:
        """Read what `to_json` wrote; raise ValueError, KeyError or TypeError on anything else."""
        facts = json.loads(text)
        known = (None, FORMAT_VERSION)  # the first ones do not say it
        if isinstance(facts, dict) and facts.get("version") not in known:
            raise ValueError("a verdict of another version")
        names = {*cls.__dataclass_fields__} - {name for name in ADDED if name not in facts}
        return read_as(cls, {name: facts[name] for name in names})


def _told_facts(items: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in items if name not in (*LEFT_OUT, "matches")}


def finding_facts(finding: Finding | None) -> dict[str, Any] | None:
    """Return a finding as facts for JSON, without the known mistakes that match it."""
    return None if finding is None else asdict(finding, dict_factory=_told_facts)


def check_facts(check: CheckVerdict) -> dict[str, Any]:
    """Return the verdict of a check as facts for JSON; `read_as` reads them."""
    return {**vars(check), "finding": finding_facts(check.finding)}


# The checks of a step as a person counts them: each once, in however many ways it was asked.


def told_once(checks: Iterable[CheckVerdict]) -> tuple[CheckVerdict, ...]:
    """Return one verdict for each check, in order: of several, the one that is to be read first."""
    asked: dict[tuple[str, str], list[CheckVerdict]] = {}
    for check in checks:
        asked.setdefault((check.name, check.title), []).append(check)
    return tuple(each[telling([check.finding for check in each]) or 0] for each in asked.values())


# What all of a class needs of a verdict: marks, outcomes, and what is named on the class page.
#
# A whole verdict takes 23 KB of memory, most of it texts that only its student reads. An outline
# is a verdict without these, and shares what it has in common with the others. Student files and
# graded notebooks are made from whole verdicts, everything about the class from outlines.

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
