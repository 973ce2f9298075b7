"""What a student reads is there and is meant for a student: hints, misconceptions, examples."""

from __future__ import annotations

import re

from autograder.checks.recording import record_examples
from autograder.checks.reference import Misconception, Reference
from autograder.model.exercise import Step

RUNGS = 3
TO_THE_STUDENT = re.compile(r"\b(you|your)\b", re.IGNORECASE)


def word_gaps(reference: Reference) -> tuple[str, ...]:
    """Return a sentence for each hint, docstring or example that is missing or not for students.

    Raises `KitError` when a step has no worked example.
    """
    record_examples(reference.exercise.folder)
    hints = [gap for step in reference.exercise.steps for gap in _hint_gaps(step)]
    words = [gap for known in reference.misconceptions for gap in _misconception_gaps(known)]
    return (*hints, *words)


def _hint_gaps(step: Step) -> list[str]:
    if len(step.hints) != RUNGS or not all(hint.strip() for hint in step.hints):
        return [f"{step.name} has {len(step.hints)} hints: write {RUNGS}, from question to recipe"]
    gaps = []
    if not step.hints[0].rstrip().endswith("?"):
        gaps.append(f"the first hint of {step.name} is no question: ask one")
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
    if "!" in known.words:
        gaps.append(f"{known.name} has an exclamation mark: take it out")
    return gaps
