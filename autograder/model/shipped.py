"""The public files of the exercises, as they come with the package.

They lie inside it in an installation, beside it in the repository.
"""

from __future__ import annotations

from pathlib import Path

from autograder.errors import KitError
from autograder.model.exercise import MANIFEST, Exercise

PACKAGE = Path(__file__).resolve().parents[1]
# The solutions in a wheel for who learns alone: `attn release --with-answers` puts them there.
ANSWERS = PACKAGE / "answers"


def shipped() -> Path:
    """Return the folder with the public files of all exercises; raise `KitError` if missing."""
    for place in (PACKAGE / "assignments", PACKAGE.parent / "assignments"):
        if any(place.glob(f"*/{MANIFEST}")):
            return place
    raise KitError(
        "this installation has no exercises in it",
        place=str(PACKAGE),
        cure="install the kit again, as you did the first time, and add `--force-reinstall` to pip",
    )


def original(exercise: Exercise, file: str) -> Path:
    """Return the path of an exercise's original file; raise `KitError` if the kit has none."""
    path = shipped() / exercise.name / file
    if path.is_file():
        return path
    raise KitError(
        f"the kit has no {file} of {exercise.name}",
        place=str(exercise.folder),
        cure="get the file from where you got the exercise",
    )


def handed_out(exercise: Exercise) -> str:
    """Return the script of an exercise as it is handed out, "" where the kit does not have it."""
    try:
        return original(exercise, f"{exercise.name}.py").read_text(encoding="utf-8")
    except (KitError, OSError):
        return ""
