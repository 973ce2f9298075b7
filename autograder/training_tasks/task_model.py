"""The model around somebody's layer: a Transformer of two blocks, as small as a task allows.

Layer norm stands before attention and before the feed-forward network, as in GPT-2 and in the
Vision Transformer (Radford et al., 2019; Dosovitskiy et al., 2020).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from autograder.judging.layer_error import Unusable
from autograder.judging.value_words import shape_words
from autograder.training_tasks.digit_pictures import CLASSES
from autograder.training_tasks.training_task import SPREAD, TrainingTask

WIDTH = 42  # C; a quarter, a half or a third of it is no other size of a task
BLOCKS = 2

LayerOfWidth = Callable[[int], Any]


class TaskModel(nn.Module):
    """A model for `task`, with layers made by `make(C)`; with `causal`, they get causal=True.

    Raises `Unusable` for what is no layer of PyTorch, and whatever `make` raises.
    """

    def __init__(self, task: TrainingTask, make: LayerOfWidth, *, causal: bool) -> None:
        super().__init__()
        self.task = task
        self.embedding = task.embedding(WIDTH)
        self.positions = nn.Parameter(torch.randn(task.tokens, WIDTH) * SPREAD)
        self.blocks = nn.ModuleList(_Block(_layer(make), causal) for _ in range(BLOCKS))
        self.norm = nn.LayerNorm(WIDTH)
        self.to_classes = nn.Linear(WIDTH, CLASSES)

    @property
    def layers(self) -> list[nn.Module]:
        """The layer of each block."""
        return [block.get_submodule("layer") for block in self.blocks]

    def forward(self, inputs: Tensor) -> Tensor:
        """Return logits (B, A, classes); for what is not written to its end, of what is there."""
        embedded = self.embedding(inputs)
        x = embedded + self.positions[: len(embedded[0])]
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.to_classes(self.norm(self.task.answering(x)))
        return logits


class _Block(nn.Module):
    def __init__(self, layer: nn.Module, causal: bool) -> None:
        super().__init__()
        self.layer = layer
        self.options = {"causal": True} if causal else {}
        self.before_layer, self.before_network = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.network = nn.Sequential(
            nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return token vectors (B, S, C) with what the layer and the network add to `x`."""
        x = x + _usable(self.layer(self.before_layer(x), **self.options), x.shape)
        added: Tensor = self.network(self.before_network(x))
        return x + added


def _layer(make: LayerOfWidth) -> nn.Module:
    made = make(WIDTH)
    if not isinstance(made, nn.Module):
        kind = type(made).__name__
        raise Unusable(f"an object of type {kind} came, but a layer (nn.Module) is expected.")
    return made


def _usable(output: Any, shape: torch.Size) -> Tensor:
    """Return what a layer gave; raise `Unusable` when the model cannot go on with it."""
    expected = shape_words(tuple(shape), "B S C")
    if not isinstance(output, Tensor):
        kind = type(output).__name__
        raise Unusable(f"your layer gives an object of type {kind}, but {expected} is expected.")
    if output.shape != shape:
        given = tuple(output.shape)
        raise Unusable(f"your layer gives the shape {given}, but {expected} is expected.")
    if not output.is_floating_point():
        raise Unusable(f"your layer gives {output.dtype}, but floating-point numbers are expected.")
    return output
