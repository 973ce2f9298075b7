"""Trains with every known mistake of an exercise in its place, and measures what comes of it.

`make training-costs` runs it. It writes what it finds beside each exercise, and the page about it.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from autograder.authoring.harness import Harness, read_harness
from autograder.checks.marks import title_of
from autograder.checks.reference import Misconception
from autograder.errors import KitError
from autograder.judging.inprocess import Unusable
from autograder.play.training import task_named, trained
from autograder.play.training_words import (
    COUNT,
    NOTICED,
    MeasuredTrainings,
    TaskOutcome,
    TrainedMistake,
    TrainingResult,
    number_range,
    read_trainings,
)
from autograder.values.exercise import (
    MISTAKE_COSTS,
    LayerTraining,
    find_exercise,
    generated,
    read_exercise,
)
from autograder.values.files import write_whole

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "solutions"
DOCUMENT = ROOT / "docs" / "training-costs.md"
SEEDS = 5  # trainings of the right layer on each task, and with a mistake that is noticed
_AMPLE = 3600.0  # seconds: nothing is cut here
_MOST_WORDS = 200  # characters of an error


def measured_trainings(folder: Path, steps: int | None = None) -> MeasuredTrainings:
    """Return what comes of the tasks of the exercise in `folder`, with each known mistake.

    A mistake is trained with once; where that is noticed and no error ends it, with more seeds.
    steps: those of each task, if not given.
    """
    harness = read_harness(folder)
    trainings = harness.reference.exercise.trainings
    right = tuple(_outcome(harness.module, each, range(SEEDS), steps) for each in trainings)
    measured = MeasuredTrainings(right, ())
    for known in harness.reference.misconceptions:
        found = _trained_mistake(harness, known, measured, steps)
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
    harness: Harness,
    known: Misconception,
    measured: MeasuredTrainings,
    steps: int | None,
) -> TrainedMistake:
    trainings = _learned(measured, harness.reference.exercise.trainings)
    layers = [each.layer for each in trainings]
    concerned = [
        each
        for each in trainings
        # A wrong layer concerns the tasks that are learned through it, a wrong step all of them.
        if known.step not in layers or each.layer == known.step
    ]
    with harness.replaced({known.step: known.wrong}) as module:
        seen = harness.run_step(known.step)
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


# The page about what each known mistake does to a training, in Markdown.

_HEAD = (
    "# What each mistake does to a training",
    "",
    "`make training-costs` writes this page. A small model learns the tasks of `attn play` with",
    f"the right layer, {SEEDS} times from {SEEDS} seeds, and then with each known mistake in the",
    f"place of the right step. Each is tried on {COUNT} new inputs. The cells say how many of them",
    "come out right, and the loss in nats a digit; of several trainings, the lowest and the",
    "highest.",
    "",
    f"A mistake is *noticed* if at least {NOTICED + 1} fewer come out right than ever with the",
    f"right layer, or if an error ends the training. What is noticed is trained {SEEDS} times, the",
    "rest once. A loss *looks better* if it is below half of the right layer's, by the medians of",
    "the seeds, and the mistake is noticed. A task that the right layer does not learn is left",
    "out, and so is one that does not use the step.",
)


def training_document(folders: Iterable[Path]) -> str:
    """Return the page about all exercises in `folders` that have something measured."""
    lines = [*_HEAD]
    for exercise in map(read_exercise, folders):
        measured = read_trainings(exercise.folder) if exercise.trainings else None
        if measured:
            lines += ["", f"## {exercise.title}", "", *_section(measured)]
    return "\n".join(lines) + "\n"


def _section(measured: MeasuredTrainings) -> Iterator[str]:
    hidden = sum(map(measured.is_hidden, measured.mistakes))
    better = sum(_looks_better(measured, each) for each in measured.mistakes)
    stopped = sum(any(one.stops for one in each.outcomes) for each in measured.mistakes)
    yield f"- Of {len(measured.mistakes)} mistakes, {hidden} stay hidden. Exact checks find all."
    yield f"- {better} make the loss look better, while what is written is wrong."
    yield f"- {stopped} end in an error."
    yield ""
    tasks = [each.task for each in measured.right]
    yield f"| step | mistake | {' | '.join(tasks)} | which check finds it |"
    yield f"|---|---|{'---|' * len(tasks)}---|"
    yield f"| | *the right layer* | {' | '.join(map(_cell, measured.right))} | |"
    for mistake in sorted(measured.mistakes, key=lambda each: _rank(measured, each)):
        came = {each.task: _cell(each) for each in mistake.outcomes}
        cells = " | ".join(came.get(task, "") for task in tasks)
        yield f"| `{mistake.step}` | {mistake.words} | {cells} | {mistake.shown_by} |"


def _cell(outcome: TaskOutcome) -> str:
    if outcome.stops:
        error, colon, _ = outcome.stops.partition(":")
        return f"`{error}`" if colon else "a wrong shape"
    if None in outcome.losses:
        return "the loss is NaN"
    return f"{number_range(outcome.rights)}; {number_range(outcome.losses)}"


def _looks_better(measured: MeasuredTrainings, mistake: TrainedMistake) -> bool:
    return any(map(measured.looks_better, mistake.outcomes))


def _rank(measured: MeasuredTrainings, mistake: TrainedMistake) -> tuple[bool, bool, bool]:
    """Those first whose loss looks better, then what is noticed, errors, and what stays hidden."""
    return (
        not _looks_better(measured, mistake),
        measured.is_hidden(mistake),
        any(each.stops for each in mistake.outcomes),
    )


def written_trainings(measured: MeasuredTrainings) -> str:
    """Return the text of the file."""
    return json.dumps(asdict(measured), indent=1, ensure_ascii=False) + "\n"


def main(words: list[str] | None = None) -> None:
    """Measure the exercises that are named, or all, and write the page about all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("exercises", nargs="*", help="by their names; all if none is named")
    parser.add_argument("--solutions", type=Path, default=SOLUTIONS)
    parser.add_argument("--document", type=Path, default=DOCUMENT, help="the page to write")
    parser.add_argument("--steps", type=int, help="of each training, for a trial")
    given: Any = parser.parse_args(words)
    folders = sorted(path.parent for path in given.solutions.glob("*/exercise.toml"))
    named = [find_exercise(name, given.solutions) for name in given.exercises]
    for exercise in named or map(read_exercise, folders):
        if exercise.trainings:
            found = measured_trainings(exercise.folder, steps=given.steps)
            write_whole(generated(exercise.folder, MISTAKE_COSTS), written_trainings(found))
            hidden = sum(map(found.is_hidden, found.mistakes))
            print(f"{exercise.name}: {len(found.mistakes)} mistakes, {hidden} stay hidden")
    write_whole(given.document, training_document(folders))


if __name__ == "__main__":
    try:
        main()
    except KitError as error:
        sys.exit(f"error: {error}")
