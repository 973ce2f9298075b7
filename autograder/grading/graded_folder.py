"""What is graded: a course or a folder of files, never both, and never what holds the solutions.

A course runs its own configuration and says where its solutions are; both are programs. So nothing
that students hand in may pass for a course, or for its solutions.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from autograder.errors import KitError
from autograder.model.exercise import MANIFEST
from autograder.model.import_path import OURS
from autograder.submission.file_text import is_submission

# The files that make a folder a course: what grading relies on, and nbgrader's configuration.
FACTS = "attn.toml"
CONFIG = "nbgrader_config.py"
_MOST_FILES = 10_000
# Where nbgrader and the kit keep what belongs to a course.
_OF_A_COURSE = (
    *("source", "release", "submitted", "autograded", "feedback", "graded"),
    *("downloaded", "exchange", "own-steps", "solution", "source_with_tests"),
)
# What programs keep in hidden files and folders of theirs.
_OF_A_PROGRAM = ("._", ".ipynb_checkpoints", ".git", ".attn-", ".venv", ".Trash", ".~", ".part-")


def is_course(folder: Path) -> bool:
    """Whether `folder` is a course; raise `KitError` when it is one and holds hand-ins as well."""
    marks = [name for name in (FACTS, CONFIG) if (folder / name).exists()]
    if not marks:
        return False
    handed_in = handed_in_at_the_top(folder)
    if handed_in is not None:
        raise KitError(
            f"this folder holds {' and '.join(marks)}, as a course does, and {handed_in.name}, "
            "as a folder of submissions does",
            place=str(folder),
            cure="if it is a folder of submissions, take those files out, since somebody may have "
            f"handed them in; if it is a course, put {handed_in.name} elsewhere",
        )
    if not (folder / FACTS).is_file():
        raise KitError(
            f"this folder holds {CONFIG}, but it is not a course: it has no {FACTS}",
            place=str(folder),
            cure="if it is a course of nbgrader's, add exercises to it with "
            f"`attn course adopt {folder} --exercise NAME`; else take that file out of the folder",
        )
    return True


def handed_in_at_the_top(folder: Path) -> Path | None:
    """Return what looks handed in beside a course's own files, None when nothing does."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in (*_OF_A_COURSE, CONFIG):
            continue
        # A folder that is not a part of a course may be a student's, whatever its files are called.
        if is_submission(path) or (path.is_dir() and any(map(is_submission, _below(path)))):
            return path
    return None


def hidden_hand_ins(folder: Path) -> tuple[str, ...]:
    """Return the names of hidden files and folders that look handed in: nobody grades them."""
    hidden = (path for path in sorted(folder.iterdir()) if path.name.startswith("."))
    students = (path for path in hidden if not path.name.startswith(_OF_A_PROGRAM))
    return tuple(
        path.name
        for path in students
        if is_submission(path) or (path.is_dir() and any(map(is_submission, _below(path))))
    )


def _below(folder: Path) -> Iterator[Path]:
    """The files below a folder, the first ten thousand; links are not followed."""
    walked = (Path(at, name) for at, _, names in os.walk(folder) for name in names)
    return itertools.islice(walked, _MOST_FILES)


def find_solutions(named: Path | None, graded: Path) -> Path:
    """Return the folder of solutions: the one that is `named`, else the one beside the kit.

    Never one that happens to lie below the current folder, where students' files may be. Raises
    `KitError` when there is none, or when it lies in what is `graded`.
    """
    found = named or beside_the_kit()
    refuse_solutions_within(found, graded)
    return found


def beside_the_kit() -> Path:
    """Return the solutions in the repository that the kit runs from; raise `KitError` elsewhere."""
    found = OURS / "solutions"
    if not any(found.glob(f"*/{MANIFEST}")):
        raise KitError(
            "the kit does not know where the exercises and their solutions are",
            place=str(Path.cwd()),
            cure="add --solutions, with the folder that holds them",
        )
    return found


def refuse_solutions_within(solutions: Path, graded: Path) -> None:
    """Raise `KitError` when the solutions lie in what is graded: students could write them."""
    if solutions.resolve().is_relative_to(graded.resolve()):
        raise KitError(
            "the solutions lie in the folder that is graded, but they are programs that grading "
            "runs",
            place=str(solutions),
            cure="keep the solutions outside what students hand in, and name them with --solutions",
        )
