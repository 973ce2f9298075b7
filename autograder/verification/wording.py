"""Checks that the texts for students exist, speak to students, and are easy to read."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from autograder.checks.known_mistake import Misconception
from autograder.checks.recording import record_examples
from autograder.model.exercise import Step
from autograder.verification.grade_level import CODE, reading
from autograder.verification.student_text import RUNGS, StudentText, terms_of, written_texts
from autograder.verification.trial import Trial

HARDEST = 9.0  # grade level
MOST_WORDS = 80
LONGEST_SENTENCE = 25
LONGEST_TITLE = 10  # words; they count as terms, so a longer title could hide hard words
TO_THE_STUDENT = re.compile(r"\b(you|your)\b", re.IGNORECASE)
# What texts for students must not have, and how to correct it.
UNWANTED = (
    (re.compile(r"!"), "remove the exclamation mark"),
    (re.compile(r"\b(?:is|are|be) due\b"), "say that it is expected: “due” sounds like a deadline"),
    (re.compile(r"\bsimply\b", re.IGNORECASE), "remove “simply”: it may not be simple to them"),
)


def word_gaps(trial: Trial, heard: Iterable[str] = ()) -> tuple[str, ...]:
    """Return a sentence for each text that is missing, not for students, or hard to read.

    `heard` has the messages that the checks composed. Raises `KitError` when a step has no
    worked example.
    """
    reference = trial.reference
    record_examples(reference.exercise.folder)
    steps = reference.exercise.steps
    titles = [gap for step in steps for gap in _title_gaps(step)]
    hints = [gap for step in steps for gap in _hint_gaps(step)]
    words = [gap for known in reference.misconceptions for gap in _misconception_gaps(known)]
    composed = [StudentText("a message of a check", text) for text in sorted(heard)]
    texts = dict.fromkeys((*written_texts(trial), *composed))
    return (*titles, *hints, *words, *reading_gaps(texts, terms_of(reference)))


def reading_gaps(texts: Iterable[StudentText], terms: Collection[str]) -> tuple[str, ...]:
    """Return a sentence for each text that is too hard, too long, or has unwanted words."""
    return tuple(
        f"{each.place} {wrong}: “{' '.join(each.text.split())}”"
        for each in texts
        for wrong in _wrong(each.text, terms)
    )


def _wrong(text: str, terms: Collection[str]) -> list[str]:
    read, words = reading(text, terms), len(text.split())
    plain = CODE.sub("", text)
    wrong = [f"({cure})" for pattern, cure in UNWANTED if pattern.search(plain)]
    if read.grade > HARDEST:
        wrong.append(
            f"reads at grade {read.grade:.1f}, and {HARDEST:g} is the most (write shorter "
            "sentences and plainer words)"
        )
    if words > MOST_WORDS:
        wrong.append(f"has {words} words, and {MOST_WORDS} are the most (say less)")
    if read.longest > LONGEST_SENTENCE:
        wrong.append(
            f"has a sentence of {read.longest} words, and {LONGEST_SENTENCE} are the most (make "
            "it two)"
        )
    return wrong


def _title_gaps(step: Step) -> list[str]:
    words = len(step.title.split())
    if words <= LONGEST_TITLE:
        return []
    return [f"the title of {step.name} has {words} words: write at most {LONGEST_TITLE}"]


def _hint_gaps(step: Step) -> list[str]:
    if len(step.hints) != len(RUNGS) or not all(hint.strip() for hint in step.hints):
        return [
            f"{step.name} has {len(step.hints)} hints: write {len(RUNGS)}, from question to recipe"
        ]
    gaps = []
    if not step.hints[0].rstrip().endswith("?"):
        gaps.append(f"the first hint of {step.name} is not a question: ask one")
    if any("=" in hint and re.search(r"\w+\(.*\)\s*[@/*]", hint) for hint in step.hints):
        gaps.append(f"a hint of {step.name} holds code: say it in words")
    return gaps


def _misconception_gaps(known: Misconception) -> list[str]:
    fact, _, look = known.words.partition("\n\n")
    gaps = []
    if not TO_THE_STUDENT.search(fact):
        gaps.append(f"{known.name} does not speak to the student: say what their code does")
    if not look.strip():
        gaps.append(f"{known.name} does not say where to look: add a second paragraph")
    return gaps
