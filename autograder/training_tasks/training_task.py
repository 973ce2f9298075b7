"""What a model learns: the data of a task, and how its input becomes token vectors.

Digits are repeated or sorted by a model that reads (blanks wait for the answer), or written one
after the other by a model that writes. Or a picture is read, and the digit that it shows is named.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from autograder.errors import KitError
from autograder.training_tasks.digit_pictures import (
    CLASSES,
    PATCH,
    PATCHES,
    drawn_digits,
    patches_of,
)

GIVEN = 6  # digits that are given, and as many that are expected
BLANK = CLASSES  # the token that stands where an answer is expected, or before it
SPREAD = 0.1  # of what is learned of a place, at first


@dataclass(frozen=True)
class Batch:
    """Inputs of a model, and the classes (B, A) that are expected of it."""

    inputs: Tensor
    expected: Tensor


class TrainingTask(ABC):
    """One task.

    steps: how often the model is changed. seconds: the most time for that; with a slow layer, there
    are fewer steps. tokens: S. answers: A. writes: whether one digit is written after the other.
    """

    name: str
    steps: int
    seconds: float
    tokens: int
    answers: int
    writes = False

    @abstractmethod
    def batch(self, count: int, rng: np.random.Generator) -> Batch:
        """Return `count` new inputs and what is expected."""

    @abstractmethod
    def embedding(self, width: int) -> nn.Module:
        """Return a layer that makes token vectors (B, S, C) of inputs."""

    @abstractmethod
    def answering(self, x: Tensor) -> Tensor:
        """Return those of the token vectors (B, S, C) that hold the answer: (B, A, C)."""


class DigitsTask(TrainingTask):
    """Six digits are given; they are expected again, in the same order or sorted."""

    seconds, tokens, answers = 18.0, 2 * GIVEN, GIVEN

    def __init__(self, name: str, steps: int, *, sorts: bool, writes: bool) -> None:
        self.name, self.steps, self.sorts, self.writes = name, steps, sorts, writes

    def batch(self, count: int, rng: np.random.Generator) -> Batch:
        """Return digits (B, S): those given and blanks, or a blank and the beginning of the answer.

        A model that writes reads the answer while it is trained, each digit one place late.
        """
        given = torch.from_numpy(rng.integers(0, CLASSES, (count, GIVEN)))
        expected = given.sort(dim=1).values if self.sorts else given
        blanks = torch.full_like(given, BLANK)
        after = torch.cat([blanks[:, :1], expected[:, :-1]], dim=1) if self.writes else blanks
        return Batch(torch.cat([given, after], dim=1), expected)

    def embedding(self, width: int) -> nn.Module:
        """Return a vector for each digit and for the blank."""
        return nn.Embedding(CLASSES + 1, width)

    def answering(self, x: Tensor) -> Tensor:
        """Return the places after the given digits."""
        return x[:, GIVEN:]


class PicturesTask(TrainingTask):
    """A picture of a digit is given in patches; a class token in front says which digit it is."""

    name, steps, seconds, tokens, answers = "digits", 700, 50.0, PATCHES + 1, 1

    def batch(self, count: int, rng: np.random.Generator) -> Batch:
        """Return patches (B, N - 1, pixels), and digits (B, 1)."""
        pictures, digits = drawn_digits(count, rng)
        expected = torch.from_numpy(digits)[:, np.newaxis]
        return Batch(torch.from_numpy(patches_of(pictures)), expected)

    def embedding(self, width: int) -> nn.Module:
        """Return a linear layer for the patches, with a class token in front of them."""
        return _PatchEmbedding(width)

    def answering(self, x: Tensor) -> Tensor:
        """Return the class token."""
        return x[:, :1]


class _PatchEmbedding(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.of_patches = nn.Linear(PATCH * PATCH, width)
        self.class_token = nn.Parameter(torch.randn(1, 1, width) * SPREAD)

    def forward(self, patches: Tensor) -> Tensor:
        """Return token vectors (B, N, D) of patches (B, N - 1, pixels)."""
        first = self.class_token.expand(len(patches), -1, -1)
        return torch.cat([first, self.of_patches(patches)], dim=1)


TASKS: dict[str, TrainingTask] = {
    each.name: each
    for each in (
        DigitsTask("repeat", 300, sorts=False, writes=False),
        DigitsTask("sort", 300, sorts=True, writes=False),
        DigitsTask("write", 400, sorts=True, writes=True),
        PicturesTask(),
    )
}


def task_named(name: str) -> TrainingTask:
    """Return a task; the `KitError` for an unknown name lists them."""
    if name not in TASKS:
        raise KitError(
            f"there is no task {name!r} to train a layer on",
            place="the call of train, or trainings in exercise.toml",
            cure=f"use one of: {', '.join(TASKS)}",
        )
    return TASKS[name]
