"""Puts a submission's code into the cells of the release.

A student's notebook comes back with cells deleted, copied, moved or merged, and with
metadata that anybody can edit. So its structure is not used: the released notebook is
the skeleton, and only text is copied from the submission. It goes into the solution
cells where it belongs, and into plain cells otherwise. What somebody grades by hand keeps
its outputs and pictures, too. A submitted cell may be any JSON object.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.course.nbgrader_functions import is_task
from autograder.course.shown_work import shown_attachments, shown_outputs
from autograder.submission.cells import MOST_CELLS, source
from autograder.submission.definitions import cut_before_definitions, find_definitions
from autograder.submission.percent import percent_cells, without_head

EXTRA = "extra-"  # how the id begins of a cell that only the submission has
START = -1  # the place of a cell that comes before all cells of the skeleton


@dataclass(frozen=True)
class Skeleton:
    """A released notebook, with what is looked up in it for every hand-in.

    numbers, texts: the places of its cells by `grade_id`, and by kind and text. solutions: the
    names of its solution cells. by_hand: the places of answers that a person gives points for.
    """

    release: NotebookNode
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
            {_grade_id(cell): number for number, cell in enumerate(cells) if _grade_id(cell)},
            {_text(cell): number for number, cell in enumerate(cells)},
            tuple(_grade_id(cell) for cell in cells if _is_solution(cell)),
            frozenset(number for number, cell in enumerate(cells) if is_graded_by_hand(cell)),
            any(map(is_task, cells)),
        )

    def filled(self, submitted: Sequence[Mapping[str, Any]]) -> NotebookNode:
        """Return the release with the code of the cells `submitted` in its solution cells.

        Outputs and pictures stay only where somebody grades by hand. A solution cell is found by
        its `grade_id` (the last one, if there are copies), or else by the definition of that name.
        Any other text that is not in the release becomes a plain cell without metadata, after the
        cell that it followed. Neither the release nor `submitted` is changed.
        """
        result = with_own_cells(self.release)
        ids = list(map(_grade_id, submitted))
        filled = _filled(submitted, ids, self.solutions)
        extra: dict[int, list[Mapping[str, Any]]] = {}
        work: dict[int, Mapping[str, Any]] = {}
        place = START
        for number, cell in enumerate(submitted):
            if number in filled:
                place = self.numbers[filled[number]]
                result.cells[place]["source"] = source(cell)
                if place in self.by_hand:
                    work[place] = cell
                continue
            grade_id, text = ids[number], _text(cell)
            if grade_id not in self.solutions:  # a copy of a solution cell stays where it was put
                place = self.numbers.get(grade_id, self.texts.get(text, place))
            if text[1] and text not in self.texts:
                extra.setdefault(place, []).append(cell)
        for place, cell in enumerate(result.cells):
            _show(cell, work.get(place))
        return _assembled(result, extra, self.has_tasks)


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
    chosen = {grade_id: number for number, grade_id in enumerate(ids) if grade_id in names}
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


def _show(cell: NotebookNode, submitted: Mapping[str, Any] | None) -> None:
    """Give a cell of ours what `submitted` shows besides its text, and nothing else."""
    if cell["cell_type"] == "code":
        cell["outputs"] = shown_outputs(submitted) if submitted else []
        cell["execution_count"] = None
    elif submitted and (pictures := shown_attachments(submitted)):
        cell.attachments = NotebookNode(cell.get("attachments", {})) | pictures


def _assembled(
    skeleton: NotebookNode, extra: dict[int, list[Mapping[str, Any]]], by_hand: bool
) -> NotebookNode:
    """Return the skeleton with each extra cell after the cell that it followed.

    With `by_hand`, the extra cells are looked at, too: a task is solved in them.
    """
    taken = {cell.get("id") for cell in skeleton.cells}
    fresh = (name for n in itertools.count(1) if (name := f"{EXTRA}{n}") not in taken)
    cells = [_plain(cell, fresh, by_hand) for cell in extra.get(START, [])]
    for number, cell in enumerate(skeleton.cells):
        cells += [cell, *(_plain(each, fresh, by_hand) for each in extra.get(number, []))]
    if (skeleton.nbformat, skeleton.nbformat_minor) < (4, 5):  # cells have no id yet
        for cell in cells:
            cell.pop("id", None)
    skeleton.cells = cells
    return skeleton


def _plain(cell: Mapping[str, Any], names: Iterator[str], by_hand: bool) -> NotebookNode:
    make = new_code_cell if cell.get("cell_type") == "code" else new_markdown_cell
    plain: NotebookNode = make(source(cell), id=next(names))
    if by_hand:
        _show(plain, cell)
    return plain


def _is_solution(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def _grade_id(cell: Mapping[str, Any]) -> str:
    """Return the cell's `grade_id`, or ""; a student may have put anything there."""
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
    return grade_id if isinstance(grade_id, str) else ""


def _text(cell: Mapping[str, Any]) -> tuple[str, str]:
    return str(cell.get("cell_type")), source(cell).strip()


def _parts(text: str, names: Sequence[str]) -> list[str]:
    """Return `text`, cut before each definition if it defines more than one of `names`."""
    parts = cut_before_definitions(text)
    if sum(name in names for name, _ in parts) < 2:
        return [text]
    return [part for _, part in parts]
