"""An instructor's notebook with what a newer kit says: their own cells and words stay.

Three notebooks are compared: what the kit wrote into the course (`made`), what is there now, and
what the kit would write today. Where only the kit has changed a cell, its text is taken. Where
the instructor has, theirs stays. Points and checks are always the kit's.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass

from nbformat import NotebookNode

from autograder.course.kit_cells import (
    STEPS_LIST,
    grade_id,
    is_check,
    is_locked,
    kit_shaped,
    places,
    section,
    successors,
    text_of,
)
from autograder.model.exercise import CHECK_PREFIX
from autograder.model.symbols import number as shown

_LISTED = re.compile(
    r"(?:\*\*The steps\*\*, in the order in which (?:the layer computes|you write) them:\n"
    r"|<details>\n<summary>The \d+ steps</summary>\n)"
    r"(?:\n\d+\. .*: `\w+` \(.*\))+(?:\n\n</details>)?"
)
OWN = "own-"  # how the new id of a cell begins that was the kit's and is now the instructor's


@dataclass(frozen=True)
class MergedNotebook:
    """The notebook, what has changed in it, and which words of the instructor's have stayed.

    `changes` and `kept` are sentences without a full stop. `other` says whether the notebook
    differs at all from the one that was in the course.
    """

    notebook: NotebookNode
    changes: tuple[str, ...]
    kept: tuple[str, ...]
    other: bool


def merge(
    made: NotebookNode | None, course: NotebookNode, now: NotebookNode, *, replace: bool = False
) -> MergedNotebook:
    """Return `course` with the changes of the kit from `made` to `now`.

    Without `made`, nobody knows which words are the instructor's: those that differ stay. With
    `replace`, every cell of the kit gets the kit's text. No argument is changed.
    """
    then = made.cells if made else kit_shaped(course.cells, now.cells)
    return _Merge(then, course, now, known=made is not None, replace=replace).result()


class _Merge:
    def __init__(
        self,
        then: Sequence[NotebookNode],
        course: NotebookNode,
        now: NotebookNode,
        *,
        known: bool,
        replace: bool,
    ) -> None:
        self.course, self.now, self.known, self.replace = course, now.cells, known, replace
        self.then = then
        self.place = places(then, course.cells)
        self.successor = successors(then, self.now)
        self.changes: list[str] = []
        self.kept: list[str] = []

    def result(self) -> MergedNotebook:
        of_now = {new: old for old, new in self.successor.items()}
        written: dict[int, NotebookNode] = {}  # by the place in the course's notebook
        order: dict[int, int] = {}  # the kit's number of now, by the place in the course's
        missing: list[int] = []
        for number, cell in enumerate(self.now):
            old = of_now.get(number)
            place = None if old is None else self.place.get(old)
            if old is not None and place is not None:
                written[place], order[place] = self._cell(old, place, cell), number
            elif old is None or grade_id(cell):
                missing.append(number)
                self._tell_new(cell, was_there=old is not None)
            # else: the instructor has taken it out
        dropped = self._gone(written)
        cells = [
            (order.get(place), written.get(place, copy.deepcopy(cell)))
            for place, cell in enumerate(self.course.cells)
            if place not in dropped
        ]
        if self._reordered():
            cells = _in_order(cells)
            self.changes.append("the steps are in another order")
        notebook = copy.deepcopy({k: v for k, v in self.course.items() if k != "cells"})
        result = NotebookNode(notebook)
        placed = _with_missing(cells, missing, self.now)
        result.cells = [cell for _, cell in placed]
        _distinct_ids(result, [number is not None for number, _ in placed])
        return MergedNotebook(
            result, tuple(self.changes), tuple(self.kept), result.cells != self.course.cells
        )

    def _cell(self, old: int, place: int, new: NotebookNode) -> NotebookNode:
        """Return the course's cell as it has to be now."""
        there, then = self.course.cells[place], self.then[old]
        result: NotebookNode = copy.deepcopy(there)
        if "id" in new and "id" in there:
            result["id"] = new["id"]
        self._facts(result, then, new)
        if text_of(there) == text_of(new):
            return result
        words = _words(new, self.now)
        if self._takes_text(there, then, new):
            for key in ("cell_type", "source"):
                result[key] = new[key]
            self.changes.append(f"{words} has changed")
        elif not self.known:
            self.kept.append(f"{words} differs from the kit's; yours stays, if it is yours")
        elif text_of(then) != text_of(new):
            self.kept.append(f"{words} has changed, but you have changed it too: yours stays")
        return result

    def _takes_text(self, there: NotebookNode, then: NotebookNode, new: NotebookNode) -> bool:
        if self.replace or is_locked(new):
            return True
        if self.known:
            return text_of(there) == text_of(then)
        return new.get("id") == STEPS_LIST and _LISTED.fullmatch(there.source) is not None

    def _facts(self, cell: NotebookNode, then: NotebookNode, new: NotebookNode) -> None:
        """Give a cell nbgrader's facts of the kit, unless the instructor has changed them."""
        facts, theirs = cell.metadata.get("nbgrader"), new.metadata.get("nbgrader")
        if not theirs or facts is None:
            return
        if is_check(new) and facts.get("points") != theirs["points"]:
            before = shown(float(facts.get("points", 0)))
            step = grade_id(new).removeprefix(CHECK_PREFIX)
            self.changes.append(f"`{step}` is worth {shown(theirs['points'])}, before {before}")
        if is_locked(new) or facts == then.metadata.get("nbgrader"):
            cell.metadata.update(copy.deepcopy(dict(new.metadata)))

    def _tell_new(self, cell: NotebookNode, *, was_there: bool) -> None:
        name = grade_id(cell)
        if is_check(cell):
            if was_there:
                self.changes.append(f"{_words(cell, self.now)} is put back, since it is graded")
        elif was_there or not name:
            self.changes.append(f"{_words(cell, self.now)} is {'put back' if was_there else 'new'}")
        else:
            self.changes.append(f"the step `{name}` is new")

    def _gone(self, written: dict[int, NotebookNode]) -> set[int]:
        """Return the places of the kit's cells that the kit no longer has."""
        dropped = set()
        for old, cell in enumerate(self.then):
            place = self.place.get(old)
            if old in self.successor or place is None:
                continue
            there, name = self.course.cells[place], grade_id(cell)
            if name:
                dropped.add(place)
                if not is_check(cell):
                    self.changes.append(f"the step `{name}` is gone")
            elif self.replace or (self.known and text_of(there) == text_of(cell)):
                dropped.add(place)
                self.changes.append(f"{_words(cell, self.then)} is gone")
            else:
                written[place] = copy.deepcopy(there)
                written[place]["id"] = f"{OWN}{there.get('id', place)}"
                words = _words(cell, self.then)
                self.kept.append(f"{words} is no longer the kit's; it stays as a cell of yours")
        return dropped

    def _reordered(self) -> bool:
        """Whether the kit has the cells that it had before in another order now."""
        if not self.known:
            return False
        kept = [self.successor[old] for old in range(len(self.then)) if old in self.successor]
        return kept != sorted(kept)


