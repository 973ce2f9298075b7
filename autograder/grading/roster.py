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
from autograder.reading.file_text import bare, is_submission
from autograder.reading.submission import Submission, read_one_of, read_submission

INSTRUCTORS_OWN = (".csv", ".md", ".txt")  # lists and notes that lie beside the submissions


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

    Whatever has a student's name is theirs, also a file of a wrong kind: nobody is left out.
    """
    by_student: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir():
            by_student[path.name].append(path)
        elif is_submission(path) or path.suffix.lower() not in INSTRUCTORS_OWN:
            by_student[bare(path).stem].append(path)
    if not by_student:
        raise KitError(
            "there are no submissions here",
            place=str(folder),
            cure="put one .py or .ipynb file per student into it, named by student",
        )
    return Roster(
        tuple(read_one_of(paths, exercise, student) for student, paths in by_student.items())
    )
