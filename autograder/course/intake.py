"""Turns what a student handed in into a notebook that nbgrader can carry.

nbgrader sees only `*.ipynb`, reads them before any preprocessor runs, and copies
every file beside them, including links. But a class also hands in plain `.py`
files, broken JSON and renamed notebooks. So nbgrader never gets the student's own
folder. It gets a laid-out copy, in which every submission is one well-formed
notebook, and the original stays as it is.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.utils import compute_checksum, is_solution, is_task, parse_utc

from autograder.course.creation import Course, notebook_name, script_name
from autograder.course.page import shown_attachments, shown_outputs
from autograder.errors import KitError
from autograder.submission.cells import (
    MOST_CELLS,
    Asked,
    cut_before_definitions,
    find_definitions,
    grade_id,
    notebook_cells,
    percent_cells,
    source,
    without_head,
)
from autograder.submission.file_text import digest_of, is_notebook, read_text
from autograder.submission.reading import Submission
from autograder.values.files import opened, replace_file
from autograder.values.sanitize import file_name

# Puts a submission's code into the cells of the release.
#
# A student's notebook comes back with cells deleted, copied, moved or merged, and with metadata
# that anybody can edit. So its structure is not used: the released notebook is the skeleton, and
# only text is copied from the submission. It goes into the solution cells where it belongs, and
# into plain cells otherwise. What somebody grades by hand keeps its outputs and pictures, too. A
# submitted cell may be any JSON object.

EXTRA = "extra-"  # how the id begins of a cell that only the submission has
START = -1  # the place of a cell that comes before all cells of the skeleton


@dataclass(frozen=True)
class Skeleton:
    """A released notebook, with what is looked up in it for every hand-in.

    cells: its cells, without what code has shown. numbers, texts: the places of its cells by
    `grade_id`, and by kind and text. solutions: the names of its solution cells. by_hand: the
    places of answers that a person gives points for.
    """

    release: NotebookNode
    cells: tuple[NotebookNode, ...]
    numbers: Mapping[str, int]
    texts: Mapping[tuple[str, str], int]
    solutions: tuple[str, ...]
    by_hand: frozenset[int]
    has_tasks: bool

    @classmethod
    def of(cls, release: NotebookNode) -> Skeleton:
        """Return the skeleton that `release` is; nobody may change that notebook afterwards."""
        cells = release.cells
        return cls(
            release,
            tuple(map(_unrun, cells)),
            {grade_id(cell): number for number, cell in enumerate(cells) if grade_id(cell)},
            {_kind_and_text(cell): number for number, cell in enumerate(cells)},
            tuple(grade_id(cell) for cell in cells if is_solution(cell)),
            frozenset(number for number, cell in enumerate(cells) if is_graded_by_hand(cell)),
            any(map(is_task, cells)),
        )

    def filled(self, submitted: Sequence[Mapping[str, Any]]) -> NotebookNode:
        """Return the release with the code of the cells `submitted` in its solution cells.

        Outputs and pictures stay only where somebody grades by hand. A solution cell is found by
        its `grade_id` (the last one, if there are copies), or else by the definition of that name.
        Any other text that is not in the release becomes a plain cell without metadata, after the
        cell that it followed. Cells that stay as they are belong to the skeleton: nobody may change
        them. Neither the release nor `submitted` is changed.
        """
        cells = list(self.cells)
        ids = list(map(grade_id, submitted))
        filled = _filled(submitted, ids, self.solutions)
        extra: dict[int, list[Mapping[str, Any]]] = {}
        work: dict[int, Mapping[str, Any]] = {}
        place = START
        for number, cell in enumerate(submitted):
            if number in filled:
                place = self.numbers[filled[number]]
                cells[place] = NotebookNode(cells[place], source=source(cell))
                if place in self.by_hand:
                    work[place] = cell
                continue
            name, text = ids[number], _kind_and_text(cell)
            if name not in self.solutions:  # a copy of a solution cell stays where it was put
                place = self.numbers.get(name, self.texts.get(text, place))
            if text[1] and text not in self.texts:
                extra.setdefault(place, []).append(cell)
        for place, cell in work.items():
            cells[place] = _showing(cells[place], cell)
        metadata = NotebookNode(self.release.metadata)
        cells = _assembled(self.release, cells, extra, self.has_tasks)
        return NotebookNode(self.release, metadata=metadata, cells=cells)


def onto_skeleton(release: NotebookNode, submitted: NotebookNode) -> NotebookNode:
    """Return `release` with the code of `submitted` in its solution cells (see `Skeleton`)."""
    return Skeleton.of(release).filled(submitted.cells)


def with_own_cells(notebook: NotebookNode) -> NotebookNode:
    """Return a copy in which cells and the notebook's metadata can be replaced.

    What a cell holds is shared with the original.
    """
    cells = [NotebookNode(cell) for cell in notebook.cells]
    return NotebookNode(notebook | {"metadata": NotebookNode(notebook.metadata), "cells": cells})


def from_script(text: str, names: Sequence[str]) -> NotebookNode:
    """Return a `.py` as the cells of a notebook, for `onto_skeleton`.

    Cells begin at the `# %%` of the percent format. A cell that defines more than one of `names`
    (as in a file without markers) is cut before each definition.
    """
    cells: list[NotebookNode] = []
    for cell in without_head(percent_cells(text)):
        parts = [cell.uncommented] if cell.is_prose else _parts(cell.text, names)
        parts = [part for each in parts if (part := each.strip("\n")).strip()]
        if len(cells) + len(parts) > MOST_CELLS:
            cells = [new_code_cell(text)]
            break
        cells += map(new_markdown_cell if cell.is_prose else new_code_cell, parts)
    notebook: NotebookNode = new_notebook(cells=cells)
    return notebook


def _filled(
    cells: Sequence[Mapping[str, Any]], ids: Sequence[str], names: Sequence[str]
) -> dict[int, str]:
    """Return which submitted cell, with its `grade_id`, fills which solution cell: by number."""
    chosen = {name: number for number, name in enumerate(ids) if name in names}
    found: dict[str, int] = {}
    # Metadata can get lost; then a definition is enough. Each cell fills one name.
    for number, cell in enumerate(cells) if len(chosen) < len(set(names)) else ():
        if number in chosen.values() or cell.get("cell_type") != "code":
            continue
        defined = (each.name for each in find_definitions(source(cell)) if each.name in names)
        first = next(defined, None)
        if first and first not in chosen:
            found[first] = number
    return {number: name for name, number in {**chosen, **found}.items()}


def is_graded_by_hand(cell: NotebookNode) -> bool:
    """Whether a cell of the release is an answer that a person gives points for."""
    facts = cell["metadata"].get("nbgrader", {})  # as nbgrader's own functions look, but quicker
    return bool(facts.get("grade") and facts.get("solution"))


def not_asked(release: NotebookNode, asked: Asked | None) -> frozenset[str]:
    """Return the questions of a release that a student's own release did not have.

    They are those that a person gives points for; None was handed in without a notebook.
    """
    if asked is None:
        return frozenset()
    return frozenset(map(grade_id, filter(is_graded_by_hand, release.cells))) - asked.names


def is_untouched(cell: NotebookNode) -> bool:
    """Whether an answer is as nbgrader has released it, by the checksum that it noted then."""
    facts = cell["metadata"].get("nbgrader", {})
    noted = facts.get("checksum")
    return bool(facts.get("solution") and noted and noted == compute_checksum(cell))


def _unrun(cell: NotebookNode) -> NotebookNode:
    """Return a copy of a cell without what its code has shown."""
    if cell["cell_type"] != "code":
        return NotebookNode(cell)
    return NotebookNode(cell, outputs=[], execution_count=None)


def _showing(cell: NotebookNode, submitted: Mapping[str, Any]) -> NotebookNode:
    """Return a cell of ours with what `submitted` shows besides its text, and nothing else."""
    if cell["cell_type"] == "code":
        return NotebookNode(cell, outputs=shown_outputs(submitted))
    pictures = shown_attachments(submitted)
    if not pictures:
        return cell
    return NotebookNode(cell, attachments=from_dict({**cell.get("attachments", {}), **pictures}))


def _assembled(
    release: NotebookNode,
    cells: list[NotebookNode],
    extra: dict[int, list[Mapping[str, Any]]],
    by_hand: bool,
) -> list[NotebookNode]:
    """Return `cells` with each extra cell after the cell that it followed.

    With `by_hand`, the extra cells are looked at, too: a task is solved in them.
    """
    if extra:
        taken = {cell.get("id") for cell in cells}
        fresh = (name for n in itertools.count(1) if (name := f"{EXTRA}{n}") not in taken)
        placed = [_plain(cell, fresh, by_hand) for cell in extra.get(START, [])]
        for number, cell in enumerate(cells):
            placed += [cell, *(_plain(each, fresh, by_hand) for each in extra.get(number, []))]
        cells = placed
    if (release.nbformat, release.nbformat_minor) >= (4, 5):
        return cells
    # They have none yet.
    return [NotebookNode({k: v for k, v in cell.items() if k != "id"}) for cell in cells]


def _plain(cell: Mapping[str, Any], names: Iterator[str], by_hand: bool) -> NotebookNode:
    make = new_code_cell if cell.get("cell_type") == "code" else new_markdown_cell
    plain: NotebookNode = make(source(cell), id=next(names))
    return _showing(plain, cell) if by_hand else plain


def _kind_and_text(cell: Mapping[str, Any]) -> tuple[str, str]:
    return str(cell.get("cell_type")), source(cell).strip()


def _parts(text: str, names: Sequence[str]) -> list[str]:
    """Return `text`, cut before each definition if it defines more than one of `names`."""
    parts = cut_before_definitions(text)
    if sum(name in names for name, _ in parts) < 2:
        return [text]
    return [part for _, part in parts]


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


def write_submission(notebook: NotebookNode, submission: Submission, target: Path) -> None:
    """Write `notebook`, the submission's .py and nbgrader's own files into the folder `target`.

    The .py is left out if it has changed since it was read. Without the time stamp and the
    secret, `nbgrader release_feedback` stops. The notebook is written last and in one piece, so
    that everything is there once the notebook is.
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
    # In one line: with line breaks, Python's JSON takes ten times as long.
    text = json.dumps(notebook, ensure_ascii=False, sort_keys=True)
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
