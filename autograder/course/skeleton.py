"""A submission's code on the release's cells.

A student's notebook comes back with cells deleted, copied, moved, merged, and with
metadata that anybody can edit. So none of its structure is used: the released
notebook is the skeleton, and of the submission only text is carried over, into the
solution cells where it belongs and into plain cells where it does not. A submitted
cell may be any JSON object.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.submission.cells import MOST_CELLS, source
from autograder.submission.definitions import cut_before_definitions, find_definitions
from autograder.submission.percent import percent_cells, without_head

START = -1  # the place of a cell that follows none of the skeleton's


def onto_skeleton(release: NotebookNode, submitted: NotebookNode) -> NotebookNode:
    """Return `release` with the code of `submitted` in its solution cells, and no outputs.

    A solution cell is found by its `grade_id` (of copies the last), else by the definition of
    that name. Every other text that the release does not have becomes a plain cell after the
    cell it followed, without metadata. Neither argument is changed.
    """
    result = copy.deepcopy(release)
    numbers = {_grade_id(c): number for number, c in enumerate(result.cells) if _grade_id(c)}
    texts = {_text(cell): number for number, cell in enumerate(result.cells)}
    solutions = tuple(_grade_id(cell) for cell in result.cells if _is_solution(cell))
    filled = _filled(submitted.cells, solutions)
    extra: dict[int, list[NotebookNode]] = {}
    place = START
    for number, cell in enumerate(submitted.cells):
        if number in filled:
            place = numbers[filled[number]]
            result.cells[place].source = source(cell)
            continue
        grade_id = _grade_id(cell)
        if grade_id not in solutions:  # a copy of a solution cell stays where it was put
            place = numbers.get(grade_id, texts.get(_text(cell), place))
        if source(cell).strip() and _text(cell) not in texts:
            extra.setdefault(place, []).append(cell)
    return _assembled(result, extra)


def from_script(text: str, names: Sequence[str]) -> NotebookNode:
    """Return a `.py` as the cells of a notebook, for `onto_skeleton`.

    Cells begin at the percent format's `# %%`. A cell that defines more than one of `names` (a
    file without markers) is cut before each definition.
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
    """Which submitted cell fills which solution cell: number to name."""
    chosen: dict[str, int] = {}
    for number, cell in enumerate(cells):
        if _grade_id(cell) in names:
            chosen[_grade_id(cell)] = number
    found: dict[str, int] = {}
    for number, cell in enumerate(cells):
        # Metadata can get lost on the way; a definition is then enough. One cell fills one name.
        if number in chosen.values() or cell.get("cell_type") != "code":
            continue
        defined = (each.name for each in find_definitions(source(cell)) if each.name in names)
        first = next(defined, None)
        if first and first not in chosen:
            found[first] = number
    return {number: name for name, number in {**chosen, **found}.items()}


def _assembled(skeleton: NotebookNode, extra: dict[int, list[NotebookNode]]) -> NotebookNode:
    """The skeleton with the extra cells after those they followed."""
    taken = {cell.get("id") for cell in skeleton.cells}
    fresh = (name for n in itertools.count(1) if (name := f"extra-{n}") not in taken)
    cells = [_plain(cell, fresh) for cell in extra.get(START, [])]
    for number, cell in enumerate(skeleton.cells):
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        cells += [cell, *(_plain(cell, fresh) for cell in extra.get(number, []))]
    if (skeleton.nbformat, skeleton.nbformat_minor) < (4, 5):  # cells have no id yet
        for cell in cells:
            cell.pop("id", None)
    skeleton.cells = cells
    return skeleton


def _plain(cell: NotebookNode, names: Iterator[str]) -> NotebookNode:
    make = new_code_cell if cell.get("cell_type") == "code" else new_markdown_cell
    plain: NotebookNode = make(source(cell), id=next(names))
    return plain


def _is_solution(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def _grade_id(cell: NotebookNode) -> str:
    """The cell's `grade_id`, "" when there is none; a student may have put anything there."""
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
    return grade_id if isinstance(grade_id, str) else ""


def _text(cell: NotebookNode) -> tuple[str, str]:
    return str(cell.get("cell_type")), source(cell).strip()


def _parts(text: str, names: Sequence[str]) -> list[str]:
    """`text` whole, or cut before each definition when it defines more than one of `names`."""
    parts = cut_before_definitions(text)
    if sum(name in names for name, _ in parts) < 2:
        return [text]
    return [part for _, part in parts]
