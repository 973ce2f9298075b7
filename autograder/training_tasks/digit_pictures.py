"""Pictures of digits, drawn from a seed: glyphs of 5 by 7, turned, stretched, moved and noisy."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

SIDE, PATCH = 12, 3  # pixels of a picture, and of a patch
PATCHES = (SIDE // PATCH) ** 2
CLASSES = 10
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
