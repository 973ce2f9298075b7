"""A child runs the learner's layer: what a model says through it, and how one learns through it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from autograder.errors import KitError
from autograder.judging.time_limit import GRACE, WALL
from autograder.learning.checking import LAST, MARGIN, Checking, JobRunner
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
    loss = TextLoss(math.nan, 0)
    unable = "the model cannot speak yet"
    for message in _performed(checking, child, {"layer": layer}, in_child.SPEAKING, unable):
        if message["event"] == "measured":
            loss = TextLoss(message["nats"], message["characters"])
        elif message["event"] == "spoke":
            say(message["text"])
    return loss


def watch_training(
    exercise: Exercise, training: LayerTraining, child: JobRunner, show: Callable[[Moment], None]
) -> TrainingResult:
    """Return what comes of a training with the learner's layer; `show` gets each moment of it.

    `child` was started for the exercise and is ended here. Raises `KitError` when there is no
    result.
    """
    checking = Checking(exercise, read_work(exercise), ())
    act = {**asdict(training), "first_seconds": exercise.limits.seconds_per_call}
    unable = f"your `{training.layer}` cannot be trained yet"
    result: TrainingResult | None = None
    for message in _performed(checking, child, act, in_child.TRAINING, unable):
        if message["event"] == "training":
            show(read_as(Moment, message["moment"]))
        elif message["event"] == "trained":
            result = read_as(TrainingResult, message["result"])
    assert result is not None  # the child is done only then
    return result


def _performed(
    checking: Checking, child: JobRunner, act: Mapping[str, Any], seconds: float, unable: str
) -> Iterator[dict[str, Any]]:
    """Give the messages of a child about what it does with the layer, until it is done.

    Raises `KitError`, which begins with `unable`, when it does not come to that.
    """
    child.wait_until_ready()
    child.send({**checking.job(), "act": {"module": in_child.__name__, **act}})
    try:
        while (message := child.receive(WALL * seconds + GRACE + MARGIN))["event"] != "done":
            match message["event"]:
                case "unable":
                    why = message["why"]
                case "stuck":
                    why = "your code does not return, and cannot be stopped."
                case event if event in LAST:
                    why = "your code does not run to its end."
                case _:
                    yield message
                    continue
            place = str(checking.submission.path)
            raise KitError(f"{unable}: {why}", place=place, cure="see what `attn check` says")
    finally:
        child.end()
