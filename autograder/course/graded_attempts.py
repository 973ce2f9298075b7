"""Which of a student's attempts counts, where a course lets somebody hand in again and again.

An attempt is code that was graded. What it earned is noted, as shares of the steps' points, so it
still counts after the files are gone and after points have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from autograder.values.exercise import Exercise, Step
from autograder.values.files import write_whole
from autograder.values.symbols import MarkingRules, quarters_of, share_of_checks
from autograder.values.value_file import indented_json, read_noted
from autograder.values.verdict import Outcome, Verdict

FILE = "attempts.json"
MOST_BYTES = 1 << 28  # 10,000 students with 50 attempts take a tenth of that
LAST, BEST = "last", "best"
StepPoints = Mapping[str, float]
Times = Mapping[str, datetime | None]  # when each student handed in (UTC), None if unknown


@dataclass(frozen=True)
class AttemptRules:
    """Whether the last or the best attempt `counts`, of the first `most` (None: of all)."""

    counts: str = LAST
    most: int | None = None

    @property
    def only_the_last(self) -> bool:
        """Whether what was handed in last counts, as without any rule."""
        return self.counts == LAST and self.most is None


LAST_COUNTS = AttemptRules()


@dataclass(frozen=True)
class GradedAttempt:
    """Code that was graded, by its hash, and what it has of each step, whatever it earns.

    shares: of a step's points, 1 where it is right. parts: of the checks that a step passes which
    is not right. by_layer: the steps that only the layer does. handed_in: the time (UTC) at which
    this code came first, None if unknown.
    """

    code_hash: str
    shares: StepPoints
    parts: StepPoints = field(default_factory=dict)
    by_layer: tuple[str, ...] = ()
    handed_in: datetime | None = None

    @classmethod
    def of(cls, verdict: Verdict, handed_in: datetime | None) -> GradedAttempt:
        """Return what `verdict` says of its code."""
        own = [step for step in verdict.steps if not step.by_layer]
        return cls(
            verdict.code_hash,
            {step.name: 1.0 if step.passes else 0.0 for step in own},
            {step.name: share_of_checks(step) for step in own if not step.passes},
            tuple(step.name for step in verdict.steps if step.by_layer),
            handed_in,
        )

    def points(self, exercise: Exercise, marking: MarkingRules) -> StepPoints:
        """Return what it earns in `exercise`, as both are now, by step."""
        return {step.name: self._earned(step, marking) for step in exercise.steps}

    def _earned(self, step: Step, marking: MarkingRules) -> float:
        if step.name in self.by_layer:
            return step.points if marking.layer_earns_steps else 0.0
        if marking.partial_points and step.name in self.parts:
            return quarters_of(step.points, self.parts[step.name])
        share = self.shares.get(step.name, 0.0)
        return step.points if share == 1.0 else round(step.points * share, 4)


@dataclass(frozen=True)
class CountedAttempt:
    """The attempt that counts: its points of each step, and how long before the last it came."""

    points: StepPoints
    seconds_before: float = 0.0


@dataclass(frozen=True)
class AttemptNotes:
    """The attempts of a class in the file `path`, by student; `changed` since they were read.

    last: when each student handed in what was graded now.
    """

    path: Path
    attempts: Mapping[str, tuple[GradedAttempt, ...]]
    last: Times = field(default_factory=dict)
    changed: bool = False

    def counted(
        self,
        exercise: Exercise,
        verdicts: Iterable[Verdict],
        rules: AttemptRules,
        marking: MarkingRules,
    ) -> dict[str, CountedAttempt]:
        """Return the attempt that counts, by student.

        `marking` says what there are points for now. Who is not in it has those of the verdict.
        """
        if rules.only_the_last:
            return {}
        counting = {
            each.student: _counting(attempts, each, rules, partial(_mark, exercise, marking))
            for each in verdicts
            if not each.infrastructure and (attempts := self.attempts.get(each.student))
        }
        return {
            who: CountedAttempt(attempt.points(exercise, marking), self._seconds(who, attempt))
            for who, attempt in counting.items()
        }

    def _seconds(self, student: str, attempt: GradedAttempt) -> float:
        """Return how long before the last hand-in an attempt came, 0 if that is not known."""
        last = self.last.get(student)
        if last is None or attempt.handed_in is None:
            return 0.0
        return max(0.0, (last - attempt.handed_in).total_seconds())

    def save(self) -> None:
        """Write the file; raise `KitError` when that is not possible."""
        if not self.changed:
            return
        facts = {
            name: [_facts(each) for each in attempts]
            for name, attempts in sorted(self.attempts.items())
        }
        write_whole(self.path, indented_json(facts, indent=1) + "\n")


def noted_attempts(folder: Path, verdicts: Iterable[Verdict], times: Times) -> AttemptNotes:
    """Return the notes in `folder`, with what was graded now; nothing is written yet.

    `times` are those of the hand-ins. Also while only the last attempt counts: the course may
    decide otherwise tomorrow. Raise `KitError` when the notes cannot be read.
    """
    path = folder / FILE
    noted = _read(path)
    now = dict(noted)
    for verdict in verdicts:
        if _is_attempt(verdict):
            attempts = now.get(verdict.student, ())
            new = GradedAttempt.of(verdict, times.get(verdict.student))
            now[verdict.student] = _with(attempts, new)
    return AttemptNotes(path, now, times, changed=now != noted)


def _is_attempt(verdict: Verdict) -> bool:
    """Whether there was code to grade: not where a file could not be read."""
    read = any(step.outcome is not Outcome.REJECTED for step in verdict.steps)
    return read and not verdict.infrastructure


def _with(attempts: tuple[GradedAttempt, ...], new: GradedAttempt) -> tuple[GradedAttempt, ...]:
    """Add an attempt; one with the same code is that one again, and keeps its place and time."""
    codes = [each.code_hash for each in attempts]
    if new.code_hash not in codes:
        return (*attempts, new)
    place = codes.index(new.code_hash)
    again = replace(new, handed_in=attempts[place].handed_in or new.handed_in)
    return (*attempts[:place], again, *attempts[place + 1 :])


def _counting(
    attempts: tuple[GradedAttempt, ...],
    last: Verdict,
    rules: AttemptRules,
    mark: Callable[[GradedAttempt], float],
) -> GradedAttempt:
    allowed = attempts[: rules.most]
    if rules.counts == LAST:  # which may be the code of an earlier one again
        return next((each for each in allowed if each.code_hash == last.code_hash), allowed[-1])
    best = max(reversed(allowed), key=mark)
    # Handing in again what earns no more does not make anybody late.
    first = next(each for each in allowed if mark(each) == mark(best))
    return replace(best, handed_in=first.handed_in)


def _mark(exercise: Exercise, marking: MarkingRules, attempt: GradedAttempt) -> float:
    return sum(attempt.points(exercise, marking).values())


def _read(path: Path) -> dict[str, tuple[GradedAttempt, ...]]:
    def noted(facts: Mapping[str, Any]) -> dict[str, tuple[GradedAttempt, ...]]:
        return {student: tuple(map(_attempt, attempts)) for student, attempts in facts.items()}

    fault = "the notes of earlier attempts cannot be read"
    cure = (
        "put back a copy of that file; or move it away, and only what is handed in from now on "
        "counts as an attempt"
    )
    return read_noted(path, MOST_BYTES, noted, fault, cure) or {}


def _facts(attempt: GradedAttempt) -> dict[str, Any]:
    at = attempt.handed_in
    return {**vars(attempt), "handed_in": at.isoformat() if at else None}


def _attempt(facts: Mapping[str, Any]) -> GradedAttempt:
    by_layer = tuple(str(step) for step in facts.get("by_layer", ()))
    shares, parts = _shares(facts["shares"]), _shares(facts.get("parts", {}))
    handed_in = facts.get("handed_in")
    at = datetime.fromisoformat(handed_in) if handed_in else None
    return GradedAttempt(str(facts["code_hash"]), shares, parts, by_layer, at)


def _shares(facts: Mapping[str, Any]) -> StepPoints:
    shares = {name: float(share) for name, share in facts.items()}
    if not all(0.0 <= share <= 1.0 for share in shares.values()):
        raise ValueError("a share is not between 0 and 1")
    return shares
