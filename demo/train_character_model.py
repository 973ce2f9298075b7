"""Trains the character model that the kit ships: `python -m demo.train_character_model`.

It needs PyTorch and a text of at least 100,000 characters; the shipped weights were made from plays
by William Shakespeare ("tiny Shakespeare", in the public domain). The attention of every block is
the layer of the NumPy exercise: four matrices (D, D), no biases, one head. So this file gives the
exercises away, and is not in what students install.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.errors import KitError
from autograder.play.language_model import CONTEXT, DIMENSION, LAYERS

if TYPE_CHECKING:
    import torch

HELD_OUT = 1 / 20  # of the text: it is not trained on
KEPT = 8_192  # characters of what is held out are shipped, to measure the loss on
SHORTEST = 100_000
STEPS, BATCH, LEARNING_RATE = 6_000, 24, 4e-3


def trained(text: str, seed: int, steps: int = STEPS) -> dict[str, np.ndarray]:
    """Return the weights of a model of `text`, in half precision, by their names.

    Raises `KitError` when the text is too short.
    """
    if len(text) < SHORTEST:
        raise KitError(
            f"the text has {len(text)} characters; training needs at least {SHORTEST}",
            place="the text",
            cure="take a longer one",
        )
    import torch

    torch.manual_seed(seed)
    characters = sorted(set(text))
    numbers = {character: number for number, character in enumerate(characters)}
    data = torch.tensor([numbers[character] for character in text])
    end = int(len(data) * (1 - HELD_OUT))
    weights = _initial(len(characters))
    optimizer = torch.optim.AdamW(weights.values(), LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, total_steps=steps)
    for step in range(steps):
        starts = torch.randint(0, end - CONTEXT - 1, (BATCH,))
        windows = torch.stack([data[start : start + CONTEXT + 1] for start in starts])
        logits = model_logits(weights, windows[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 500 == 0:
            print(f"step {step}: {loss.item():.3f} nats a character", flush=True)
    made = {name: each.detach().numpy().astype(np.float16) for name, each in weights.items()}
    held_out = data[end : end + KEPT].numpy().astype(np.uint8)
    return {**made, "characters": np.array(characters), "held_out": held_out}


def _initial(characters: int) -> dict[str, torch.Tensor]:
    """Return weights to begin with, by the names that the model has."""
    import torch

    size = DIMENSION
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings": (characters, size),
        "positions": (CONTEXT, size),
        "last_norm_scale": (size,),
        "last_norm_shift": (size,),
    }
    for layer in range(LAYERS):
        for name in ("query", "key", "value", "output"):
            shapes[f"{layer}.{name}"] = (size, size)
        for name in ("norm1", "norm2"):
            shapes[f"{layer}.{name}_scale"] = shapes[f"{layer}.{name}_shift"] = (size,)
        shapes[f"{layer}.up"], shapes[f"{layer}.up_bias"] = (size, 4 * size), (4 * size,)
        shapes[f"{layer}.down"], shapes[f"{layer}.down_bias"] = (4 * size, size), (size,)

    def begun(name: str, shape: tuple[int, ...]) -> torch.Tensor:
        if name.endswith("_scale"):
            return torch.ones(shape)
        if len(shape) == 1:
            return torch.zeros(shape)
        spread = 0.1 if name in ("embeddings", "positions") else shape[0] ** -0.5
        return spread * torch.randn(shape)

    return {name: begun(name, shape).requires_grad_() for name, shape in shapes.items()}


def model_logits(weights: dict[str, torch.Tensor], tokens: torch.Tensor) -> torch.Tensor:
    """Return the logits (B, S, V) for `tokens` (B, S), as `CharacterModel.logits` does."""
    import torch

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        scale, shift = weights[f"{name}_scale"], weights[f"{name}_shift"]
        return torch.nn.functional.layer_norm(x, (DIMENSION,), scale, shift)

    length = tokens.shape[1]
    future = torch.triu(torch.ones(length, length, dtype=torch.bool), 1)
    x = weights["embeddings"][tokens] + weights["positions"][:length]
    for layer in range(LAYERS):
        h = norm(x, f"{layer}.norm1")
        queries, keys, values = (
            h @ weights[f"{layer}.{name}"] for name in ("query", "key", "value")
        )
        scores = queries @ keys.transpose(1, 2) / DIMENSION**0.5
        shares = scores.masked_fill(future, -torch.inf).softmax(-1)
        x = x + shares @ values @ weights[f"{layer}.output"]
        h = norm(x, f"{layer}.norm2")
        up = (h @ weights[f"{layer}.up"] + weights[f"{layer}.up_bias"]).relu()
        x = x + up @ weights[f"{layer}.down"] + weights[f"{layer}.down_bias"]
    return norm(x, "last_norm") @ weights["embeddings"].T


def main(words: list[str] | None = None) -> None:
    """Train a model and write its weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", type=Path, help="a text, in UTF-8")
    parser.add_argument("weights", type=Path, help="the file to write, such as weights.npz")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=STEPS)
    given: Any = parser.parse_args(words)
    made = trained(given.text.read_text(encoding="utf-8"), given.seed, given.steps)
    with given.weights.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **made)
    print(f"{given.weights}: {given.weights.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
