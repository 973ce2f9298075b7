"""A copy of an exercise that a test may change, with the folders that exercises share beside it."""

from __future__ import annotations

import shutil
from pathlib import Path

from autograder.values.exercise import shared_folders

ROOT = Path(__file__).resolve().parents[2]
TRACES = shutil.ignore_patterns("__pycache__")


def copy_exercise(name: str, solutions: Path) -> Path:
    """Copy the exercise `name` and what it shares into the folder `solutions`; return its copy.

    A shared folder that is there already stays as it is.
    """
    original = ROOT / "solutions" / name
    for shared in shared_folders(original):
        if not (solutions / shared.name).exists():
            shutil.copytree(shared, solutions / shared.name, ignore=TRACES)
    return Path(shutil.copytree(original, solutions / name, ignore=TRACES))
