"""What a student handed in, as a notebook that nbgrader can carry.

nbgrader sees only `*.ipynb`, reads them before any preprocessor runs, and copies
every file beside them, links included. A class hands in plain `.py` files, broken
JSON and renamed notebooks as well. So nbgrader is never given the student's
folder: it gets a laid-out copy, in which every submission is one well-formed
notebook, and the original stays as it is.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from nbgrader.utils import parse_utc

from autograder.course.creation import Course, notebook_name, script_name
from autograder.course.skeleton import from_script, onto_skeleton
from autograder.errors import KitError
from autograder.plain import file_name
from autograder.reading.cells import notebook_cells
from autograder.reading.file_text import Unreadable, is_notebook, read_text
from autograder.reading.submission import Submission

TIMESTAMP = "timestamp.txt"
NOT_SHOWN = "Your code cannot be shown here. It was graded as it was handed in."
SECRET = "submission_secret.txt"  # of `nbgrader submit`: where released feedback is found again
LARGEST = 8 * 1024 * 1024  # bytes; what is larger is not copied beside the graded notebook
# A date, a time and a zone by name or offset; a zone that looks like a path would be opened.
_MOMENT = re.compile(rb"\s*[A-Za-z0-9][A-Za-z0-9 :.,+_-]{0,60}(?:/[A-Za-z0-9_+-]{1,30}){0,2}\s*")
_LONGEST_MOMENT = 200  # bytes


def release_notebook(course: Course, exercise: str) -> NotebookNode:
    """Read the released notebook, or the one in `source/` when none is released yet.

    Raise `KitError` when there is neither.
    """
    for folder in (course.release(exercise), course.source(exercise)):
        path = folder / notebook_name(exercise)
        if path.is_file():
            notebook: NotebookNode = nbformat.read(path, as_version=4)
            return notebook
    raise KitError(
        f"{exercise} has no notebook",
        place=str(course.source(exercise)),
        cure=f"put {notebook_name(exercise)} back there, as `attn build` makes it",
    )


def notebook_of(release: NotebookNode, submission: Submission) -> NotebookNode:
    """Return the release with the submission's code, from an .ipynb or a .py, in its cells.

    What cannot be read leaves the release as it is; why, is told by the verdict. What can be
    read and yet not be laid into the release leaves it as it is, and a cell says so.
    """
    names = [
        cell.metadata.nbgrader.grade_id
        for cell in release.cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    ]
    try:
        return onto_skeleton(release, _submitted(submission.path, names))
    except (Unreadable, OSError):
        return onto_skeleton(release, NotebookNode(cells=[]))
    except Exception:  # what one student hands in may not keep the others from a grade
        return onto_skeleton(release, NotebookNode(cells=[new_markdown_cell(NOT_SHOWN)]))


def _submitted(path: Path, names: list[str]) -> NotebookNode:
    """The cells of what was handed in; raise `Unreadable`, OSError."""
    text = read_text(path).text
    if not is_notebook(path):
        return from_script(text, names)
    return NotebookNode(cells=notebook_cells(text, file_name(path)))


def lay_out(notebook: NotebookNode, submission: Submission, target: Path) -> None:
    """Write `notebook` into the folder `target`, and the submission's .py and nbgrader's own files:
    without time stamp and secret, `nbgrader release_feedback` stops.

    The notebook comes last and whole: where it is, everything is.
    """
    target.mkdir(parents=True, exist_ok=True)
    folder = folder_of(submission)
    script, own = script_name(submission.exercise), submission.path.with_suffix(".py").name
    # nbgrader copies and logs the names that it finds: one that cannot be shown is not among them.
    copies = {own: own if own.isprintable() else script, script: script}
    right = {TIMESTAMP: _is_timestamp, SECRET: _is_secret}
    for name in (*copies, *right):
        content = _bytes(folder / name)
        if content is not None and (name not in right or right[name](content)):
            (target / copies.get(name, name)).write_bytes(content)
    path = target / notebook_name(submission.exercise)
    partial = path.with_suffix(".partial")
    partial.write_text(nbformat.v4.writes(notebook), encoding="utf-8")
    partial.replace(path)


def nothing_of(student: str, exercise: str) -> Submission:
    """Return a hand-in without a file, for what may not be looked at again."""
    return Submission(student, exercise, (), Path("/nonexistent") / script_name(exercise))


def folder_of(submission: Submission) -> Path:
    """The folder that was handed in."""
    path = submission.path
    # What a link points at was not handed in: it can be the solutions.
    return path if path.is_dir() and not path.is_symlink() else path.parent


def timestamp(folder: Path) -> Any:
    """When the submission in `folder` was handed in (a UTC datetime), None when unknown."""
    content = _bytes(folder / TIMESTAMP)
    if content is None or not _is_timestamp(content):
        return None
    return parse_utc(content.decode().strip())


def _is_timestamp(content: bytes) -> bool:
    if len(content) > _LONGEST_MOMENT or not _MOMENT.fullmatch(content):
        return False
    try:
        return parse_utc(content.decode().strip()) is not None
    except Exception:  # the library that reads it does not say what it raises
        return False


def _is_secret(content: bytes) -> bool:
    # nbgrader reads it as text and puts a hash of it into a file name.
    return re.fullmatch(rb"[0-9a-f]{1,256}", content) is not None


def _bytes(path: Path) -> bytes | None:
    """The content of a plain file; None for a link (it can point at the solutions), a directory,
    nothing, too much, or what may not be read. The verdict on the same folder tells which."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:
            return None
        return path.read_bytes()
    except OSError:
        return None
