"""What the kit wrote into a course, kept in the course's `.course/made/`.

With it, a later kit can tell its own words from the instructor's. A course of an earlier version
does not have it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.errors import KitError
from autograder.grading.digest import exercise_hash, judging_hash
from autograder.grading.graded_folder import CONFIG
from autograder.model.files import read_small

STATE = ".course"  # in a course: what the kit keeps there for itself
MADE = Path(STATE) / "made"
LARGEST_FILE = 1 << 26  # bytes of a file of an exercise
_LARGEST_FACTS = 1 << 20
_CURE = "remove that file; the kit then takes what differs from it for yours"


@dataclass(frozen=True)
class KitCopy:
    """What the kit wrote about one exercise: the notebook, and the SHA-256 of every file.

    `exercise_hash` and `judging_hash` say what judged then, in full and without points and words.
    """

    notebook: NotebookNode
    files: dict[str, str] = field(default_factory=dict)
    exercise_hash: str = ""
    judging_hash: str = ""


def read_copy(course: Path, exercise: str) -> KitCopy | None:
    """Return what the kit wrote; None when that is not known. Raise `KitError` if damaged."""
    place = course / MADE / f"{exercise}.json"
    try:
        facts = json.loads(read_small(place, _LARGEST_FACTS))
        text = read_small(course / MADE / f"{exercise}.ipynb", LARGEST_FILE)
        files = {str(name): str(digest) for name, digest in facts["files"].items()}
        notebook = read_notebook(text, course / MADE / f"{exercise}.ipynb")
        hashes = str(facts["exercise_hash"]), str(facts["judging_hash"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise KitError(
            "what the kit has noted about this course is damaged", place=str(place), cure=_CURE
        ) from None
    return KitCopy(notebook, files, *hashes)


def read_configuration(course: Path) -> str | None:
    """Return the `nbgrader_config.py` that the kit wrote; None when that is not known."""
    try:
        return read_small(course / MADE / CONFIG, _LARGEST_FACTS).decode("utf-8")
    except (FileNotFoundError, UnicodeDecodeError):
        return None


def copy_files(exercise: str, made: dict[str, bytes], solution: Path) -> dict[Path, bytes]:
    """Return the files, relative to the course, that note what the kit writes of an exercise.

    made: its files by their names; solution: the instructor's folder of it.
    """
    facts = {
        "files": {name: digest(content) for name, content in sorted(made.items())},
        "exercise_hash": exercise_hash(solution),
        "judging_hash": judging_hash(solution),
    }
    return {
        MADE / f"{exercise}.ipynb": made[f"{exercise}.ipynb"],
        MADE / f"{exercise}.json": (json.dumps(facts, indent=2) + "\n").encode(),
    }


def configuration_copy(text: str) -> dict[Path, bytes]:
    """Return the file that notes which `nbgrader_config.py` the kit writes."""
    return {MADE / CONFIG: text.encode("utf-8")}


def digest(content: bytes) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(content).hexdigest()


def read_notebook(content: bytes, place: Path) -> NotebookNode:
    """Return a notebook of the course; raise `KitError` when it is not one."""
    try:
        notebook: NotebookNode = nbformat.reads(content.decode("utf-8"), as_version=4)
        nbformat.validate(notebook)
    except Exception as error:  # a damaged file fails in any way
        raise KitError(
            f"{place.name} is not a notebook: {type(error).__name__}",
            place=str(place),
            cure="open it in JupyterLab and save it, or put an earlier version of it there",
        ) from None
    return notebook
