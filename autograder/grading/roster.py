"""Who handed in what: the submissions below a path, and what could not be told apart.

A path is a course directory (nbgrader's `submitted/STUDENT/EXERCISE/`) or a flat
folder in which every file or folder is named by its student.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import KitError
from autograder.exercise import Exercise
from autograder.submission import Submission, read_submission

SUFFIXES = (".py", ".ipynb")


@dataclass(frozen=True)
class Roster:
    """The submissions that can be judged, and one sentence for each that cannot be told."""

    submissions: tuple[Submission, ...]
    problems: tuple[str, ...] = ()


def course_roster(folders: Iterable[tuple[str, Path]], exercise: Exercise) -> Roster:
    """Read the submissions of a course: pairs of a student and the folder handed in."""
    return Roster(tuple(read_submission(path, exercise, name) for name, path in folders))


def flat_roster(folder: Path, exercise: Exercise) -> Roster:
    """Read a folder of files named by student; raise `KitError` when there is nothing in it.

    Two files of one student are a problem that only the instructor can solve: that
    student is left out and named, the others are read.
    """
    if not folder.is_dir():
        raise KitError(
            "there is no such folder", place=str(folder), cure="name a folder of submissions"
        )
    by_student: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.iterdir()):
        if not path.name.startswith(".") and (path.is_dir() or path.suffix in SUFFIXES):
            by_student[path.stem if path.is_file() else path.name].append(path)
    if not by_student:
        raise KitError(
            "there are no submissions here",
            place=str(folder),
            cure="put one .py or .ipynb file per student into it, named by student",
        )
    problems = tuple(
        f"{student} handed in more than one file ({', '.join(path.name for path in paths)}) and is "
        f"not graded: keep one of them in {folder}."
        for student, paths in by_student.items()
        if len(paths) > 1
    )
    submissions = tuple(
        read_submission(paths[0], exercise, student)
        for student, paths in by_student.items()
        if len(paths) == 1
    )
    return Roster(submissions, problems)
