"""Which cells of a notebook belong together: the kit's of then, the kit's of now, the course's.

A cell with a `grade_id` is found by it. The others have ids that count cells, so they change when
a step is added: they are found by their text, or by the graded cell that they stand before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from nbformat import NotebookNode

from autograder.building.student_notebook import BELOW
from autograder.model.exercise import CHECK_PREFIX

STEPS_LIST = "setup-steps"  # the id of the kit's list of the steps
_FIXED = ("setup-prose", STEPS_LIST, "closing-prose", "closing")
_KITS_ID = re.compile(r"(?:prose|given|below)-\d{3,}")


def grade_id(cell: NotebookNode) -> str:
    """Return the name by which nbgrader knows the cell, or "" when it does not."""
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))


def is_check(cell: NotebookNode) -> bool:
    """Whether the cell is graded automatically: it checks a step."""
    facts = cell.metadata.get("nbgrader", {})
    return bool(facts.get("grade")) and not facts.get("solution") and cell.cell_type == "code"


def is_locked(cell: NotebookNode) -> bool:
    """Whether nbgrader puts the cell's text back, whatever students do to it."""
    return bool(cell.metadata.get("nbgrader", {}).get("locked"))


def text_of(cell: NotebookNode) -> tuple[str, str]:
    """Return what makes two cells say the same: their type and their text."""
    return cell.cell_type, cell.source


def kit_shaped(cells: Sequence[NotebookNode], now: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Return the cells that the kit has made, as far as their names tell.

    `now` are the kit's cells of today. A solution cell without a check is the instructor's own.
    """
    names = {grade_id(cell) for cell in now} | {"setup"}
    checks = {grade_id(cell) for cell in cells if is_check(cell)}
    found = []
    for cell in cells:
        name, facts = grade_id(cell), cell.metadata.get("nbgrader", {})
        if not name:
            ours = cell.get("id", "") in _FIXED or bool(_KITS_ID.fullmatch(cell.get("id", "")))
        elif is_check(cell):
            ours = name.startswith(CHECK_PREFIX)
        else:
            ours = name in names or (
                bool(facts.get("solution"))
                and not facts.get("grade")
                and f"{CHECK_PREFIX}{name}" in checks
            )
        found += [cell] if ours else []
    return found


def places(made: Sequence[NotebookNode], course: Sequence[NotebookNode]) -> dict[int, int]:
    """Return where the cells that the kit made are in the course's notebook: number to number."""
    found = _by_name(made, course)
    _pair(made, course, found, _same_id)
    _pair(made, course, found, text_of)
    return found


def successors(made: Sequence[NotebookNode], now: Sequence[NotebookNode]) -> dict[int, int]:
    """Return which of the kit's cells of now replaces which of then: number to number."""
    found = _by_name(made, now)
    _pair(made, now, found, _fixed_id)
    _pair(made, now, found, text_of)
    then, today = _positions(made, found), _positions(now, found.values())
    for number, position in then.items():
        match = next((other for other, place in today.items() if place == position), None)
        if match is not None:
            found[number] = match
            del today[match]
    return found


def _by_name(left: Sequence[NotebookNode], right: Sequence[NotebookNode]) -> dict[int, int]:
    numbers = {grade_id(cell): number for number, cell in reversed(list(enumerate(right)))}
    return {
        number: numbers[grade_id(cell)]
        for number, cell in enumerate(left)
        if grade_id(cell) and grade_id(cell) in numbers
    }


def _pair(
    left: Sequence[NotebookNode],
    right: Sequence[NotebookNode],
    found: dict[int, int],
    same: Callable[[NotebookNode], object],
) -> None:
    """Add to `found` each cell of `left` with the first free one of `right` that is the same."""
    taken = set(found.values())
    for number, cell in enumerate(left):
        wanted = same(cell)
        if number in found or grade_id(cell) or wanted is None:
            continue
        for other, candidate in enumerate(right):
            if other not in taken and not grade_id(candidate) and same(candidate) == wanted:
                found[number] = other
                taken.add(other)
                break


def _same_id(cell: NotebookNode) -> object:
    return (cell.cell_type, cell["id"]) if cell.get("id") else None


def _fixed_id(cell: NotebookNode) -> object:
    return cell["id"] if cell.get("id") in _FIXED else None


def _positions(
    cells: Sequence[NotebookNode], paired: Iterable[int]
) -> dict[int, tuple[str, str, int]]:
    """Say of each cell that is left: before which graded cell, of which kind, the how manieth."""
    known, counts = set(paired), Counter[tuple[str, str]]()
    found = {}
    for number, cell in enumerate(cells):
        if number in known or grade_id(cell):
            continue
        position = (section(cells, number), _kind(cell))
        found[number] = (*position, counts[position])
        counts[position] += 1
    return found


def _kind(cell: NotebookNode) -> str:
    """Return the type of a cell; prose that goes on about the step above is of a type of its own.

    So it never takes the place of the prose about the step below.
    """
    return BELOW if cell.get("id", "").startswith(BELOW) else str(cell.cell_type)


def section(cells: Sequence[NotebookNode], number: int) -> str:
    """Return the name of the graded cell at or after a cell, "" after the last one.

    A check belongs to its step.
    """
    names = (grade_id(cell) for cell in cells[number:])
    return next((name.removeprefix(CHECK_PREFIX) for name in names if name), "")
