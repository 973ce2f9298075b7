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

from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.course.nbgrader_functions import compute_checksum, is_task
from autograder.course.notebook_text import cell_texts
from autograder.course.shown_work import shown_attachments, shown_outputs
from autograder.submission.cells import MOST_CELLS, Asked, grade_id, source, source_as_it_is
from autograder.submission.definitions import cut_before_definitions, find_definitions
from autograder.submission.percent import percent_cells, without_head

EXTRA = "extra-"  # how the id begins of a cell that only the submission has
START = -1  # the place of a cell that comes before all cells of the skeleton


@dataclass(frozen=True)
class Skeleton:
    """A released notebook, with what is looked up in it for every hand-in.

    numbers, texts: the places of its cells by `grade_id`, and by kind and text. solutions: the
    names of its solution cells. by_hand: the places of answers that a person gives points for.
    cells: its cells, without what code has shown. as_released: kind and text by kind and source.
    prose: the `cell_texts` of its other cells. unanswered: the text of its answers as nbgrader has
    released them, by name.
    """

    release: NotebookNode
    cells: tuple[NotebookNode, ...]
    as_released: Mapping[tuple[str, str], tuple[str, str]]
    numbers: Mapping[str, int]
    texts: Mapping[tuple[str, str], int]
    solutions: tuple[str, ...]
    by_hand: frozenset[int]
    has_tasks: bool
    prose: Mapping[int, str]
    unanswered: Mapping[str, str]

    @classmethod
    def of(cls, release: NotebookNode) -> Skeleton:
        """Return the skeleton that `release` is; nobody may change that notebook afterwards."""
        cells = release.cells
        unrun = tuple(map(_unrun, cells))
        return cls(
            release,
            unrun,
            {(str(cell.get("cell_type")), source_as_it_is(cell)): _text(cell) for cell in cells},
            {grade_id(cell): number for number, cell in enumerate(cells) if grade_id(cell)},
            {_text(cell): number for number, cell in enumerate(cells)},
            tuple(grade_id(cell) for cell in cells if _is_solution(cell)),
            frozenset(number for number, cell in enumerate(cells) if is_graded_by_hand(cell)),
            any(map(is_task, cells)),
            cell_texts(cell for cell in unrun if cell["cell_type"] != "code"),
            {grade_id(cell): cell["source"] for cell in cells if is_untouched(cell)},
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
            name, text = ids[number], self._text(cell)
            if name not in self.solutions:  # a copy of a solution cell stays where it was put
                place = self.numbers.get(name, self.texts.get(text, place))
            if text[1] and text not in self.texts:
                extra.setdefault(place, []).append(cell)
        for place, cell in work.items():
            cells[place] = _showing(cells[place], cell)
        metadata = NotebookNode(self.release.metadata)
        cells = _assembled(self.release, cells, extra, self.has_tasks)
        return NotebookNode(self.release, metadata=metadata, cells=cells)

    def _text(self, cell: Mapping[str, Any]) -> tuple[str, str]:
        """Return kind and text of a submitted cell: nearly always, those of a released one."""
        there = self.as_released.get((str(cell.get("cell_type")), source_as_it_is(cell)))
        return there or _text(cell)


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
    return [_without_id(cell) for cell in cells]  # they have none yet


def _plain(cell: Mapping[str, Any], names: Iterator[str], by_hand: bool) -> NotebookNode:
    make = new_code_cell if cell.get("cell_type") == "code" else new_markdown_cell
    plain: NotebookNode = make(source(cell), id=next(names))
    return _showing(plain, cell) if by_hand else plain


def _without_id(cell: NotebookNode) -> NotebookNode:
    return NotebookNode({name: value for name, value in cell.items() if name != "id"})


def _is_solution(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def _text(cell: Mapping[str, Any]) -> tuple[str, str]:
    return str(cell.get("cell_type")), source(cell).strip()


def _parts(text: str, names: Sequence[str]) -> list[str]:
    """Return `text`, cut before each definition if it defines more than one of `names`."""
    parts = cut_before_definitions(text)
    if sum(name in names for name, _ in parts) < 2:
        return [text]
    return [part for _, part in parts]
