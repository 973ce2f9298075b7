"""Lets a model speak, or learn, through the learner's layer; runs in the child that checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any

from autograder.judging.inprocess import layer_error_words
from autograder.play.language_model import (
    BEFORE,
    PROMPT,
    WITH_LAYER,
    WITHOUT,
    WITHOUT_LAYER,
    PlainAverage,
    measured_loss,
    written,
)
from autograder.values.symbols import not_there

# Of processor time: for a layer that is slow, but comes to an end. A training stops before.
SPEAKING, TRAINING = 30.0, 60.0
Limit = Callable[[float], AbstractContextManager[None]]


def perform(
    names: Mapping[str, Any], act: Mapping[str, Any], send: Callable[..., None], limit: Limit
) -> None:
    """Send how the layer `act["layer"]` speaks, or how it learns a task; or why it cannot."""
    layer = act["layer"]
    if layer not in names:
        send(event="unable", why=not_there(layer))
        return
    try:
        if "task" in act:
            _train(names[layer], act, send, limit)
        else:
            with limit(SPEAKING):
                _speak(names[layer], send)
    except Exception as error:
        send(event="unable", why=layer_error_words(error))


def _speak(make: Any, send: Callable[..., None]) -> None:
    """Send the loss, and then the text, character by character.

    Nothing is said before it is sure that there is something to say.
    """
    loss = measured_loss(make)
    send(event="measured", nats=loss.nats, characters=loss.characters)
    send(event="spoke", text=f"{BEFORE}\n\n{WITHOUT_LAYER}\n\n{PROMPT}")
    for character in written(PlainAverage, length=WITHOUT):
        send(event="spoke", text=character)
    send(event="spoke", text=f"\n\n{WITH_LAYER}\n\n{PROMPT}")
    for character in written(make):
        send(event="spoke", text=character)


def _train(layer: Any, act: Mapping[str, Any], send: Callable[..., None], limit: Limit) -> None:
    """Send how a training goes and its result.

    act: task, layer, arguments and causal as in the exercise; first_seconds, within which a first
    call of the layer has to return.
    """
    # Here, because this module is imported where there is no PyTorch, too.
    from autograder.play.training import call_once, task_named, trained
    from autograder.play.training_words import Moment

    def make(width: int) -> Any:
        return layer(width, *act["arguments"])

    task, causal = task_named(act["task"]), act["causal"]
    with limit(act["first_seconds"]):
        call_once(task, make, causal=causal)
    with limit(TRAINING):
        for each in trained(task, make, causal=causal):
            if isinstance(each, Moment):
                send(event="training", moment=asdict(each))
            else:
                send(event="trained", result=asdict(each))
