"""What a class misunderstood: the mistakes it made, each with the sentence its students read."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.model.exercise import Exercise
from autograder.model.sanitize import clean_line
from autograder.model.symbols import step_mark
from autograder.model.verdict import Finding, Outcome, StepVerdict, Verdict
from autograder.reports.roll import class_roll

_SHARED = 2  # students who have made the same mistake without a name
_CODE_BYTES = 4
# How a step ends that somebody has misunderstood.
_MISTAKEN = (Outcome.WRONG_TYPE, Outcome.WRONG_SHAPE, Outcome.WRONG_VALUES, Outcome.RAISED)


@dataclass(frozen=True)
class Misunderstanding:
    """A mistake at one step and the students who made it.

    `code` tells it from others (see `mistakes_at`). `name` is the name of the misconception in
    words; "" for a mistake that has none and is known by what it returns, or by its `sentence`,
    which the first of its students read. `example` is the student whose code may stand for all.
    """

    step: str
    code: str
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

    These are all that have a name, and those without one that two students or more have made: whose
    steps return the same, or who read the same sentence. Raise `KitError` when a verdict is not
    about this exercise.
    """
    roll = class_roll(exercise, verdicts)
    made: dict[tuple[str, str], tuple[Finding, list[str]]] = {}
    for verdict in roll:
        for step in verdict.steps:
            for code, finding in mistakes_at(step).items():
                made.setdefault((step.name, code), (finding, []))[1].append(verdict.student)
    hashes = {verdict.student: verdict.code_hash for verdict in roll}
    place = {step.name: number for number, step in enumerate(exercise.steps)}
    found = []
    for (step_name, code), (first, students) in made.items():
        if first.misconception or len(students) >= _SHARED:
            # By chance, so that nobody can tell whose it is by the order of names.
            example = min(students, key=lambda student: hashes[student])
            name = misconception_words(first.misconception or "")
            who = tuple(students)
            found.append(Misunderstanding(step_name, code, name, first.fact, who, example))
    return tuple(sorted(found, key=lambda each: (-len(each.students), place[each.step], each.code)))


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


def mistakes_at(step: StepVerdict) -> dict[str, Finding]:
    """Return the mistakes of a step by their codes: those with a name, or else the one told first.

    The code is the name of the misconception; without one, the digest of what the step returns on
    inputs that the class shares; and where that is not known, a digest of the sentence.
    """
    findings = [check.finding for check in step.checks if check.finding]
    named = {each.misconception: each for each in reversed(findings) if each.misconception}
    told = step.finding
    if named or told is None or step.by_layer:
        return named
    if step.answer:
        return {step.answer: told}
    if told.vague or told.outcome not in _MISTAKEN:
        return {}
    sentence = told.fact.encode("utf-8", "backslashreplace")
    return {hashlib.blake2b(sentence, digest_size=_CODE_BYTES).hexdigest(): told}
