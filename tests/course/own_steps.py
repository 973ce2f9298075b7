"""A step of an instructor's own in a course: in the small exercise, or as the documents show it."""

from __future__ import annotations

import re
from pathlib import Path

from autograder.course.adjustment import OWN

STEPS = """\
[[steps]]
name = "widest"
title = "The widest row"
points = 3
"""
ANSWER = "return np.max(np.ptp(x, axis=-1), axis=-1)"
SOLUTION = f'''\
"""What students write."""

# %% [markdown]
# ## The widest row
#
# How far apart are the largest and the smallest number of the widest row?


# %%
def widest(x: Float[np.ndarray, "B S D"]) -> Float[np.ndarray, "B"]:
    """Return the range of the widest row of each sequence.

    x: (B, S, D). Returns (B,).
    """
    ### BEGIN SOLUTION
    {ANSWER}
    ### END SOLUTION
'''
GRADERS = '''\
"""The checks of our own step."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.mark.step("widest")
@pytest.mark.public
def test_widest(student, draw):
    """the range of the widest row"""
    student(draw("B S D")).agrees()
'''
MISTAKES = '''\
import numpy as np


class widest:
    def narrowest(x):
        """You return the range of the narrowest row. Which of them is asked for?"""
        return np.min(np.ptp(x, axis=-1), axis=-1)
'''
FILES = {
    "steps.toml": STEPS,
    "solution.py": SOLUTION,
    "graders.py": GRADERS,
    "misconceptions.py": MISTAKES,
}


def write_own_steps(course: Path, exercise: str, **changed: tuple[str, str]) -> Path:
    """Write the files of the step; `changed` replaces a text in the file of that name."""
    folder = course / OWN / exercise
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        old, new = changed.get(Path(name).stem, ("", ""))
        assert old in text
        (folder / name).write_text(text.replace(old, new) if old else text, encoding="utf-8")
    return folder


def shown_files(document: str) -> dict[str, str]:
    """Return the three files that the instructors' page shows, by their names."""
    part = document.partition("**Steps of your own**")[2].partition("\n## ")[0]
    texts = re.findall(r"^```(?:toml|python)\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)
    return dict(zip(("steps.toml", "solution.py", "graders.py"), texts, strict=True))
