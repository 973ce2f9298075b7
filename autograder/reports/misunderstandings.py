"""What a class misunderstood: the mistakes it made, each with the sentence its students read."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from autograder.errors import KitError
from autograder.reports.roll import class_roll
from autograder.values.exercise import Exercise
from autograder.values.files import write_whole
from autograder.values.sanitize import clean, clean_line
from autograder.values.symbols import count, step_mark
from autograder.values.value_file import read_noted
from autograder.values.verdict import Finding, Outcome, StepVerdict, Verdict

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
class Mistake:
    """A mistake at one step; `code` tells it from others (see `mistakes_at`)."""

    step: str
    code: str

    @property
    def mistake(self) -> str:
        """The name by which the class page calls it, and by which it is written to."""
        return f"{self.step}/{self.code}"


@dataclass(frozen=True)
class Misunderstanding(Mistake):
    """A mistake and the students who made it.

    `name` is the name of the misconception in
    words; "" for a mistake that has none and is known by what it returns, or by its sentence.
    `example` is the student whose code, and whose `sentence`, may stand for all: it has the lines,
    names and numbers of that one.
    """

    name: str
    sentence: str
    students: tuple[str, ...]
    example: str


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


def step_counts(exercise: Exercise, verdicts: Sequence[Verdict]) -> dict[str, Counter[str]]:
    """Count for each step how many students got which sign."""
    counts: dict[str, Counter[str]] = {step.name: Counter() for step in exercise.steps}
    for verdict in class_roll(exercise, verdicts):
        for step in verdict.steps:
            counts[step.name][step_mark(step).sign] += 1
    return counts


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


# What the instructor writes to everybody who made one mistake; it stands on their pages.
#
# It is kept beside the results, so it also reaches who makes the mistake later. No mark follows
# from it.

PARAGRAPHS = "paragraphs.json"
LONGEST = 2_000  # characters; more is no paragraph
_MOST_BYTES = 4_000_000


@dataclass(frozen=True)
class Paragraph(Mistake):
    """The `text` for who made the mistake."""

    text: str


def read_paragraphs(output: Path) -> tuple[Paragraph, ...]:
    """Return the paragraphs that are kept in the folder of results `output`.

    Raise `KitError` when the file is not one that the kit wrote.
    """
    fault = "this file is damaged: it should hold what you wrote to students"
    cure = "correct it, or delete it and write again with `attn report CLASS --tell`"
    found = read_noted(output / PARAGRAPHS, _MOST_BYTES, _paragraphs, fault, cure)
    return found or ()


def write_paragraph(output: Path, paragraph: Paragraph) -> tuple[Paragraph, ...]:
    """Keep a paragraph in place of one for the same mistake, and return all of them.

    One without text is taken away. Raise `KitError` when it is too long, or cannot be kept.
    """
    if len(paragraph.text) > LONGEST:
        raise KitError(
            f"the text has {len(paragraph.text):,} characters; {LONGEST:,} are room for a "
            "paragraph",
            place=paragraph.mistake,
            cure="shorten it, or put a link to the rest",
        )
    others = (each for each in read_paragraphs(output) if each.mistake != paragraph.mistake)
    kept = (*others, paragraph) if paragraph.text else tuple(others)
    text = json.dumps([asdict(each) for each in kept], indent=2, ensure_ascii=False)
    write_whole(output / PARAGRAPHS, text + "\n")
    return kept


def paragraphs_for(step: StepVerdict, paragraphs: Sequence[Paragraph]) -> tuple[str, ...]:
    """Return what the instructor writes to who made the mistakes of this step."""
    codes = mistakes_at(step) if paragraphs else {}
    return tuple(each.text for each in paragraphs if each.step == step.name and each.code in codes)


def _paragraphs(facts: Any) -> tuple[Paragraph, ...]:
    words = isinstance(facts, list) and [value for each in facts for value in each.values()]
    if words is False or not all(isinstance(value, str) for value in words):
        raise ValueError("paragraphs are made of words")
    return tuple(Paragraph(**each) for each in facts)


# Drafts for an exercise's catalogue of known mistakes, from what a class did without a name.
#
# A draft is a student's code. Whoever takes one over reads it first, since the catalogue runs in
# the trusted process.

DRAFTS = "misconception-drafts.txt"  # no module: nobody has read it yet
_WIDTH = 84
_HEAD = '''"""Drafts for misconceptions.py, from mistakes of this class that have no name yet.

Each one is code that a student handed in. Read it before you take it over: the catalogue runs with
your rights. Then give it a name, and say what the answer does and where to look. A draft may need
functions that the student wrote beside it.
"""
'''


def write_drafts(
    output: Path,
    mistakes: Sequence[tuple[Misunderstanding, str]],
    paragraphs: Sequence[Paragraph],
) -> None:
    """Write a draft for each mistake of a function that has no name and an example of its code.

    What the instructor wrote about it becomes the draft's docstring. Without such a mistake, there
    is no file. Raise `KitError` when the folder cannot be written.
    """
    text = draft_text(mistakes, paragraphs)
    if text:
        write_whole(output / DRAFTS, text)
    else:
        (output / DRAFTS).unlink(missing_ok=True)


def draft_text(
    mistakes: Sequence[tuple[Misunderstanding, str]], paragraphs: Sequence[Paragraph]
) -> str:
    """Return the drafts as Python code, "" when there is none."""
    told = {each.mistake: each.text for each in paragraphs}
    drafts: dict[str, list[str]] = defaultdict(list)
    for mistake, example in mistakes:
        if not mistake.name and (draft := _draft(mistake, example, told)):
            drafts[mistake.step].append(textwrap.indent(draft, "    "))
    classes = [f"class {step}:\n" + "\n\n".join(found) for step, found in drafts.items()]
    return "\n\n\n".join([_HEAD.rstrip(), *classes]) + "\n" if classes else ""


def _draft(mistake: Misunderstanding, example: str, told: dict[str, str]) -> str:
    """Return the function of `example` under a name and with a docstring of the catalogue."""
    try:
        (function,) = ast.parse(example).body
    except (SyntaxError, ValueError, RecursionError):  # it was too long to be shown whole
        return ""
    if not isinstance(function, ast.FunctionDef):
        return ""
    function.name = f"unnamed_{mistake.code}"
    function.body.insert(0, ast.Expr(ast.Constant(_docstring(mistake, told))))
    return ast.unparse(ast.fix_missing_locations(function))


def _docstring(mistake: Misunderstanding, told: dict[str, str]) -> str:
    who = count(len(mistake.students), "student")
    words = told.get(mistake.mistake) or f"{mistake.sentence} (of {who})"
    paragraphs = [textwrap.fill(each, _WIDTH) for each in clean(words, 2_000).split("\n") if each]
    # As deep as the function's body is before it is put into its class.
    return textwrap.indent("\n\n".join(paragraphs), " " * 4).lstrip() + "\n" + " " * 4
