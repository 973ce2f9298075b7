"""Turns what a student handed in into a notebook that nbgrader can carry.

nbgrader sees only `*.ipynb`, reads them before any preprocessor runs, and copies
every file beside them, including links. But a class also hands in plain `.py`
files, broken JSON and renamed notebooks. So nbgrader never gets the student's own
folder. It gets a laid-out copy, in which every submission is one well-formed
notebook, and the original stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from autograder.course.creation import Course, notebook_name, script_name
from autograder.course.nbgrader_functions import parse_utc
from autograder.course.notebook_text import notebook_text
from autograder.course.skeleton import Skeleton, from_script, not_asked, with_own_cells
from autograder.errors import KitError
from autograder.model.files import replace_file
from autograder.model.plain_file import opened
from autograder.model.sanitize import file_name
from autograder.submission.cells import notebook_cells
from autograder.submission.file_text import digest_of, is_notebook, read_text
from autograder.submission.reading import Submission

TIMESTAMP = "timestamp.txt"
NOT_SHOWN = "Your code cannot be shown here. It was graded as you handed it in."
CHANGED = (
    "Your file changed while it was being graded, so your code is not shown here. Your points are "
    "for the file as it was when it was read. Ask your instructor to grade it again."
)
LAID_OUT = "attention_kit_code"  # in a laid-out notebook: the hash of the code that it shows
NOT_ASKED = "attention_kit_not_asked"  # and the questions that the student's release did not have
SECRET = "submission_secret.txt"  # of `nbgrader submit`; names the folder of released feedback
LARGEST = 8 * 1024 * 1024  # bytes; a larger file is not copied beside the graded notebook
# A date, a time and a zone by name or offset. The parser would open a zone that looks like a path.
_MOMENT = re.compile(rb"\s*[A-Za-z0-9][A-Za-z0-9 :.,+_-]{0,60}(?:/[A-Za-z0-9_+-]{1,30}){0,2}\s*")
_LONGEST_MOMENT = 200  # bytes


class ChangedFile(Exception):
    """A file has changed since the submission was read."""


def release_notebook(course: Course, exercise: str) -> NotebookNode:
    """Read the released notebook, or the one in `source/` before there is a release.

    Raise `KitError` when both are missing.
    """
    notebook: NotebookNode = nbformat.read(_release_file(course, exercise), as_version=4)
    return notebook


def release_skeleton(course: Course, exercise: str) -> Skeleton:
    """Return the skeleton of `release_notebook`, which nobody may change; raise `KitError`."""
    return _skeleton(_release_file(course, exercise).read_text(encoding="utf-8"))


@lru_cache(maxsize=2)
def _skeleton(text: str) -> Skeleton:
    # nbformat checks it against a schema, which takes longer than to fill it in.
    return Skeleton.of(nbformat.reads(text, as_version=4))


def _release_file(course: Course, exercise: str) -> Path:
    for folder in (course.release(exercise), course.source(exercise)):
        path = folder / notebook_name(exercise)
        if path.is_file():
            return path
    raise KitError(
        f"{exercise} has no notebook",
        place=str(course.source(exercise)),
        cure=f"put {notebook_name(exercise)} back there; `attn build` makes it",
    )


def notebook_of(skeleton: Skeleton, submission: Submission) -> NotebookNode:
    """Return the release with the code of a submission, an .ipynb or a .py, in its cells.

    If the submission could not be read, the release stays as it is and the verdict says why. If
    its code cannot be put into the cells, the release stays as it is and a cell says so. Raise
    `ChangedFile` when the file has changed, because only the code that is judged may be shown.
    """
    if submission.rejected:
        return skeleton.filled(())
    text = _text(submission)
    try:
        return skeleton.filled(_cells(text, submission.path, skeleton.solutions))
    except Exception:  # one student's hand-in must not keep the others from getting grades
        return skeleton.filled((new_markdown_cell(NOT_SHOWN),))


def _text(submission: Submission) -> str:
    """Read the file that counts again and return its text; raise `ChangedFile`."""
    try:
        read = read_text(submission.path, submission.root)
    except Exception as error:  # it could be read before
        raise ChangedFile from error
    if (submission.path, read.digest) not in submission.digests:
        raise ChangedFile
    return read.text


def _cells(text: str, path: Path, names: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    """Return the cells of the file that was handed in; raise `Unreadable`."""
    if not is_notebook(path):
        cells: list[NotebookNode] = from_script(text, names).cells
        return cells
    return notebook_cells(text, file_name(path))


def lay_out(release: NotebookNode, submission: Submission, target: Path) -> None:
    """Write the submission as a notebook that records which code it shows (see `same_code`)."""
    try:
        notebook, code = notebook_of(Skeleton.of(release), submission), submission.code_hash
    except ChangedFile:
        notebook, code = with_own_cells(release), "changed"
        submission = without_code(submission)
    notebook.metadata[LAID_OUT] = code
    notebook.metadata[NOT_ASKED] = sorted(not_asked(release, submission.asked))
    write_submission(notebook, submission, target)


def same_code(notebook: NotebookNode, code_hash: str) -> bool:
    """Whether a laid-out notebook shows the code with this hash, which was judged."""
    stored = notebook.metadata.get(LAID_OUT)
    return not stored or not code_hash or stored == code_hash


def drop_scripts(folder: Path) -> None:
    """Delete the `.py` files that were copied beside a notebook that shows no code."""
    for script in folder.glob("*.py"):
        script.unlink()


def write_submission(
    notebook: NotebookNode,
    submission: Submission,
    target: Path,
    known: Mapping[int, str] = {},
) -> None:
    """Write `notebook`, the submission's .py and nbgrader's own files into the folder `target`.

    The .py is left out if it has changed since it was read. Without the time stamp and the
    secret, `nbgrader release_feedback` stops. The notebook is written last and in one piece, so
    that everything is there once the notebook is. `known` are the `cell_texts` of its cells.
    """
    target.mkdir(parents=True, exist_ok=True)
    folder = folder_of(submission)
    script, own = script_name(submission.exercise), submission.path.with_suffix(".py").name
    # nbgrader copies and logs the names that it finds, so all of them must be printable.
    copies = {own: own if own.isprintable() else script, script: script}
    right = {TIMESTAMP: _is_timestamp, SECRET: _is_secret}
    for name in (*copies, *right):
        place = (folder if name in right else submission.path.parent) / name
        content = _bytes(place, submission.root or folder)
        if content is None:
            continue
        read = (place, digest_of(content)) in submission.digests
        if right[name](content) if name in right else read:
            (target / copies.get(name, name)).write_bytes(content)
    text = notebook_text(notebook, known)
    replace_file(target / notebook_name(submission.exercise), text.encode("utf-8"))


def nothing_of(student: str, exercise: str) -> Submission:
    """Return an empty submission, to use when the real one must not be read again."""
    return Submission(student, exercise, (), Path("/nonexistent") / script_name(exercise))


def without_code(submission: Submission) -> Submission:
    """Return the submission without its code: only nbgrader's own files are copied."""
    return replace(submission, cells=(), not_run=(), digests=())


