"""What the marks of a check say, its step and its title; and its random inputs."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import pytest

from autograder.judging.conditions import LONG_AXES, STANDING
from autograder.judging.tokens import Tokens
from autograder.values.exercise import Exercise
from autograder.worker.wire import Seed

Item = TypeVar("Item", bound=pytest.Item)
BY_HAND = "by_hand"
SHOWN_BY_LAYER = f"{LONG_AXES}_alone"


@dataclass
class CheckMarks:
    """What is known of a check beside its code; to look for a mark takes long.

    step: what it is marked with. is_direct: it can be called with our own fixtures and its
    parameters alone. shares_inputs: hand-ins may share its inputs, as those of the standing checks
    and of an author's check that is run with further parameters. only_tells: it is run only where
    its step fails, to tell by which mistake: it asks with further sizes what standing checks ask
    with other ones. properties: what a standing check holds its step to, as an author switches it
    off.
    """

    step: str | None
    is_direct: bool
    shares_inputs: bool
    only_tells: bool = False
    properties: tuple[str, ...] = ()


_MARKS = pytest.StashKey[CheckMarks]()


def marks_of(item: pytest.Item) -> CheckMarks:
    """Return what is known of a check, which can be changed."""
    known = item.stash.get(_MARKS, None)
    if known is None:
        mark = item.get_closest_marker("step")
        known = item.stash[_MARKS] = CheckMarks(
            mark.args[0] if mark and mark.args else None,
            isinstance(item, pytest.Function) and _needs_only_ours(item),
            item.name.startswith(STANDING) or any(_numbers_of_parameters(item).values()),
        )
    return known


def step_of(item: pytest.Item) -> str | None:
    """Return the step that a check is marked with."""
    return marks_of(item).step


def title_of(item: pytest.Item) -> str:
    """Return a check's title: the first line of its docstring, else its name in words."""
    words = (getattr(getattr(item, "obj", None), "__doc__", "") or "").strip().split("\n")[0]
    return words or item.name.removeprefix("test_").replace("_", " ")


def tokens_of(item: pytest.Item) -> Tokens | None:
    """Return the names of the tokens of an example that the text works by hand."""
    mark = item.get_closest_marker(BY_HAND)
    return Tokens(tuple(mark.kwargs["tokens"]), mark.kwargs["followed"]) if mark else None


def by_purpose(items: Sequence[Item]) -> tuple[list[Item], list[Item], list[Item]]:
    """Return the checks of one step that decide first, those that only tell, the standing ones."""
    standing = [item for item in items if item.name.startswith(STANDING)]
    telling = [item for item in items if marks_of(item).only_tells]
    own = [item for item in items if item not in standing and item not in telling]
    return own, telling, standing


def is_shown_by_layer(item: pytest.Item) -> bool:
    """Say whether a check asks a function what a layer that is right has shown already."""
    return item.name == f"{STANDING}{SHOWN_BY_LAYER}"


def is_run_again(item: pytest.Item) -> bool:
    """Say whether a check is run once more, with further sizes and no other parameters."""
    numbers = _numbers_of_parameters(item)
    return set(numbers) == {"draw"} and bool(numbers["draw"])


def _numbers_of_parameters(item: pytest.Item) -> Mapping[str, int]:
    """Return for each parameter of a check which of its values it is run with, counted from 0."""
    return item.callspec.indices if hasattr(item, "callspec") else {}


# What changes how pytest runs a test.
_CHANGING = ("skip", "skipif", "xfail", "usefixtures")


def _needs_only_ours(item: pytest.Function) -> bool:
    """Say whether no fixture or set-up of its file, and no mark, changes how a check is run."""
    if item.cls is not None or any(mark.name in _CHANGING for mark in item.iter_markers()):
        return False
    # The fixtures of a file carry its name; ours, and direct parameters, carry none.
    known = item._fixtureinfo.name2fixturedefs
    names = [name for name in item.fixturenames if name != "request"]
    return all(name in known and not known[name][-1].baseid for name in names)


# Random inputs for a check: named axes, one seed per check, distinct sizes.
#
# The seed of a draw is made from the exercise's seed and the check's own name, so that no two
# checks share inputs: the inputs of one step are never the expected result of another.

PUBLIC_DECIMALS = 1
LARGE = 5_000  # numbers of an array


@dataclass(frozen=True, eq=False)
class Draw:
    """Draws arrays whose shapes are named by axis letters.

    `sizes` gives the size of each letter, for example B=2, S=5, D=8. With
    `decimals`, numbers are rounded so that a person can work them by hand. If `coarse`, numbers
    are eighths (times their scale), and of a large array 1 or -1: they are written in little room.
    """

    sizes: Mapping[str, int]
    seed_number: int
    name: str
    dtype: str = "float64"
    decimals: int | None = None
    coarse: bool = False

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
        own = {**self.sizes, **sizes}
        return Draw(own, self.seed_number, f"{self.name}/{name}", self.dtype, coarse=coarse)

    @cached_property
    def _generator(self) -> np.random.Generator:
        return np.random.default_rng([self.seed_number, zlib.crc32(self.name.encode())])

    @property
    def identity(self) -> tuple[object, ...]:
        """What its numbers follow from: draws of one identity draw the same."""
        return (
            *self.sizes.items(),
            self.seed_number,
            self.name,
            self.dtype,
            self.decimals,
            self.coarse,
        )

    @property
    def public(self) -> bool:
        """Whether it draws for a worked example: small numbers with few digits."""
        return self.decimals is not None

    def __getitem__(self, axis: str) -> int:
        """Return the size of an axis."""
        return self.sizes[axis]

    def __call__(self, axes: str, scale: float = 1.0) -> np.ndarray:
        """Return normally distributed numbers of shape `axes`, for example "B S D"."""
        return self.shaped(*(self.sizes[axis] for axis in axes.split()), scale=scale)

    def shaped(self, *shape: int, scale: float = 1.0) -> np.ndarray:
        """Return normally distributed numbers of a shape given in numbers."""
        if self.coarse:
            drawn = self._coarse_numbers(shape)
        else:
            drawn = self._generator.standard_normal(shape)
        array = scale * drawn
        rounded = array if self.decimals is None else array.round(self.decimals)
        return rounded.astype(self.dtype)

    def _coarse_numbers(self, shape: tuple[int, ...]) -> np.ndarray:
        if math.prod(shape) > LARGE:
            return self._generator.integers(2, size=shape) * 2.0 - 1.0
        return np.round(8 * self._generator.standard_normal(shape)) / 8

    def seed(self) -> Seed:
        """Return the seed of a generator that the student's code gets."""
        return Seed(int(self._generator.integers(1 << 31)))
