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
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.utils import is_grade, is_solution, is_task

from autograder.course.shown_work import shown_attachments, shown_outputs
from autograder.submission.cells import MOST_CELLS, source
from autograder.submission.definitions import cut_before_definitions, find_definitions
from autograder.submission.percent import percent_cells, without_head

EXTRA = "extra-"  # how the id begins of a cell that only the submission has
START = -1  # the place of a cell that comes before all cells of the skeleton


def onto_skeleton(release: NotebookNode, submitted: NotebookNode) -> NotebookNode:
    """Return `release` with the code of `submitted` in its solution cells.

    Outputs and pictures stay only where somebody grades by hand. A solution cell is found by its
    `grade_id` (the last one, if there are copies), or else by the definition of that name. Any
    other text that is not in the release becomes a plain cell without metadata, after the cell
    that it followed. Neither argument is changed.
    """
    result = with_own_cells(release)
    numbers = {_grade_id(c): number for number, c in enumerate(result.cells) if _grade_id(c)}
    texts = {_text(cell): number for number, cell in enumerate(result.cells)}
    solutions = tuple(_grade_id(cell) for cell in result.cells if _is_solution(cell))
    filled = _filled(submitted.cells, solutions)
    extra: dict[int, list[NotebookNode]] = {}
    work: dict[int, NotebookNode] = {}
    place = START
    for number, cell in enumerate(submitted.cells):
        if number in filled:
            place = numbers[filled[number]]
            result.cells[place].source = source(cell)
            if is_graded_by_hand(result.cells[place]):
                work[place] = cell
            continue
        grade_id = _grade_id(cell)
        if grade_id not in solutions:  # a copy of a solution cell stays where it was put
            place = numbers.get(grade_id, texts.get(_text(cell), place))
        if source(cell).strip() and _text(cell) not in texts:
            extra.setdefault(place, []).append(cell)
    for place, cell in enumerate(result.cells):
        _show(cell, work.get(place, {}))
    return _assembled(result, extra, any(map(is_task, result.cells)))


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


def _filled(cells: Sequence[NotebookNode], names: Sequence[str]) -> dict[int, str]:
    """Return which submitted cell fills which solution cell: number to name."""
    chosen: dict[str, int] = {}
    for number, cell in enumerate(cells):
        if _grade_id(cell) in names:
            chosen[_grade_id(cell)] = number
    found: dict[str, int] = {}
    for number, cell in enumerate(cells):
        # Metadata can get lost; then a definition is enough. Each cell fills one name.
        if number in chosen.values() or cell.get("cell_type") != "code":
            continue
        defined = (each.name for each in find_definitions(source(cell)) if each.name in names)
        first = next(defined, None)
        if first and first not in chosen:
            found[first] = number
    return {number: name for name, number in {**chosen, **found}.items()}


def is_graded_by_hand(cell: NotebookNode) -> bool:
    """Whether a cell of the release is an answer that a person gives points for."""
    return bool(is_grade(cell) and is_solution(cell))


def _show(cell: NotebookNode, submitted: Mapping[str, Any]) -> None:
    """Give a cell of ours what `submitted` shows besides its text, and nothing else."""
    if cell.cell_type == "code":
        cell.outputs, cell.execution_count = shown_outputs(submitted), None
    elif pictures := shown_attachments(submitted):
        cell.attachments = NotebookNode(cell.get("attachments", {})) | pictures


def _assembled(
    skeleton: NotebookNode, extra: dict[int, list[NotebookNode]], by_hand: bool
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


def _plain(cell: NotebookNode, names: Iterator[str], by_hand: bool) -> NotebookNode:
    make = new_code_cell if cell.get("cell_type") == "code" else new_markdown_cell
    plain: NotebookNode = make(source(cell), id=next(names))
    if by_hand:
        _show(plain, cell)
    return plain


def _is_solution(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def _grade_id(cell: NotebookNode) -> str:
    """Return the cell's `grade_id`, or ""; a student may have put anything there."""
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
    return grade_id if isinstance(grade_id, str) else ""


def _text(cell: NotebookNode) -> tuple[str, str]:
    return str(cell.get("cell_type")), source(cell).strip()


def _parts(text: str, names: Sequence[str]) -> list[str]:
    """Return `text`, cut before each definition if it defines more than one of `names`."""
    parts = cut_before_definitions(text)
    if sum(name in names for name, _ in parts) < 2:
        return [text]
    return [part for _, part in parts]
