"""A fifth exercise, by somebody who has seen only the documents: it takes text, tuples and None."""

from __future__ import annotations

from pathlib import Path

from support.written_exercise import Change, write_exercise

TOML = """\
format_version = 1
name = "fifth"
title = "Statistics of rows"
library = "numpy"
difficulty = 1

[grading]
seed = 7
sizes = { B = 2, S = 5, D = 3 }
public_sizes = { B = 2, S = 4, D = 3 }

[[steps]]
name = "center"
title = "Centering"
points = 2
minutes = 5
hints = ["What is the mean of a row?", "Take the mean.", "Take each row minus its mean."]

[[steps]]
name = "spread"
title = "Spread"
points = 2
minutes = 5
hints = ["How far are they apart?", "Take squares.", "Take the root of their mean."]

[[steps]]
name = "both"
title = "Both"
points = 2
minutes = 5
hints = ["What is needed?", "Two results.", "Return both."]

[[steps]]
name = "Standardize"
title = "The layer"
points = 5
minutes = 5
hints = ["Which comes first?", "Center, then divide.", "Divide what is centered by the spread."]
"""

SOLUTION = '''\
# %% [markdown]
# # Statistics of rows

# %%
import numpy as np
from jaxtyping import Float

# %% [markdown]
# ## Center


# %%
def center(x: Float[np.ndarray, "B S D"], how: str = "mean") -> Float[np.ndarray, "B S D"]:
    """Center every row."""
    ### BEGIN SOLUTION
    middle = x.mean(axis=-1, keepdims=True) if how == "mean" else np.median(x, -1, keepdims=True)
    return x - middle
    ### END SOLUTION


# %%
def spread(
    x: Float[np.ndarray, "B S D"], eps: float = 1e-6, *, scales: tuple | None = None
) -> Float[np.ndarray, "B S"]:
    """Measure how far apart the numbers of a row are."""
    ### BEGIN SOLUTION
    first, second = (1.0, 1.0) if scales is None else scales
    return first * np.sqrt((x * x).mean(axis=-1) + eps) * second
    ### END SOLUTION


# %%
def both(x: Float[np.ndarray, "B S D"]) -> tuple[
    Float[np.ndarray, "B S D"], Float[np.ndarray, "B S"]
]:
    """Give both."""
    ### BEGIN SOLUTION
    return np.add(x, 1), x.sum(axis=-1) * 2
    ### END SOLUTION


# %%
class Standardize:
    """Standardize rows."""

    def __init__(self, how: str) -> None:
        """Keep what the middle is."""
        ### BEGIN SOLUTION
        self.how = how
        ### END SOLUTION

    def forward(self, x: Float[np.ndarray, "B S D"]) -> Float[np.ndarray, "B S D"]:
        """Standardize every row."""
        ### BEGIN SOLUTION
        centered = center(x, self.how)
        moved, total = both(centered)
        scale = spread(centered, 1e-6, scales=(1.0, 2.0))
        return (moved - 1 + total[..., None]) / scale[..., None]
        ### END SOLUTION
'''

GRADERS = '''\
"""The checks."""

import pytest

PUBLIC = pytest.mark.public


@pytest.mark.step("center")
@PUBLIC
def test_center(student, draw):
    """every row is centered"""
    student(draw("B S D")).agrees()


@pytest.mark.step("spread")
@PUBLIC
def test_spread(student, draw):
    """the spread of every row"""
    student(draw("B S D")).agrees()


@pytest.mark.step("both")
@PUBLIC
def test_both(student, draw):
    """both results"""
    student(draw("B S D")).agrees()


@pytest.mark.step("Standardize")
@PUBLIC
def test_layer(student, draw):
    """the layer"""
    student.constructed("median").call("forward", draw("B S D")).agrees()


@pytest.mark.chain_of_steps
def test_chain(chain, draw):
    """end to end"""
    x = draw("B S D")
    chain(lambda module: module.Standardize("mean").forward(x))
'''

MISTAKES = '''\
"""Known mistakes."""

import numpy as np


class center:
    def not_centered(x, how="mean"):
        """You return the rows as they are.

        What is their mean?
        """
        return x


class spread:
    def not_rooted(x, eps=1e-6, *, scales=None):
        """You return squares.

        What is missing?
        """
        return (x * x).mean(axis=-1)
'''

VARIANTS = '''\
"""Right answers."""

import numpy as np


class Average:
    def center(x, how="mean"):
        return x - (np.average(x, axis=-1) if how == "mean" else np.median(x, axis=-1))[..., None]


class Together:
    def both(x):
        return x + 1, 2 * np.einsum("bsd->bs", x)
'''

FILES = {
    "exercise.toml": TOML,
    "solution.py": SOLUTION,
    "graders.py": GRADERS,
    "misconceptions.py": MISTAKES,
    "variants.py": VARIANTS,
}


def fifth_exercise(solutions: Path, *changes: Change) -> Path:
    """Write it below `solutions`, with texts replaced; return its folder."""
    return write_exercise(solutions / "fifth", FILES, *changes)
