"""A small exercise written to a folder, and its checks run over namespaces in this process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from autograder.checks.grader_run import run_graders
from autograder.checks.plugin import GradingPlugin, JudgedSteps
from autograder.checks.reference import Reference, read_reference
from autograder.judging.inprocess import InProcess

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


def judged(reference: Reference, *namespaces: Mapping[str, Any]) -> list[JudgedSteps]:
    """Judge several namespaces in one run of pytest."""
    kept: list[JudgedSteps] = []

    def judge(plugin: GradingPlugin) -> None:
        kept.extend(plugin.judged_by(InProcess(names)) for names in namespaces)

    with np.errstate(all="ignore"):
        run_graders(GradingPlugin(reference, judge))
    return kept


def toy(
    folder: Path, graders: str = GRADERS, solution: str = SOLUTION, mistakes: str = MISTAKES
) -> Reference:
    files = {"exercise.toml": TOML, "solution.py": solution, "misconceptions.py": mistakes}
    for name, text in {**files, "graders.py": graders}.items():
        (folder / name).write_text(text, encoding="utf-8")
    return read_reference(folder)
