"""Pictures of digits, drawn from a seed: glyphs of 5 by 7, turned, stretched, moved and noisy."""

from __future__ import annotations

import numpy as np

SIDE, PATCH = 12, 3  # pixels of a picture, and of a patch
PATCHES = (SIDE // PATCH) ** 2
CLASSES = 10
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