def folder_of(submission: Submission) -> Path:
    """The folder that was handed in."""
    if submission.folder:  # what counts may lie further down
        return submission.folder
    path = submission.path
    # The target of a link was not handed in; it could be the solutions.
    return path if path.is_dir() and not path.is_symlink() else path.parent


def handed_in_at(submission: Submission) -> Any:
    """Return when a submission was handed in (a UTC datetime), or None if that is unknown."""
    return timestamp(folder_of(submission), submission.root)


def timestamp(folder: Path, root: Path | None = None) -> Any:
    """Return when the submission in `folder` was handed in (a UTC datetime), or None if unknown.

    No link below `root` is followed (see `opened`).
    """
    content = _bytes(folder / TIMESTAMP, root or folder)
    if content is None or not _is_timestamp(content):
        return None
    return parse_utc(content.decode().strip())


def own_secret(course: Course, exercise: str, student: str) -> bytes | None:
    """Return the secret of what a student handed in, whoever's hand-in counts; None without one."""
    content = _bytes(course.submitted(exercise, student) / SECRET, course.hand_ins)
    return content if content is not None and _is_secret(content) else None


def _is_timestamp(content: bytes) -> bool:
    if len(content) > _LONGEST_MOMENT or not _MOMENT.fullmatch(content):
        return False
    try:
        return parse_utc(content.decode().strip()) is not None
    except Exception:  # the parser does not document what it raises
        return False


def _is_secret(content: bytes) -> bool:
    # nbgrader reads the secret as text and puts a hash of it into a file name.
    return re.fullmatch(rb"[0-9a-f]{1,256}", content) is not None


def _bytes(path: Path, root: Path) -> bytes | None:
    """Return the content of a plain file, or None when it cannot or must not be copied.

    That is a link (it could point to the solutions), a directory, a missing file, a file that is
    too large, or one without permission. The verdict on the same folder says which.
    """
    try:
        with opened(path, root) as found:
            content = found.content(LARGEST + 1)
    except OSError:
        return None
    return content if len(content) <= LARGEST else None
