"""Everything that `attn verify` proves about one exercise, and the gaps that remain."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.verification.doctested import similar_code_gaps
from autograder.verification.fail_closed import closed_gaps
from autograder.verification.many_inputs import on_many_inputs
from autograder.verification.matrix import kill_matrix, matrix_text
from autograder.verification.missing import crossing_gaps, missing_gaps
from autograder.verification.naming import class_naming_gaps
from autograder.verification.rung_proof import rung_gaps
from autograder.verification.sandbox_proof import mistake_gaps, right_answer_gaps
from autograder.verification.student_text import compose_texts
from autograder.verification.trial import read_trial, recorded_examples
from autograder.verification.variants import (
    LEAST_VARIANTS,
    read_variants,
    refusals,
    refused_at_home,
)
from autograder.verification.wording import word_gaps


@dataclass(frozen=True)
class Caught:
    """One half of a proof: wrong code is caught and named on any inputs, with words for it.

    `seeds` counts the draws tried beside the exercise's own. `least_margin`, in tolerances, is the
    least of all draws.
    """

    exercise: str
    mistakes: int
    seeds: int
    checks: int
    least_margin: float
    matrix: str
    gaps: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class Accepted:
    """The other half of a proof: right code is never refused."""

    exercise: str
    variants: int
    seeds: int
    gaps: tuple[str, ...]
    seconds: float


def prove_caught(folder: Path, seeds: Sequence[int]) -> Caught:
    """Prove that every known mistake is clearly caught and named, and that no work gets no points.

    Mistakes are tried on the exercise's own inputs and on those of each of `seeds`. A hand-in with
    one, graded as a file, loses that step and no other. Raises `KitError` when the files of the
    exercise do not fit together.
    """
    begun = time.monotonic()
    heard: set[str] = set()
    trial = read_trial(folder, heard.add)
    exercise = trial.reference.exercise
    compose_texts(trial)
    matrix = kill_matrix(trial)
    own_gaps = (*matrix.gaps(), *class_naming_gaps(trial))
    many = on_many_inputs(trial, seeds)
    gaps = (
        *own_gaps,
        *many.gaps,
        *word_gaps(trial, heard),
        *closed_gaps(exercise),
        *mistake_gaps(trial),
        *rung_gaps(trial),
        *similar_code_gaps(exercise),
    )
    return Caught(
        exercise=exercise.name,
        mistakes=len(matrix.rows),
        seeds=many.seeds,
        checks=len(matrix.checks),
        least_margin=min([many.least_margin, *(row.margin for row in matrix.rows)]),
        matrix=matrix_text(exercise.title, matrix),
        gaps=gaps,
        seconds=time.monotonic() - begun,
    )


def prove_accepted(folder: Path, seeds: int) -> Accepted:
    """Prove that no correct variant is refused, on any of `seeds` seeds or by a worked example."""
    begun = time.monotonic()
    trial = read_trial(folder)
    variants = read_variants(trial)
    few = f"there are only {len(variants)} correct variants: write {LEAST_VARIANTS} in variants.py"
    gaps = ((few,) if len(variants) < LEAST_VARIANTS else ()) + refusals(trial, variants, seeds)
    gaps += refused_at_home(trial, variants, recorded_examples(folder))
    gaps += missing_gaps(trial) + crossing_gaps(trial)
    gaps += right_answer_gaps(trial.reference.exercise, variants)
    name = trial.reference.exercise.name
    return Accepted(name, len(variants), seeds, gaps, time.monotonic() - begun)
