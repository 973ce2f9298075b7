"""Watches a training with the learner's layer, which a child runs."""

from __future__ import annotations

from collections.abc import Callable

from autograder.errors import KitError
from autograder.judging.time_limit import GRACE, WALL
from autograder.learning.own_work import read_work
from autograder.learning.runner.checking import MARGIN, Checking, JobRunner
from autograder.learning.runner.layer_training import SECONDS
from autograder.model.exercise import Exercise, LayerTraining
from autograder.training_tasks.training_result import (
    Moment,
    TrainingResult,
    read_moment,
    read_result,
)


def watch_training(
    exercise: Exercise,
    training: LayerTraining,
    child: JobRunner,
    show: Callable[[Moment], None],
    most_steps: int | None = None,
) -> TrainingResult:
    """Return what comes of a training with the learner's layer; `show` gets each moment of it.

    `child` was started for the exercise and is ended here. most_steps: those of the task, if not
    given. Raises `KitError` when there is no result.
    """
    checking = Checking(exercise, read_work(exercise), ())
    child.wait_until_ready()
    facts = {
        "task": training.task,
        "layer": training.layer,
        "arguments": list(training.arguments),
        "causal": training.causal,
        "first_seconds": exercise.limits.seconds_per_call,
        "most_steps": most_steps,
    }
    child.send({**checking.job(), "trains": facts})
    result: TrainingResult | None = None
    try:
        while True:
            message = child.receive(WALL * SECONDS + GRACE + MARGIN)
            match message["event"]:
                case "training":
                    show(read_moment(message["moment"]))
                case "trained":
                    result = read_result(message["result"])
                case "untrained":
                    raise _untrained(checking, training, message["why"])
                case "done" if result:
                    return result
                case "stuck":
                    raise _untrained(
                        checking, training, "your code does not return, and cannot be stopped."
                    )
                case "loading" | "loaded":
                    pass
                case _:
                    raise _untrained(checking, training, "your file does not run to its end.")
    finally:
        child.end()


def _untrained(checking: Checking, training: LayerTraining, why: str) -> KitError:
    return KitError(
        f"your `{training.layer}` cannot be trained yet: {why}",
        place=str(checking.submission.path),
        cure="`attn check` says what is missing",
    )
