"""What is graded: a course or a folder of files, never both, and never what holds the solutions.

A course runs its own configuration and says where its solutions are, which are programs too. So
nothing that students hand in may pass for a course, or for the solutions of one.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from autograder.errors import KitError
from autograder.exercise import MANIFEST
from autograder.grading.import_path import OURS
from autograder.reading.file_text import bare, is_submission

COURSE = "attn.toml"
CONFIGURATION = "nbgrader_config.py"
# Where nbgrader and the kit keep what belongs to a course.
_OF_A_COURSE = (
    *("source", "release", "submitted", "autograded", "feedback", "graded"),
    *("downloaded", "exchange"),
)


def is_course(folder: Path) -> bool:
    """Whether `folder` is a course; raise `KitError` when it is one and holds hand-ins as well."""
    marks = [name for name in (COURSE, CONFIGURATION) if (folder / name).exists()]
    if not marks:
        return False
    handed_in = _handed_in(folder)
    if handed_in is not None:
        raise KitError(
            f"this folder holds {' and '.join(marks)}, as a course does, and {handed_in.name}, "
            "as a folder of submissions does",
            place=str(folder),
            cure="if it is a folder of submissions, take those files out of it, since somebody may "
            f"have handed them in; if it is a course, put {handed_in.name} elsewhere",
        )
    if not (folder / COURSE).is_file():
        raise KitError(
            f"this folder holds {CONFIGURATION}, but it is no course: it has no {COURSE}",
            place=str(folder),
            cure="name a course that `attn course new` made, or take that file out of the folder",
        )
    return True


def _handed_in(folder: Path) -> Path | None:
    """Return what looks handed in beside a course's own files, None when nothing does."""
    exercises = _exercises(folder / COURSE)
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", *_OF_A_COURSE)) or path.name == CONFIGURATION:
            continue
        files = path.iterdir() if path.is_dir() else (path,)
        for file in files:
            if is_submission(file) and (file == path or bare(file).stem in exercises):
                return path
    return None


def _exercises(facts: Path) -> tuple[str, ...]:
    """Return the names of exercises that a course claims to have; they are only compared."""
    try:
        named = tomllib.loads(facts.read_text(encoding="utf-8")).get("exercises", ())
    except (OSError, ValueError):
        return ()
    return tuple(name for name in named if isinstance(name, str)) if isinstance(named, list) else ()


def find_solutions(named: Path | None, graded: Path) -> Path:
    """Return the folder of solutions: the one that is `named`, else the one beside the kit.

    Never one below the current folder by chance, which may be where students' files lie. Raises
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
            "it is not said where the exercises and their solutions are",
            place=str(Path.cwd()),
            cure="add --solutions, with the folder that holds them",
        )
    return found


def refuse_solutions_within(solutions: Path, graded: Path) -> None:
    """Raise `KitError` when the solutions lie in what is graded: a student could have written them."""
    if solutions.resolve().is_relative_to(graded.resolve()):
        raise KitError(
            "the solutions lie in the folder that is graded, and they are programs that grading runs",
            place=str(solutions),
            cure="keep the solutions outside what students hand in, and name them with --solutions",
        )
