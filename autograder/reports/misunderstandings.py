"""What a class misunderstood: the mistakes it made, each with the sentence its students read."""

from __future__ import annotations

import hashlib
import re
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
# What a sentence says of one hand-in only, and what stands for it where it tells of the same in
# others. Inputs are drawn, so shapes and numbers differ too.
_OF_ONE_HAND_IN = (
    (re.compile(r"`[^`]*` \([Ll]ine \d+(?: of its cell)?\)"), "a line"),
    (re.compile(r"\b[Ll]ine \d+(?: of its cell)?(?:, `[^`]*`,?)?"), "a line"),
    (re.compile(r"((?:Name|UnboundLocal|Key)Error: [^`']*)'[^'`]*'"), r"\1a name"),
    (re.compile(r"(parameters) \([^)]*\)"), r"\1"),
    (re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?\b"), "a number"),
    (re.compile(r"`\w+` \((?:a number(?:, )?)+\)(?:, )?"), "a shape "),
    (re.compile(r"(?:a shape )+"), "shapes"),
)
_LINE = re.compile(r"\b[Ll]ine \d+")
_BARE = re.compile(r"a line raises `?\w+`?\.")  # what only the code tells apart
_LONGEST = 1_000  # characters of a sentence that are looked at
# How a step ends that somebody has misunderstood.
_MISTAKEN = (Outcome.WRONG_TYPE, Outcome.WRONG_SHAPE, Outcome.WRONG_VALUES, Outcome.RAISED)


@dataclass(frozen=True)
class Misunderstanding:
    """A mistake at one step and the students who made it.

    `code` tells it from others (see `mistakes_at`). `name` is the name of the misconception in
    words; "" for a mistake that has none and is known by what it returns, or by its sentence.
    `example` is the student whose code, and whose `sentence`, may stand for all: it has the lines,
    names and numbers of that one.
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
    steps return the same, or who read the same sentence, but for lines, names and numbers.
    Raise `KitError` when a verdict is not about this exercise.
    """
    roll = class_roll(exercise, verdicts)
    made: dict[tuple[str, str], dict[str, Finding]] = defaultdict(dict)
    for verdict in roll:
        for step in verdict.steps:
            for code, finding in mistakes_at(step).items():
                made[step.name, code][verdict.student] = finding
    hashes = {verdict.student: verdict.code_hash for verdict in roll}
    place = {step.name: number for number, step in enumerate(exercise.steps)}
    found = []
    for (step_name, code), findings in made.items():
        # By chance, so that nobody can tell whose it is by the order of names.
        example = min(findings, key=lambda student: hashes[student])
        told = findings[example]
        if told.misconception or len(findings) >= _SHARED:
            name, who = misconception_words(told.misconception or ""), tuple(findings)
            found.append(Misunderstanding(step_name, code, name, told.fact, who, example))
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
    inputs that the class shares; and where that is not known, a digest of the sentence without
    what is of one hand-in only.
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
    sentence = of_any_hand_in(told.fact).encode("utf-8", "backslashreplace")
    return {hashlib.blake2b(sentence, digest_size=_CODE_BYTES).hexdigest(): told}


def of_any_hand_in(sentence: str) -> str:
    """Return a sentence without the lines, names, shapes and numbers that are of one hand-in only.

    It is not for reading: where it is the same, the sentences tell of the same.
    """
    found = sentence = sentence[:_LONGEST]
    for pattern, words in _OF_ONE_HAND_IN:
        found = pattern.sub(words, found)
    return _LINE.sub("a line", sentence) if _BARE.fullmatch(found) else found
