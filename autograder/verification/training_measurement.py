"""Trains with every known mistake of an exercise in its place, and measures what comes of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from autograder.checks.known_mistake import Misconception
from autograder.checks.marks import title_of
from autograder.judging.layer_error import Unusable
from autograder.model.exercise import LayerTraining
from autograder.training_tasks.training import trained
from autograder.training_tasks.training_costs import (
    MeasuredTrainings,
    TaskOutcome,
    TrainedMistake,
)
from autograder.training_tasks.training_result import COUNT, TrainingResult
from autograder.training_tasks.training_task import task_named
from autograder.verification.trial import Trial, read_trial

SEEDS = 5  # trainings of the right layer on each task, and with a mistake that is noticed
_AMPLE = 3600.0  # seconds: nothing is cut here
_MOST_WORDS = 200  # characters of an error


def measured_trainings(
    folder: Path, say: Callable[[str], None] = lambda name: None, steps: int | None = None
) -> MeasuredTrainings:
    """Return what comes of the tasks of the exercise in `folder`, with each known mistake.

    A mistake is trained with once; where that is noticed and no error ends it, with more seeds.
    steps: those of each task, if not given. `say` gets the name of each mistake before it is tried.
    """
    trial = read_trial(folder)
    trainings = trial.reference.exercise.trainings
    right = tuple(_outcome(trial.module, each, range(SEEDS), steps) for each in trainings)
    measured = MeasuredTrainings(right, ())
    for known in trial.reference.misconceptions:
        say(known.name)
        found = _trained_mistake(trial, known, measured, steps)
        measured = replace(measured, mistakes=(*measured.mistakes, found))
    return measured


def _learned(
    measured: MeasuredTrainings, trainings: Sequence[LayerTraining]
) -> list[LayerTraining]:
    """Return the tasks that the right layer learns: only there a mistake can cost anything."""
    return [
        each for each in trainings if min(measured.with_right_layer(each.task).rights) > COUNT / 2
    ]


def _trained_mistake(
    trial: Trial,
    known: Misconception,
    measured: MeasuredTrainings,
    steps: int | None,
) -> TrainedMistake:
    trainings = _learned(measured, trial.reference.exercise.trainings)
    layers = [each.layer for each in trainings]
    concerned = [
        each
        for each in trainings
        # A wrong layer concerns the tasks that are learned through it, a wrong step all of them.
        if known.step not in layers or each.layer == known.step
    ]
    with trial.replaced({known.step: known.wrong}) as module:
        seen = trial.run_step(known.step)
        shown_by = next((title_of(check) for check, result in seen.items() if result.finding), "")
        outcomes = []
        for training in concerned:
            found = _outcome(module, training, (0,), steps)
            if not found.stops and measured.is_noticed(found):
                found = _joined(found, _outcome(module, training, range(1, SEEDS), steps))
            outcomes.append(found)
    words = known.words.partition("\n")[0]
    return TrainedMistake(known.name, known.step, words, shown_by, tuple(outcomes))


def _outcome(
    module: ModuleType,
    training: LayerTraining,
    seeds: Iterable[int],
    steps: int | None,
) -> TaskOutcome:
    """Return what comes of a training with each of `seeds`; the first error ends them all."""
    results: list[TrainingResult] = []
    try:
        for seed in seeds:
            results.append(_result(module, training, seed, steps))
    except Unusable as error:
        return TaskOutcome(training.task, stops=str(error))
    except Exception as error:  # whatever the mistake leads to
        words = f"{type(error).__name__}: {error}".partition("\n")[0]
        return TaskOutcome(training.task, stops=words[:_MOST_WORDS])
    losses = tuple(
        float(f"{each.loss:.2g}") if math.isfinite(each.loss) else None for each in results
    )
    return TaskOutcome(training.task, losses, tuple(each.right for each in results))


def _joined(first: TaskOutcome, more: TaskOutcome) -> TaskOutcome:
    return replace(first, losses=first.losses + more.losses, rights=first.rights + more.rights)


def _result(
    module: ModuleType, training: LayerTraining, seed: int, steps: int | None
) -> TrainingResult:
    def make(width: int) -> Any:
        return getattr(module, training.layer)(width, *training.arguments)

    moments: Sequence[Any] = list(
        trained(
            task_named(training.task),
            make,
            causal=training.causal,
            seed=seed,
            steps=steps,
            seconds=_AMPLE,
            looking=False,
        )
    )
    result = moments[-1]
    assert isinstance(result, TrainingResult)
    return result
