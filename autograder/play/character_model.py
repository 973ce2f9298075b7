"""A small language model that writes one character after another, in NumPy.

Its attention is somebody's own layer: the model has the weights, and the layer does the work. The
rest is that of GPT-2: embeddings and positions, blocks with layer norm before attention and before
a feed-forward network, and the residual stream that both add to (Radford et al., 2019).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from autograder.judging.inprocess import Unusable
from autograder.judging.value_words import shape_words
from autograder.model.files import read_small

DIMENSION, CONTEXT, LAYERS = 48, 96, 4  # D, the longest S, and how many blocks there are
WEIGHTS = Path(__file__).with_name("weights.npz")
MOST_BYTES = 300_000
_EPSILON = 1e-5

MakeLayer = Callable[[int, np.random.Generator], Any]


@dataclass(frozen=True)
class CharacterModel:
    """A trained model: its characters, its weights by name, and text that it has never seen.

    held_out: the numbers of characters.
    """

    characters: str
    weights: Mapping[str, np.ndarray]
    held_out: np.ndarray

    def layers(self, make: MakeLayer) -> list[Any]:
        """Return a layer for each block, made by `make(D, rng)`, with the weights of the model."""
        made = [make(DIMENSION, np.random.default_rng(0)) for _ in range(LAYERS)]
        for number, layer in enumerate(made):
            for name in ("query", "key", "value", "output"):
                setattr(layer, f"{name}_weights", self.weights[f"{number}.{name}"].copy())
        return made

    def logits(self, tokens: np.ndarray, layers: Sequence[Any]) -> np.ndarray:
        """Return the logits (B, S, V) of the character that follows each of `tokens` (B, S).

        Each of `layers` is asked for `forward(x, causal=True)`. Raises `Unusable`.
        """
        weights = self.weights
        x = weights["embeddings"][tokens] + weights["positions"][: tokens.shape[1]]
        for number, layer in enumerate(layers):
            gathered = layer.forward(self._norm(x, f"{number}.norm1"), causal=True)
            x = x + _usable(gathered, x.shape)
            h = self._norm(x, f"{number}.norm2")
            up = np.maximum(h @ weights[f"{number}.up"] + weights[f"{number}.up_bias"], 0)
            x = x + up @ weights[f"{number}.down"] + weights[f"{number}.down_bias"]
        found: np.ndarray = self._norm(x, "last_norm") @ weights["embeddings"].T
        return found

    def numbers(self, text: str) -> list[int]:
        """Return the numbers of the characters of `text`; unknown ones are left out."""
        return [self.characters.index(each) for each in text if each in self.characters]

    def _norm(self, x: np.ndarray, name: str) -> np.ndarray:
        centered = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centered**2).mean(axis=-1, keepdims=True) + _EPSILON)
        scale, shift = self.weights[f"{name}_scale"], self.weights[f"{name}_shift"]
        normed: np.ndarray = centered / spread * scale + shift
        return normed


def _usable(gathered: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return what a layer gave; raise `Unusable` when the model cannot go on with it."""
    expected = shape_words(shape, "B S D")
    if not isinstance(gathered, np.ndarray):
        kind = type(gathered).__name__
        raise Unusable(f"your layer gives an object of type {kind}, but {expected} is expected.")
    if gathered.shape != shape:
        raise Unusable(f"your layer gives the shape {gathered.shape}, but {expected} is expected.")
    if gathered.dtype.kind not in "fiub":
        raise Unusable(f"your layer gives an array of {gathered.dtype}, but numbers are expected.")
    return gathered


@cache
def read_model(file: Path = WEIGHTS) -> CharacterModel:
    """Return the model whose weights are in `file`; raises `OSError` when there are none."""
    arrays = np.load(io.BytesIO(read_small(file, MOST_BYTES)), allow_pickle=False)
    made = {name: arrays[name] for name in arrays.files}
    characters, held_out = "".join(made.pop("characters")), made.pop("held_out")
    weights = {name: each.astype(np.float32) for name, each in made.items()}
    return CharacterModel(characters, weights, held_out)
