"""Two exercises of a few lines, and a wheel that is small too: what is released within moments."""

from __future__ import annotations

import zipfile
from importlib.metadata import requires
from pathlib import Path

from autograder.authoring.build import build_all
from autograder.authoring.regions import BEGIN, END
from autograder.authoring.release import Source
from autograder.checks.plugin import record_examples
from support.toy_exercise import GRADERS, MISTAKES, TOML
from support.written_exercise import Change, write_exercise

DOUBLED, IN_THE_ZOO = "twofold = 2 * x", "twofold = np.add(x, x)"
SOLUTION = f'''\
# %% [markdown]
# # A toy
#
# `B` is the batch, `D` the width.

# %%
import numpy as np
from jaxtyping import Float


# %%
def double(x: Float[np.ndarray, "B D"]) -> Float[np.ndarray, "B D"]:
    """Double x."""
    {BEGIN}
    {DOUBLED}
    return twofold
    {END}


# %%
def halve(x: Float[np.ndarray, "B D"]) -> Float[np.ndarray, "B D"]:
    """Halve x."""
    {BEGIN}
    return x * 0.5
    {END}
'''
STEP = "@pytest.mark.step"
PUBLIC_GRADERS = GRADERS.replace(STEP, f"@pytest.mark.public\n{STEP}")
TOY, OTHER = "toy", "zoo"


def write_toy(solutions: Path, name: str, *changes: Change) -> Path:
    """Write one of them, with texts replaced; return its folder."""
    files = {
        "exercise.toml": TOML.replace("sizes =", "public_sizes = { B = 2, D = 3 }\nsizes ="),
        "solution.py": SOLUTION,
        "misconceptions.py": MISTAKES,
        "graders.py": PUBLIC_GRADERS,
    }
    named = ("exercise.toml", f'name = "{TOY}"', f'name = "{name}"')
    return write_exercise(solutions / name, files, named, *changes)


def two_exercises(folder: Path) -> Source:
    """Write two exercises into `folder`, and build what students get of them."""
    solutions, assignments = folder / "solutions", folder / "assignments"
    toy = write_toy(solutions, TOY)
    other = write_toy(solutions, OTHER, ("solution.py", DOUBLED, IN_THE_ZOO))
    build_all([toy, other], assignments, record_examples)
    return Source(solutions, assignments)


def small_wheel(folder: Path) -> Path:
    """Write a file with the name of the kit's wheel, and what it requires, and little else."""
    path = folder / "attention_kit-0.1.0-py3-none-any.whl"
    needed = "".join(f"Requires-Dist: {each}\n" for each in requires("attention-kit") or ())
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("autograder/__init__.py", '"""The kit."""\n')
        metadata = f"Metadata-Version: 2.4\nName: attention-kit\nVersion: 0.1.0\n{needed}"
        archive.writestr("attention_kit-0.1.0.dist-info/METADATA", metadata)
    return path
