"""What the character model writes through a layer, and how well it knows text that is new to it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.judging.inprocess import Unusable
from autograder.play.character_model import (
    CONTEXT,
    CharacterModel,
    MakeLayer,
    read_model,
)

PROMPT = "JULIET:\nO "
LENGTH = 300  # characters that it writes
WITHOUT = 100  # characters that it writes with plain averaging
# Bounds for layers with loops of their own, which write less; the others are done long before.
SECONDS, LOSS_SECONDS = 10.0, 8.0
TEMPERATURE = 0.6
WINDOWS, TOGETHER = 16, 4  # windows of the text that is held out, and how many at once


class PlainAverage:
    """What a layer would be without attention: every token takes as much of each that it sees."""

    value_weights: np.ndarray
    output_weights: np.ndarray

    def __init__(self, embedding_dimension: int, rng: np.random.Generator) -> None:
        pass

    def forward(self, x: np.ndarray, causal: bool = False) -> np.ndarray:
        """Return the averages (B, S, D) of the values of x (B, S, D), projected."""
        length = len(x[0])
        seen = np.tri(length) if causal else np.full((length, length), 1.0)
        averages = seen / seen.sum(axis=-1, keepdims=True) @ (x @ self.value_weights)
        found: np.ndarray = averages @ self.output_weights
        return found


@dataclass(frozen=True)
class TextLoss:
    """The mean loss in nats a character, over so many characters; not finite when it is NaN."""

    nats: float
    characters: int


def written(
    make: MakeLayer,
    prompt: str = PROMPT,
    *,
    length: int = LENGTH,
    seconds: float = SECONDS,
    model: CharacterModel | None = None,
) -> Iterator[str]:
    """Yield the characters that the model writes after `prompt`, through layers made by `make`.

    It stops after `length` characters or so many `seconds`, and draws each from the shares of all,
    always with the same numbers. Raises `Unusable`, also when the layer gives NaN, and whatever the
    layer raises.
    """
    model = model or read_model()
    layers, rng = model.layers(make), np.random.default_rng(0)
    tokens, end = model.numbers(prompt) or [0], time.monotonic() + seconds
    for _ in range(length):
        logits = model.logits(np.array(tokens[-CONTEXT:])[np.newaxis], layers)[0, -1]
        if not np.isfinite(logits).all():
            raise Unusable("your layer gives numbers that are NaN or infinite.")
        # The largest sum is drawn as often as its share says (Gumbel, 1954).
        tokens.append(int(np.argmax(logits / TEMPERATURE + rng.gumbel(size=logits.size))))
        yield model.characters[tokens[-1]]
        if time.monotonic() > end:
            return


def measured_loss(
    make: MakeLayer,
    *,
    seconds: float = LOSS_SECONDS,
    model: CharacterModel | None = None,
    seed: int = 0,
) -> TextLoss:
    """Return the loss on text that the model has never seen, with layers made by `make`.

    The windows are drawn from `seed`; when the time is over, those that are left are not looked at.
    Raises as `written` does, but a loss that is NaN is returned.
    """
    model = model or read_model()
    layers, rng = model.layers(make), np.random.default_rng(seed)
    starts = rng.integers(0, len(model.held_out) - CONTEXT, WINDOWS)
    windows = np.stack([model.held_out[start : start + CONTEXT + 1] for start in starts])
    found, end = list[np.ndarray](), time.monotonic() + seconds
    for part in _parts(windows):
        logits = model.logits(part[:, :-1], layers).astype(float)
        right = np.take_along_axis(logits, part[:, 1:, np.newaxis], axis=-1)[..., 0]
        found.append((np.logaddexp.reduce(logits, axis=-1) - right).ravel())
        if time.monotonic() > end:
            break
    losses = np.concatenate(found)
    return TextLoss(float(losses.mean()), losses.size)


def _parts(windows: np.ndarray) -> Sequence[Any]:
    return [windows[start : start + TOGETHER] for start in range(0, len(windows), TOGETHER)]
