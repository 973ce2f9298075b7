"""A small exercise: two steps, written to a folder."""

from __future__ import annotations

from pathlib import Path

from autograder.checks.reference import Reference, read_reference
from support.written_exercise import write_exercise

TOML = """\
format_version = 1
name = "toy"
title = "A toy"
library = "numpy"
difficulty = 1

[grading]
sizes = { B = 2, D = 3 }

[[steps]]
name = "double"
title = "Doubling"
points = 2
minutes = 1
hints = []

[[steps]]
name = "halve"
title = "Halving"
points = 3
minutes = 1
hints = []
"""

SOLUTION = """\
import numpy as np
from jaxtyping import Float


def double(x: Float[np.ndarray, "B D"]) -> Float[np.ndarray, "B D"]:
    return 2 * x


def halve(x: Float[np.ndarray, "B D"]) -> Float[np.ndarray, "B D"]:
    return x / 2
"""

MISTAKES = '''\
class double:
    def tripled(x):
        """You triple."""
        return 3 * x
'''

GRADERS = """\
import pytest


@pytest.mark.step("double")
def test_double(student, draw):
    student(draw("B D")).agrees()


@pytest.mark.step("halve")
def test_halve(student, draw):
    student(draw("B D")).agrees()
"""

RIGHT = {"double": lambda x: 2 * x, "halve": lambda x: x / 2}


def toy(
    folder: Path,
    graders: str = GRADERS,
    solution: str = SOLUTION,
    mistakes: str = MISTAKES,
    more_steps: str = "",
) -> Reference:
    """Write the exercise into `folder`, with `more_steps` after its own; return its reference."""
    files = {
        "exercise.toml": TOML + more_steps,
        "solution.py": solution,
        "misconceptions.py": mistakes,
        "graders.py": graders,
    }
    return read_reference(write_exercise(folder, files))
