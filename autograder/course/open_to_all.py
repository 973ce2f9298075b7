"""What of a course every user of this machine may read; on a machine with students, that is theirs.

Only the plain permissions are looked at, and only what they say: whether a student has an account
here is not known.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from autograder.course.adjusted_exercise import ADJUSTED
from autograder.course.adjustment import OWN
from autograder.course.creation import GRADEBOOK, Course
from autograder.grading.output_folder import SECRET
from autograder.reports.course_page import COURSE_PAGE
from autograder.values.sanitize import terminal_line

_LONGEST = 300
_MOST_FILES = 2_000  # that are looked at, of one place


def open_to_all(course: Course) -> tuple[str, ...]:
    """Return in words what is not for students and everybody may read, and how to close it."""
    found = [(what, folder, _open_file(path)) for what, path, folder in _not_for_students(course)]
    words = [f"{what} ({_shown(file)})" for what, _, file in found if file]
    folders = dict.fromkeys(_shown(folder) for _, folder, file in found if file)
    return (*words, f"To close it: chmod o-rwx {' '.join(folders)}") if words else ()


def _not_for_students(course: Course) -> Iterator[tuple[str, Path, Path]]:
    """Give each thing, where it is, and the folder that is closed for it."""
    yield "the solutions", course.solutions, course.solutions
    here = course.directory
    yield "your own steps", here / OWN, here
    yield "the solutions as this course has them", here / ADJUSTED, here
    yield "the secret of the hidden inputs", course.secret_folder / SECRET, here
    yield "the gradebook", here / GRADEBOOK, here
    yield "the marks of all exercises", course.secret_folder / COURSE_PAGE, here
    for name in course.exercises:
        yield f"the results of {name}", course.graded(name), here
    yield "what students handed in", course.hand_ins, here
    yield "what was graded", here / "autograded", here


def _open_file(path: Path) -> Path | None:
    """Return a file at or below `path` that all users may read, with every folder above it."""
    left, seen = [path], 0
    while left and seen < _MOST_FILES:
        here, seen = left.pop(), seen + 1
        try:
            left += _open_below(here)
            if here.is_file() and _lets_all(here, stat.S_IROTH):
                return here
        except OSError:  # it is not there, or not even the instructor may look
            continue
    return None


def _open_below(folder: Path) -> list[Path]:
    # Whoever knows a name needs no right to list the folder.
    if not folder.is_dir() or not _lets_all(folder, stat.S_IXOTH):
        return []
    return sorted(folder.iterdir(), reverse=True)


def _lets_all(path: Path, right: int) -> bool:
    """Whether all users have a right to what is at `path`, and may pass every folder above it."""
    path = path.resolve(strict=True)
    passed = all(above.stat().st_mode & stat.S_IXOTH for above in path.parents)
    return passed and bool(path.stat().st_mode & right)


def _shown(path: Path) -> str:
    return terminal_line(str(path), _LONGEST)
