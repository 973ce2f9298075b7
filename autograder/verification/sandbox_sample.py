"""A sample of the mutants, handed in as whole solutions and graded in the real sandbox.

Exactly the mutated step is lost there, and just when the judging in this process says so.
"""

from __future__ import annotations

import ast
import inspect
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from autograder.grading.batch import grade_batch
from autograder.model.exercise import SOLUTION
from autograder.model.verdict import Outcome, Verdict
from autograder.submission.reading import Submission
from autograder.verification.mutants.judged import Fate, JudgedMutant
from autograder.verification.trial import Trial

SEED = 12


def sandbox_gaps(trial: Trial, judged: Sequence[JudgedMutant], count: int) -> tuple[str, ...]:
    """Grade `count` mutants, drawn from a fixed seed; return a sentence per disagreement.

    Raises `KitError` when the sandbox does not meet the demands.
    """
    sample = random.Random(SEED).sample(list(judged), min(count, len(judged)))
    submissions = [_submission(trial, each, number) for number, each in enumerate(sample)]
    verdicts = grade_batch(trial.reference.exercise.folder, submissions)
    return tuple(
        gap for each, verdict in zip(sample, verdicts) for gap in _gaps(trial, each, verdict)
    )


def _submission(trial: Trial, judged: JudgedMutant, number: int) -> Submission:
    """Return a solution with one step mutated, a cell for every statement of the file."""
    exercise = trial.reference.exercise
    source = (exercise.folder / SOLUTION).read_text(encoding="utf-8")
    mutant = judged.mutant
    cells = tuple(
        mutant.text if getattr(node, "name", "") == mutant.step else ast.unparse(node)
        for node in ast.parse(source).body
    )
    return Submission(f"mutant {number}", exercise.name, cells, Path(f"{exercise.name}.py"))


def _gaps(trial: Trial, judged: JudgedMutant, verdict: Verdict) -> Iterator[str]:
    lost = {step.name for step in verdict.steps if step.outcome is not Outcome.PASSED}
    own = judged.mutant.step
    killed = judged.fate in (Fate.KILLED, Fate.REFUSED)
    if (own in lost) != killed:
        here, there = ("loses its points", "keeps them")[:: 1 if killed else -1]
        yield f"a mutant {here} in this process, but {there} in the sandbox: {judged.sentence}"
    others = sorted(lost - {own} - set(_subclasses(trial, own)))
    if others:
        yield f"one mistake costs {', '.join(others)} as well: {judged.sentence}"


def _subclasses(trial: Trial, step: str) -> Iterator[str]:
    """Give the steps that build on a class: what is wrong with it is wrong with them."""
    base = getattr(trial.module, step)
    for each in trial.reference.exercise.steps:
        other = getattr(trial.module, each.name)
        if inspect.isclass(base) and inspect.isclass(other) and issubclass(other, base):
            yield each.name
