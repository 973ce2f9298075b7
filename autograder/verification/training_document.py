"""The page about what each known mistake does to a training, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from autograder.model.exercise import read_exercise
from autograder.training_tasks.training_costs import (
    NOTICED,
    MeasuredTrainings,
    TaskOutcome,
    TrainedMistake,
    read_trainings,
)
from autograder.training_tasks.training_result import COUNT
from autograder.training_tasks.training_words import number_range
from autograder.verification.training_measurement import SEEDS

_HEAD = (
    "# What each mistake does to a training",
    "",
    "`attn training-costs` writes this page. A small model learns the tasks of `attn play` with",
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
