"""Everything that `attn verify` proves of one exercise, and the gaps it leaves."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from autograder.checks.recording import record_examples
from autograder.verification.closed import closed_gaps
from autograder.verification.matrix import kill_matrix, matrix_text
from autograder.verification.naming import class_naming_gaps
from autograder.verification.trial import read_trial
from autograder.verification.variants import LEAST_VARIANTS, read_variants, refusals
from autograder.verification.words import word_gaps


@dataclass(frozen=True)
class Proof:
    """What was tried for one exercise, and a sentence for every gap."""

    exercise: str
    mistakes: int
    checks: int
    variants: int
    seeds: int
    least_margin: float
    matrix: str
    gaps: tuple[str, ...]
    seconds: float


def prove(folder: Path, seeds: int) -> Proof:
    """Prove what can be proved of the exercise in `folder`.

    Raises `KitError` when its files do not fit together at all.
    """
    begun = time.monotonic()
    trial = read_trial(folder)
    exercise = trial.reference.exercise
    matrix = kill_matrix(trial)
    variants = read_variants(trial)
    few = f"there are {len(variants)} correct variants: write {LEAST_VARIANTS} in variants.py"
    gaps = (
        *matrix.gaps(),
        *class_naming_gaps(trial),
        *((few,) if len(variants) < LEAST_VARIANTS else ()),
        *refusals(trial, variants, seeds),
        *word_gaps(trial.reference),
        *closed_gaps(exercise, record_examples),
    )
    return Proof(
        exercise=exercise.name,
        mistakes=len(matrix.rows),
        checks=len(matrix.checks),
        variants=len(variants),
        seeds=seeds,
        least_margin=min((row.margin for row in matrix.rows), default=0.0),
        matrix=matrix_text(exercise.title, matrix),
        gaps=gaps,
        seconds=time.monotonic() - begun,
    )