# A cell, and its number in the kit's notebook of now; None for a cell of the instructor's.
_Placed = tuple[int | None, NotebookNode]


def _in_order(cells: list[_Placed]) -> list[_Placed]:
    """Sort the kit's cells as the kit has them; what follows one stays behind it."""
    blocks: list[list[_Placed]] = [[]]
    for each in cells:
        if each[0] is None:
            blocks[-1].append(each)
        else:
            blocks.append([each])
    first, *rest = blocks
    rest.sort(key=lambda block: -1 if block[0][0] is None else block[0][0])
    return [*first, *(each for block in rest for each in block)]


def _with_missing(
    cells: list[_Placed], missing: Sequence[int], now: Sequence[NotebookNode]
) -> list[_Placed]:
    """Put each of the kit's new cells behind the one before it, or before the one after it.

    The latter where another step begins, so that what an instructor wrote below a step stays there.
    """
    result = list(cells)
    for number in missing:
        at = {known: place for place, (known, _) in enumerate(result) if known is not None}
        before, after = number - 1, [other for other in sorted(at) if other > number]
        together = before >= 0 and section(now, before) == section(now, number)
        if before in at and (together or not after or before in missing):
            place = at[before] + 1
        else:
            place = at[after[0]] if after else len(result)
        result.insert(place, (number, copy.deepcopy(now[number])))
    return result


def _distinct_ids(notebook: NotebookNode, kits: Sequence[bool]) -> None:
    """Give each cell an id of its own; the kit's cells keep theirs. Before 4.5, there are none."""
    if (notebook.nbformat, notebook.nbformat_minor) < (4, 5):
        for cell in notebook.cells:
            cell.pop("id", None)
        return
    taken = {cell["id"] for cell, is_kits in zip(notebook.cells, kits) if is_kits}
    for cell, is_kits in zip(notebook.cells, kits):
        name, count = cell["id"], 1
        while not is_kits and name in taken:
            count += 1
            name = f"{OWN}{count}-{cell['id']}"[:64]
        cell["id"] = name
        taken.add(name)


def _words(cell: NotebookNode, cells: Sequence[NotebookNode]) -> str:
    """Return which cell it is, for a person."""
    name = grade_id(cell)
    if cell.get("id") == STEPS_LIST:
        return "the list of the steps"
    if is_check(cell):
        return f"the check of `{name.removeprefix(CHECK_PREFIX)}`"
    if name:
        return f"the cell `{name}`"
    place = next(number for number, other in enumerate(cells) if other is cell)
    what = "the text" if cell.cell_type == "markdown" else "the code"
    following = section(cells, place)
    return f"{what} before `{following}`" if following else f"{what} after the last step"
