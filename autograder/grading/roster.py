"""Who handed in what: which files and folders below a path are whose. Nothing is read here.

A path is a course directory (nbgrader's `submitted/STUDENT/EXERCISE/`) or a flat
folder in which every file or folder is named after its student.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import KitError
from autograder.submission.file_text import bare, is_submission
from autograder.submission.student_name import student_of

INSTRUCTORS_OWN = (".csv", ".md", ".txt")  # lists and notes that lie beside the submissions


@dataclass(frozen=True)
class HandIn:
    """The files and folders that one student handed in.

    Everything below the folder `root` is the student's; None stands for the folder they lie in.
    """

    student: str
    paths: tuple[Path, ...]
    root: Path | None = None


def course_roster(folders: Iterable[tuple[str, Path]]) -> tuple[HandIn, ...]:
    """Return the hand-ins of a course: pairs of a student and the folder handed in.

    That folder lies in the student's own folder, which may be a link.
    """
    return tuple(HandIn(student, (folder,), folder.parent.parent) for student, folder in folders)


def flat_roster(folder: Path) -> tuple[HandIn, ...]:
    """Return the hand-ins in a folder of files named after students.

    Whatever has a student's name is theirs, even a file of the wrong kind: nobody is left out.
    Raises `KitError` when there are none.
    """
    by_student: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir():
            by_student[student_of(path.name)].append(path)
        elif is_submission(path) or path.suffix.lower() not in INSTRUCTORS_OWN:
            by_student[student_of(bare(path).stem)].append(path)
    if not by_student:
        raise KitError(
            "there are no submissions here",
            place=str(folder),
            cure="put one .py or .ipynb file per student into it, named after the student",
        )
    return tuple(HandIn(student, tuple(paths)) for student, paths in by_student.items())
