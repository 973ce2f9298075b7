"""Whether release, gradebook and exchange are those of the notebook in `source/`.

Students get what is in the exchange: nbgrader copies it there from `release/`, and only when it is
told to.
"""

from __future__ import annotations

import copy
import os
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.exchange import ExchangeFactory
from nbgrader.exchange.default import Exchange, ExchangeReleaseAssignment
from nbgrader.preprocessors import ClearHiddenTests, ClearMarkScheme
from traitlets.config import Config

from autograder.course.creation import Course, notebook_name
from autograder.course.gradebook_cells import entered_cells, notebook_cells
from autograder.course.kit_copy import LARGEST_FILE, digest, read_notebook
from autograder.course.preprocessors import KeepStubs
from autograder.course.settings import (
    UnknownAssignment,
    course_directory,
    open_gradebook,
    read_settings,
)
from autograder.errors import KitError
from autograder.model.files import read_small

_FACTS = ("grade_id", "grade", "solution", "task", "points")


@dataclass(frozen=True)
class ReleaseState:
    """How an exercise's release differs from its source, in words; nothing where it does not.

    released: whether it has been released at all. refused: whether `nbgrader generate_assignment`
    would stop, since somebody has been graded and the cells are others. in_exchange: whether
    students can fetch it, None where there is no exchange; exchange: how that differs from release.
    """

    released: bool
    differences: tuple[str, ...] = ()
    gradebook: tuple[str, ...] = ()
    refused: bool = False
    in_exchange: bool | None = None
    exchange: tuple[str, ...] = ()


def release_state(course: Course, exercise: str, source: NotebookNode) -> ReleaseState:
    """Compare the release of an exercise, and the gradebook, with the notebook `source`.

    Raise `KitError` when the gradebook cannot be used or a file of the course is damaged.
    """
    try:
        settings = read_settings(course)
        with open_gradebook(course, settings, exercise) as (_, book):
            there, wanted = entered_cells(book), notebook_cells(source)
            refused = bool(book.submissions) and not there.same_names(wanted)
    except UnknownAssignment:
        return ReleaseState(False)
    # A release that nbgrader refuses is removed all the same.
    words: tuple[str, ...] = ("its notebook is missing",)
    if (course.release(exercise) / notebook_name(exercise)).is_file():
        words = _notebook(course, exercise, source, settings) + _files(course, exercise)
    outbound = handed_out(course, settings)
    fetched = outbound / exercise if outbound else None
    there_too = None if fetched is None else fetched.is_dir()
    behind = _exchange(course, exercise, fetched, settings) if fetched and there_too else ()
    return ReleaseState(True, words, there.words(wanted), refused, there_too, behind)


def handed_out(course: Course, settings: Config) -> Path | None:
    """Return where students fetch the course's assignments; None without an exchange of nbgrader's.

    There is none where its folder is missing, or the course has no name in it.
    """
    directory, factory = course_directory(course, settings), ExchangeFactory(config=settings)
    if not directory.course_id or not issubclass(factory.release_assignment, Exchange):
        return None
    root = Path(ExchangeReleaseAssignment(coursedir=directory, config=settings).root)
    readable = os.access(root, os.R_OK | os.X_OK) and root.is_dir()
    return root / directory.course_id / "outbound" if readable else None


def _exchange(course: Course, exercise: str, fetched: Path, settings: Config) -> tuple[str, ...]:
    """Say how what students can fetch differs from `release/`, which nbgrader copies."""
    ignored = course_directory(course, settings).ignore
    released, there = (
        {
            path.relative_to(folder).as_posix(): path
            for path in sorted(folder.rglob("*"))
            if path.is_file()
            and not any(
                fnmatch(part, each) for part in path.relative_to(folder).parts for each in ignored
            )
        }
        for folder in (course.release(exercise), fetched)
    )
    return (
        *(f"{name} is not in it" for name in released if name not in there),
        *(f"{name} is no longer in the release" for name in there if name not in released),
        *(
            f"{name} is not the one in the release"
            for name, path in released.items()
            if name in there and _hash(path) != _hash(there[name])
        ),
    )


def _notebook(
    course: Course, exercise: str, source: NotebookNode, settings: Config
) -> tuple[str, ...]:
    path = course.release(exercise) / notebook_name(exercise)
    released = read_notebook(read_small(path, LARGEST_FILE), path)
    wanted = _cells(_cleared(source, settings, course.source(exercise)))
    there = _cells(released)
    count = sum(cell not in there for cell in wanted) or sum(cell not in wanted for cell in there)
    if not count:
        return () if there == wanted else ("its cells are in another order",)
    return (f"{count} of its cells differ" if count > 1 else "one of its cells differs",)


def _cleared(source: NotebookNode, settings: Config, place: Path) -> NotebookNode:
    """Return what students would get of a notebook: without solutions and hidden tests."""
    result = copy.deepcopy(source)
    try:
        for preprocessor in (KeepStubs, ClearHiddenTests, ClearMarkScheme):
            result, _ = preprocessor(config=settings).preprocess(result, ResourcesDict())
    except Exception as error:  # nbgrader raises several for a region that has no end
        raise KitError(
            f"nbgrader cannot release this notebook: {error}",
            place=str(place),
            cure="correct the cell that it names",
        ) from None
    return result


def _cells(notebook: NotebookNode) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for cell in notebook.cells:
        facts = cell.metadata.get("nbgrader", {})
        found.append((cell.cell_type, cell.source, *(facts.get(name) for name in _FACTS)))
    return found


def _files(course: Course, exercise: str) -> tuple[str, ...]:
    source, release = (
        {
            path.relative_to(folder).as_posix(): path
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix not in (".ipynb", ".pyc") and _shown(path, folder)
        }
        for folder in (course.source(exercise), course.release(exercise))
    )
    words = [f"{name} is not in it" for name in source if name not in release]
    words += [
        f"{name} differs"
        for name, path in source.items()
        if name in release and _hash(path) != _hash(release[name])
    ]
    return tuple(words)


def _shown(path: Path, folder: Path) -> bool:
    parts = path.relative_to(folder).parts
    return not any(part.startswith(".") or part == "__pycache__" for part in parts)


def _hash(path: Path) -> str:
    return digest(read_small(path, LARGEST_FILE))
