"""What of a course every user of this machine may read; on a machine with students, that is theirs.

Only the plain permissions are looked at, and only what they say: whether a student has an account
here is not known.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from autograder.course.creation import GRADEBOOK, Course
from autograder.grading.output_folder import SECRET
from autograder.model.sanitize import terminal_line

_LONGEST = 300


def open_to_all(course: Course) -> tuple[str, ...]:
    """Return a sentence about each thing that is not for students and that everybody may read."""
    found = [
        f"{what} ({terminal_line(str(path), _LONGEST)})"
        for what, path in _not_for_students(course)
        if _may_read(path)
    ]
    return tuple(f"every user of this machine may read {each}" for each in found)


def _not_for_students(course: Course) -> Iterator[tuple[str, Path]]:
    for name in course.exercises:
        yield f"the solution of {name}", course.solutions / name / "solution.py"
    yield "the secret of the hidden inputs", course.secret_folder / SECRET
    yield "the gradebook", course.directory / GRADEBOOK
    for name in course.exercises:
        yield f"the results of {name}", course.graded(name) / "grades.csv"
    yield "what students handed in", course.hand_ins


def _may_read(path: Path) -> bool:
    """Whether all users may read a file or folder, and enter every folder above it."""
    try:
        path = path.resolve(strict=True)
        return bool(path.stat().st_mode & stat.S_IROTH) and all(
            above.stat().st_mode & stat.S_IXOTH for above in path.parents
        )
    except OSError:  # it is not there, or not even the instructor may look
        return False
