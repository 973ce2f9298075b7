"""Random inputs for a check: named axes, one seed per check, distinct sizes.

The seed of a draw is made from the exercise's seed and the check's own name, so
that no two checks share inputs: the inputs of one step are never the expected
result of another.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from autograder.model.exercise import Exercise
from autograder.protocol.wire import Seed

PUBLIC_DECIMALS = 1
LARGE = 5_000  # numbers of an array


class Draw:
    """Draws arrays whose shapes are named by axis letters.

    `sizes` gives the size of each letter, for example B=2, S=5, D=8. With
    `decimals`, numbers are rounded so that a person can work them by hand. If `coarse`, numbers
    are eighths (times their scale), and of a large array 1 or -1: they are written in little room.
    """

    def __init__(
        self,
        sizes: Mapping[str, int],
        seed: int,
        name: str,
        dtype: str = "float64",
        decimals: int | None = None,
        coarse: bool = False,
    ) -> None:
        self._sizes = dict(sizes)
        self._seed, self._name = seed, name
        self._dtype = dtype
        self._decimals = decimals
        self._coarse = coarse

    @classmethod
    def hidden(
        cls, exercise: Exercise, name: str, sizes: Mapping[str, int], seed: int | None = None
    ) -> Draw:
        """Return the draw of a hidden check; `sizes` and `seed` override the exercise's."""
        grading = exercise.grading
        chosen = grading.seed if seed is None else seed
        return cls({**grading.sizes, **sizes}, chosen, name, exercise.dtype)

    @classmethod
    def worked(cls, exercise: Exercise, name: str, sizes: Mapping[str, int]) -> Draw:
        """Return the draw of a worked example; `sizes` override the exercise's public ones."""
        own = {**exercise.grading.public_sizes, **sizes}
        return cls(own, exercise.grading.public_seed, name, exercise.dtype, PUBLIC_DECIMALS)

    def beside(self, name: str, sizes: Mapping[str, int], coarse: bool = False) -> Draw:
        """Return a draw of its own, of the same seed, with other sizes for some axes.

        Its numbers have all their digits, since nobody works them by hand.
        """
        own = {**self._sizes, **sizes}
        return Draw(own, self._seed, f"{self._name}/{name}", self._dtype, coarse=coarse)

    @cached_property
    def _generator(self) -> np.random.Generator:
        return np.random.default_rng([self._seed, zlib.crc32(self._name.encode())])

    @property
    def identity(self) -> tuple[object, ...]:
        """What its numbers follow from: draws of one identity draw the same."""
        return (
            *self._sizes.items(),
            self._seed,
            self._name,
            self._dtype,
            self._decimals,
            self._coarse,
        )

    @property
    def sizes(self) -> Mapping[str, int]:
        """The size of each axis."""
        return self._sizes

    @property
    def public(self) -> bool:
        """Whether it draws for a worked example: small numbers with few digits."""
        return self._decimals is not None

    def __getitem__(self, axis: str) -> int:
        """Return the size of an axis."""
        return self._sizes[axis]

    def __call__(self, axes: str, scale: float = 1.0) -> np.ndarray:
        """Return normally distributed numbers of shape `axes`, for example "B S D"."""
        return self.shaped(*(self._sizes[axis] for axis in axes.split()), scale=scale)

    def shaped(self, *shape: int, scale: float = 1.0) -> np.ndarray:
        """Return normally distributed numbers of a shape given in numbers."""
        if self._coarse:
            drawn = self._coarse_numbers(shape)
        else:
            drawn = self._generator.standard_normal(shape)
        array = scale * drawn
        rounded = array if self._decimals is None else array.round(self._decimals)
        return rounded.astype(self._dtype)

    def _coarse_numbers(self, shape: tuple[int, ...]) -> np.ndarray:
        if math.prod(shape) > LARGE:
            return self._generator.integers(2, size=shape) * 2.0 - 1.0
        return np.round(8 * self._generator.standard_normal(shape)) / 8

    def seed(self) -> Seed:
        """Return the seed of a generator that the student's code gets."""
        return Seed(int(self._generator.integers(1 << 31)))
