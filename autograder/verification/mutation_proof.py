"""The proof by mutants of one exercise: every wrong one is seen, or is declared with a reason."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.checks.marks import step_of
from autograder.verification.jury import Jury, definitions, name_of
from autograder.verification.mutants.declared import read_declared, stale, undeclared
from autograder.verification.mutants.figures import (
    LEAST_PUBLIC,
    Kills,
    MutantFigures,
    figures_of,
    kills_of,
)
from autograder.verification.mutants.judged import Fate, JudgedMutant
from autograder.verification.mutants.mutant import Mutant, mutants_of, spread
from autograder.verification.mutants.pairs import sampled_pairs
from autograder.verification.sandbox_proof import mutant_gaps
from autograder.verification.trial import Trial, read_trial, recorded_examples

QUICK = 2  # mutants of each kind in each step
PAIRS = 20  # of each step
IN_SANDBOX = 24  # of each exercise


@dataclass(frozen=True)
class ProvedByMutants:
    """What became of the mutants of an exercise."""

    exercise: str
    figures: MutantFigures
    kills: tuple[Kills, ...]
    gaps: tuple[str, ...]
    seconds: float


def prove_by_mutants(folder: Path, every: bool) -> ProvedByMutants:
    """Mutate the reference and judge the mutants: a few of each kind, or with `every`, all.

    With `every`, pairs are tried too, and a sample is graded in the sandbox. Raises `KitError` when
    the files of the exercise do not fit together, or the sandbox does not meet the demands.
    """
    begun = time.monotonic()
    trial = read_trial(folder)
    declared = read_declared(folder)
    examples = recorded_examples(folder)
    made: list[Mutant] = []
    judged: list[JudgedMutant] = []
    for step in trial.reference.exercise.steps:
        jury = Jury(trial, step.name, examples)
        all_of_step, chosen = _chosen(jury, trial, step.name, every)
        made += all_of_step
        judged += filter(None, (jury.judge(mutant, naming=every) for mutant in chosen))
    survivors = undeclared(judged, declared)
    figures = figures_of(judged, survivors, naming=every)
    gaps = [f"no check sees this mutant: {each.sentence}" for each in survivors]
    gaps += [
        f"the declared survivor is none any more: {entry.words}"
        for entry in stale(declared, judged, made)
    ]
    gaps += [*_refused(judged), *_public(figures)]
    gaps += mutant_gaps(trial, judged, IN_SANDBOX) if every else ()
    checks = [(step_of(check) or "", name_of(check)) for check in trial.checks if step_of(check)]
    return ProvedByMutants(
        trial.reference.exercise.name,
        figures,
        kills_of(checks, judged),
        tuple(gaps),
        time.monotonic() - begun,
    )


def _chosen(
    jury: Jury, trial: Trial, step: str, every: bool
) -> tuple[tuple[Mutant, ...], tuple[Mutant, ...]]:
    """Return all mutants of a step, and those that are judged."""
    subject = jury.subject(definitions(trial)[step])
    made = mutants_of(subject)
    if not every:
        return made, spread(made, QUICK)
    return made, (*made, *sampled_pairs(subject, made, PAIRS, jury.subject))


def _refused(judged: list[JudgedMutant]) -> Iterator[str]:
    for each in judged:
        if each.fate is Fate.REFUSED:
            yield (
                f"{', '.join(each.caught_by)} refuses what no probe tells from the reference: "
                f"{each.mutant.words}"
            )


def _public(figures: MutantFigures) -> Iterator[str]:
    if figures.public_percent < LEAST_PUBLIC:
        yield (
            f"the public checks kill only {figures.public_percent:.1f} percent of the mutants that "
            f"the hidden ones kill ({LEAST_PUBLIC} are expected): a student may pass at home and "
            "fail in class"
        )
