"""What a model learns: the data of a task, and how its input becomes token vectors.

Digits are repeated or sorted by a model that reads (blanks wait for the answer), or written one
after the other by a model that writes. Or a picture is read, and the digit that it shows is named.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import torch
from torch import Tensor, nn

from autograder.errors import KitError
from autograder.play.training_words import CLASSES, PATCH, PATCHES, SIDE

# Pictures of digits, drawn from a seed: glyphs of 5 by 7, turned, stretched, moved and noisy.

_PIXEL = 11  # of the screen, for one of a picture
_SHADES = " ░▒▓█"
_NOISE, _TURN, _STRETCH, _MOVE = 0.15, 0.2, 0.15, 1.0
_GLYPHS = """
.###. ..#.. .###. ####. ...#. ##### .###. ##### .###. .###.
#...# .##.. #...# ....# ..##. #.... #.... ....# #...# #...#
#..## ..#.. ....# ....# .#.#. ####. #.... ...#. #...# #...#
#.#.# ..#.. ...#. .###. #..#. ....# ####. ..#.. .###. .####
##..# ..#.. ..#.. ....# ##### ....# #...# ..#.. #...# ....#
#...# ..#.. .#... ....# ...#. #...# #...# .#... #...# ....#
.###. .###. ##### ####. ...#. .###. .###. .#... .###. .###.
"""


def glyphs() -> np.ndarray:
    """Return the ten digits (10, 7, 5): 1 where there is ink, and else 0."""
    rows = [line.split() for line in _GLYPHS.split("\n") if line]
    return np.array([[[c == "#" for c in row[digit]] for row in rows] for digit in range(CLASSES)])


def drawn_digits(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return pictures (count, SIDE, SIDE), about 0 to 1, and the digits (count,) that they show."""
    digits = rng.integers(0, CLASSES, count)
    pixels = np.arange(SIDE) - (SIDE - 1) / 2
    y, x = np.meshgrid(pixels, pixels, indexing="ij")
    turn = rng.uniform(-_TURN, _TURN, count)[:, np.newaxis, np.newaxis]
    stretch = rng.uniform(1 - _STRETCH, 1 + _STRETCH, (2, count, 1, 1))
    move = rng.uniform(-_MOVE, _MOVE, (2, count, 1, 1))
    down = ((y - move[0]) * np.cos(turn) - (x - move[1]) * np.sin(turn)) * stretch[0] + 3
    right = ((y - move[0]) * np.sin(turn) + (x - move[1]) * np.cos(turn)) * stretch[1] + 2
    pictures = _ink(digits[:, np.newaxis, np.newaxis], down, right)
    return (pictures + rng.normal(0, _NOISE, pictures.shape)).astype(np.float32), digits


def patches_of(pictures: np.ndarray) -> np.ndarray:
    """Return the patches (B, PATCHES, PATCH * PATCH) of pictures (B, SIDE, SIDE), row by row."""
    across = SIDE // PATCH
    cut = pictures.reshape(-1, across, PATCH, across, PATCH).transpose(0, 1, 3, 2, 4)
    return cut.reshape(-1, PATCHES, PATCH * PATCH)


def joined(patches: np.ndarray) -> np.ndarray:
    """Return the picture (SIDE, SIDE) of which these are the patches (PATCHES, PATCH * PATCH)."""
    across = SIDE // PATCH
    return patches.reshape(across, across, PATCH, PATCH).transpose(0, 2, 1, 3).reshape(SIDE, SIDE)


def shaded_lines(picture: Sequence[Sequence[float]]) -> tuple[str, ...]:
    """Return a picture as lines of text, two signs for a pixel: the more ink, the darker."""
    top = len(_SHADES) - 1
    return tuple(
        "".join(2 * _SHADES[round(min(1.0, max(0.0, ink)) * top)] for ink in row).rstrip()
        for row in picture
    )


def picture_svg(picture: Sequence[Sequence[float]], words: str) -> str:
    """Return a picture as SVG, with lines between its patches and the words that it shows."""
    size = SIDE * _PIXEL
    pixels = "".join(
        f"<rect x='{x * _PIXEL}' y='{y * _PIXEL}' width='{_PIXEL}' height='{_PIXEL}' "
        f"fill-opacity='{min(1.0, max(0.0, ink)):.2f}'/>"
        for y, row in enumerate(picture)
        for x, ink in enumerate(row)
    )
    between = "".join(f"M{at} 0V{size}M0 {at}H{size}" for at in range(0, size + 1, PATCH * _PIXEL))
    return (
        f"<svg role='img' aria-label='{escape(words)}' width='{size}' height='{size}' "
        f"viewBox='0 0 {size} {size}' fill='currentColor'>{pixels}"
        f"<path d='{between}' fill='none' stroke='#1976d2' stroke-opacity='.7'/></svg>"
    )


def _ink(digits: np.ndarray, down: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return how much ink there is between the pixels of the glyphs, by bilinear interpolation."""
    padded = np.pad(glyphs().astype(np.float32), ((0, 0), (1, 1), (1, 1)))
    height, width = padded.shape[1:]
    down, right = np.clip(down + 1, 0, height - 1.001), np.clip(right + 1, 0, width - 1.001)
    top, left = down.astype(int), right.astype(int)
    below, beside = down - top, right - left
    found: np.ndarray = (
        padded[digits, top, left] * (1 - below) * (1 - beside)
        + padded[digits, top + 1, left] * below * (1 - beside)
        + padded[digits, top, left + 1] * (1 - below) * beside
        + padded[digits, top + 1, left + 1] * below * beside
    )
    return found


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
