"""A child runs the learner's layer: what a model says through it, and how one learns through it."""

from __future__ import annotations

import math
from collections.abc import Callable

from autograder.errors import KitError
from autograder.judging.time_limit import GRACE, WALL
from autograder.learning.checking import MARGIN, Checking, JobRunner
from autograder.learning.workspace import read_work
from autograder.play import in_child
from autograder.play.language_model import TextLoss
from autograder.play.training_words import Moment, TrainingResult
from autograder.values.exercise import Exercise, LayerTraining
from autograder.values.value_file import read_as


def hear(checking: Checking, layer: str, child: JobRunner, say: Callable[[str], None]) -> TextLoss:
    """Return the loss of the model with the learner's `layer`; `say` gets the text in pieces.

    `child` was started for the exercise and is ended here. Raises `KitError` when it cannot speak.
    """
    child.wait_until_ready()
    child.send({**checking.job(), "act": {"module": in_child.__name__, "layer": layer}})
    loss = TextLoss(math.nan, 0)
    try:
        while True:
            message = child.receive(WALL * in_child.SPEAKING + GRACE)
            match message["event"]:
                case "measured":
                    loss = TextLoss(message["nats"], message["characters"])
                case "spoke":
                    say(message["text"])
                case "unable":
                    raise _speechless(checking, message["why"])
                case "done":
                    return loss
                case "loading" | "loaded":
                    pass
                case _:
                    raise _speechless(checking, "your code does not run to its end.")
    finally:
        child.end()


def _speechless(checking: Checking, why: str) -> KitError:
    return KitError(
        f"the model cannot speak yet: {why}",
        place=str(checking.submission.path),
        cure="see what `attn check` says",
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
    act = {
        "module": in_child.__name__,
        "task": training.task,
        "layer": training.layer,
        "arguments": list(training.arguments),
        "causal": training.causal,
        "first_seconds": exercise.limits.seconds_per_call,
        "most_steps": most_steps,
    }
    child.send({**checking.job(), "act": act})
    result: TrainingResult | None = None
    try:
        while True:
            message = child.receive(WALL * in_child.TRAINING + GRACE + MARGIN)
            match message["event"]:
                case "training":
                    show(read_as(Moment, message["moment"]))
                case "trained":
                    result = read_as(TrainingResult, message["result"])
                case "unable":
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
        cure="see what `attn check` says",
    )
