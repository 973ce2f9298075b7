"""Lets the language model speak through the learner's layer; runs in the child."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from autograder.judging.inprocess import layer_error_words
from autograder.language_model.words import BEFORE, WITH_LAYER, WITHOUT_LAYER
from autograder.language_model.writing import (
    PROMPT,
    WITHOUT,
    PlainAverage,
    measured_loss,
    written,
)
from autograder.model.symbols import not_there

SECONDS = 30.0  # for a layer that is slow, but comes to an end


def speak(names: Mapping[str, Any], layer: str, send: Callable[..., None]) -> None:
    """Send the loss, and then the text, character by character; or why there is none.

    Nothing is said before it is sure that there is something to say.
    """
    if layer not in names:
        send(event="speechless", why=not_there(layer))
        return
    try:
        loss = measured_loss(names[layer])
        send(event="measured", nats=loss.nats, characters=loss.characters)
        send(event="spoke", text=f"{BEFORE}\n\n{WITHOUT_LAYER}\n\n{PROMPT}")
        for character in written(PlainAverage, length=WITHOUT):
            send(event="spoke", text=character)
        send(event="spoke", text=f"\n\n{WITH_LAYER}\n\n{PROMPT}")
        for character in written(names[layer]):
            send(event="spoke", text=character)
    except Exception as error:
        send(event="speechless", why=layer_error_words(error))
