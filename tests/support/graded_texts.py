"""A class whose hand-ins are texts, one file each, graded by the real engine."""

from __future__ import annotations

from pathlib import Path

from autograder.checks.submission_judge import JudgedSteps
from autograder.grading.batch import grade_batch
from autograder.grading.journal import GradingRun
from autograder.submission.reading import Submission
from autograder.values.verdict import StepVerdict, Verdict
from support.learner_workspace import ROOT


def solution(exercise: str, *changes: tuple[str, str]) -> str:
    """The reference of an exercise, with texts replaced."""
    text = (ROOT / "solutions" / exercise / "solution.py").read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def handed_in(exercise: str, *texts: str) -> list[Submission]:
    """The texts as hand-ins, each by a student who is called by its number."""
    return [
        Submission(str(number), exercise, (text,), Path(f"{number}.py"))
        for number, text in enumerate(texts)
    ]


def graded(exercise: str, *texts: str, **how: bool | bytes) -> tuple[Verdict, ...]:
    """The verdicts on the texts; `how` they are graded is said as in `GradingRun`."""
    run = GradingRun(**how)  # type: ignore[arg-type]
    return grade_batch(ROOT / "solutions" / exercise, handed_in(exercise, *texts), run)


def step_of(verdict: Verdict | JudgedSteps, name: str) -> StepVerdict:
    """What was found of one step."""
    return next(step for step in verdict.steps if step.name == name)
