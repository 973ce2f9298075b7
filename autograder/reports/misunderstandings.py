"""What a class misunderstood: the mistakes it made, each with the sentence its students read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.model.exercise import Exercise
from autograder.model.sanitize import clean_line
from autograder.model.symbols import step_mark
from autograder.model.verdict import Finding, Outcome, StepVerdict, Verdict
from autograder.reports.roll import class_roll

_SHARED = 2  # students who read the same sentence about a mistake without a name
# How a step ends that somebody has misunderstood.
_MISTAKEN = (Outcome.WRONG_TYPE, Outcome.WRONG_SHAPE, Outcome.WRONG_VALUES, Outcome.RAISED)


@dataclass(frozen=True)
class Misunderstanding:
    """A mistake at one step and the students who made it.

    `name` is the name of the misconception in words; "" for a mistake that has none and is known by
    its `sentence`, which its students read. `example` is the student whose code may stand for all.
    """

    step: str
    name: str
    sentence: str
    students: tuple[str, ...]
    example: str


@dataclass(frozen=True)
class StepCount:
    """How many students there are for each sign at one step: "✓" to a number."""

    step: str
    signs: dict[str, int]


def misconception_words(name: str) -> str:
    """Return the name of a misconception as words: "softmax over the query axis"."""
    return clean_line(name.replace("_", " "), 80)


def misunderstandings(
    exercise: Exercise, verdicts: Sequence[Verdict]
) -> tuple[Misunderstanding, ...]:
    """Return the mistakes of a class, those of the most students first.

    These are all that have a name, and those without one about which two students or more read the
    same sentence. Raise `KitError` when a verdict is not about this exercise.
    """
    roll = class_roll(exercise, verdicts)
    made: dict[tuple[str, str, str], dict[str, Finding]] = defaultdict(dict)
    for verdict in roll:
        for step in verdict.steps:
            for finding in _mistakes(step):
                name = finding.misconception or ""
                key = (step.name, name, "" if name else finding.fact)
                made[key].setdefault(verdict.student, finding)
    hashes = {verdict.student: verdict.code_hash for verdict in roll}
    place = {step.name: number for number, step in enumerate(exercise.steps)}
    found = [
        Misunderstanding(
            step,
            misconception_words(name),
            next(iter(students.values())).fact,
            tuple(students),
            # By chance, so that nobody can tell whose it is by the order of names.
            min(students, key=lambda student: hashes[student]),
        )
        for (step, name, _), students in made.items()
        if name or len(students) >= _SHARED
    ]
    return tuple(sorted(found, key=lambda each: (-len(each.students), place[each.step], each.name)))


def step_counts(exercise: Exercise, verdicts: Sequence[Verdict]) -> tuple[StepCount, ...]:
    """Count for each step how many students got which sign; no sign has a count of 0."""
    roll = class_roll(exercise, verdicts)
    counts: dict[str, dict[str, int]] = {step.name: defaultdict(int) for step in exercise.steps}
    for verdict in roll:
        for step in verdict.steps:
            counts[step.name][step_mark(step).sign] += 1
    return tuple(StepCount(step, dict(signs)) for step, signs in counts.items())


def has_unnamed_mistake(verdict: Verdict) -> bool:
    """Whether a step of this student is wrong in a way that no known mistake explains."""
    return any(
        step.outcome in _MISTAKEN
        and not step.by_layer
        and not any(check.finding and check.finding.misconception for check in step.checks)
        for step in verdict.steps
    )


def _mistakes(step: StepVerdict) -> list[Finding]:
    """Return the findings on a step that name a mistake, or else the one that is told first."""
    named = [
        check.finding for check in step.checks if check.finding and check.finding.misconception
    ]
    told = step.finding
    if named or told is None or told.vague or step.by_layer:
        return named
    return [told] if told.outcome in _MISTAKEN else []
