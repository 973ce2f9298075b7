"""What a newer kit changes in one exercise of a course: its notebook and the files beside it."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.authoring.build import BELOW, Examples, stale
from autograder.course.adjusted_exercise import adjusted_assignments
from autograder.course.adjustment import (
    LARGEST_FILE,
    KitCopy,
    copy_files,
    file_digest,
    read_copy,
    read_notebook,
)
from autograder.course.creation import Course, made_files, notebook_name
from autograder.course.graded_notebook import check_cells, is_check
from autograder.errors import KitError
from autograder.submission.cells import grade_id
from autograder.submission.file_text import digest_of
from autograder.values.exercise import (
    CHECK_PREFIX,
    EXAMPLES,
    MANIFEST,
    MISTAKE_COSTS,
    find_exercise,
)
from autograder.values.files import read_small
from autograder.values.symbols import number as shown

# Which cells of a notebook belong together: the kit's of then, the kit's of now, the course's.
#
# A cell with a `grade_id` is found by it. The others have ids that count cells, so they change
# when a step is added: they are found by their text, or by the graded cell that they stand
# before.

STEPS_LIST = "setup-steps"  # the id of the kit's list of the steps
_FIXED = ("setup-prose", STEPS_LIST, "closing-prose", "closing")
_KITS_ID = re.compile(r"(?:prose|given|below)-\d{3,}")


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


_Key = Callable[[Sequence[NotebookNode], int], object]


def places(made: Sequence[NotebookNode], course: Sequence[NotebookNode]) -> dict[int, int]:
    """Return where the cells that the kit made are in the course's notebook: number to number."""
    return _paired(made, course, _name, _same_id, _text)


def successors(made: Sequence[NotebookNode], now: Sequence[NotebookNode]) -> dict[int, int]:
    """Return which of the kit's cells of now replaces which of then: number to number."""
    return _paired(made, now, _name, _fixed_id, _text, _position)


def _paired(
    left: Sequence[NotebookNode], right: Sequence[NotebookNode], *keys: _Key
) -> dict[int, int]:
    """Pair each cell of `left` with the first free one of `right` that has the same key.

    All pairs that one key gives come before those of the next; None is nobody's key.
    """
    found: dict[int, int] = {}
    for key in keys:
        free: dict[object, list[int]] = {}
        taken = {*found.values()}
        for number in range(len(right)):
            if number not in taken:
                free.setdefault(key(right, number), []).append(number)
        for number in range(len(left)):
            wanted = None if number in found else key(left, number)
            if wanted is not None and free.get(wanted):
                found[number] = free[wanted].pop(0)
    return found


def _name(cells: Sequence[NotebookNode], number: int) -> object:
    return grade_id(cells[number]) or None


def _same_id(cells: Sequence[NotebookNode], number: int) -> object:
    cell = cells[number]
    return (cell.cell_type, cell["id"]) if cell.get("id") and not grade_id(cell) else None


def _fixed_id(cells: Sequence[NotebookNode], number: int) -> object:
    name = cells[number].get("id")
    return name if name in _FIXED and not grade_id(cells[number]) else None


def _text(cells: Sequence[NotebookNode], number: int) -> object:
    return None if grade_id(cells[number]) else text_of(cells[number])


def _position(cells: Sequence[NotebookNode], number: int) -> object:
    """Say before which graded cell it is, and of which type.

    Prose that goes on about the step above is of a type of its own, so it never takes the place of
    the prose about the step below.
    """
    cell = cells[number]
    kind = BELOW if cell.get("id", "").startswith(BELOW) else str(cell.cell_type)
    return None if grade_id(cell) else (section(cells, number), kind)


def section(cells: Sequence[NotebookNode], number: int) -> str:
    """Return the name of the graded cell at or after a cell, "" after the last one.

    A check belongs to its step.
    """
    names = (grade_id(cell) for cell in cells[number:])
    return next((name.removeprefix(CHECK_PREFIX) for name in names if name), "")


# An instructor's notebook with what a newer kit says: their own cells and words stay.
#
# Three notebooks are compared: what the kit wrote into the course (`made`), what is there now,
# and what the kit would write today. Where only the kit has changed a cell, its text is taken.
# Where the instructor has, theirs stays. Points and checks are always the kit's.

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
        words = _cell_words(new, self.now)
        if self._takes_text(there, then, new):
            for key in ("cell_type", "source"):
                result[key] = new[key]
            self.changes.append(f"{words} has changed")
        else:
            before = text_of(then) if self.known else None
            self.kept += _why_yours(words, before, text_of(new))
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
                self.changes.append(
                    f"{_cell_words(cell, self.now)} is put back, since it is graded"
                )
        elif was_there or not name:
            self.changes.append(
                f"{_cell_words(cell, self.now)} is {'put back' if was_there else 'new'}"
            )
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
                self.changes.append(f"{_cell_words(cell, self.then)} is gone")
            else:
                written[place] = copy.deepcopy(there)
                written[place]["id"] = f"{OWN}{there.get('id', place)}"
                words = _cell_words(cell, self.then)
                self.kept.append(f"{words} is no longer the kit's; it stays as a cell of yours")
        return dropped

    def _reordered(self) -> bool:
        """Whether the kit has the cells that it had before in another order now."""
        if not self.known:
            return False
        kept = [self.successor[old] for old in range(len(self.then)) if old in self.successor]
        return kept != sorted(kept)


def _why_yours(what: str, before: object, now: object) -> list[str]:
    """Say that the instructor's stays, where the kit's is another than before (None: unknown)."""
    if before is None:
        return [f"{what} differs from the kit's; yours stays, if it is yours"]
    both = f"{what} has changed, but you have changed it too: yours stays"
    return [both] if before != now else []


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


def _cell_words(cell: NotebookNode, cells: Sequence[NotebookNode]) -> str:
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


# What `check` and `speak` read in a notebook: it has to fit the steps.
_DATA = (MANIFEST, EXAMPLES, MISTAKE_COSTS)
UNKNOWN = "the kit has no note of what it wrote here (an earlier version made it)"


@dataclass(frozen=True)
class ExerciseUpdate:
    """What changes in an exercise's source, and what of the instructor's stays though it differs.

    files: what is written, by the path relative to the course; empty when nothing changes.
    notes: what the kit then notes about itself. notebook: the one that will be in source.
    """

    name: str
    changes: tuple[str, ...]
    kept: tuple[str, ...]
    files: Mapping[Path, bytes]
    notes: Mapping[Path, bytes]
    notebook: NotebookNode
    new: bool = False
    made: KitCopy | None = field(default=None, repr=False)

    @property
    def stale(self) -> bool:
        """Whether there is anything to do or to tell."""
        return bool(self.changes or self.kept)


def unbuilt(solutions: Path, assignments: Path, exercise: str) -> tuple[str, ...]:
    """Return in words which of the files that students get are not made from the solutions.

    The worked examples are not compared: making them takes long. Raise `KitError` when there is no
    such exercise.
    """
    folder = find_exercise(exercise, solutions).folder
    examples = assignments / exercise / EXAMPLES

    def as_they_are(_: Path) -> bytes:
        return examples.read_bytes()

    return stale(folder, assignments, as_they_are if examples.is_file() else None)


def _built(course: Course, assignments: Path, exercise: str, examples: Examples) -> Path:
    """Return the folder with what students get of an exercise.

    Where the course changes the exercise, it is built here. The kit's has to be built already:
    raise `KitError` when it is not.
    """
    if exercise in course.adjustments:
        changes = course.adjustments[exercise]
        return adjusted_assignments(course.solution(exercise), changes, examples)
    if found := unbuilt(course.solutions, assignments, exercise):
        raise KitError(
            f"{exercise} has changed since it was built: {'; '.join(found)}",
            place=str(assignments / exercise),
            cure=f"run `attn build {course.solutions}`, then try again",
        )
    return assignments / exercise


def new_exercise(
    course: Course, assignments: Path, exercise: str, examples: Examples
) -> ExerciseUpdate:
    """Return what adds an exercise to a course; raise `KitError` when its folder is there."""
    built = _built(course, assignments, exercise, examples)
    refuse_folder_of_another(course, course.source(exercise))
    made = made_files(built)
    place = Path("source") / exercise
    return ExerciseUpdate(
        exercise,
        (f"the exercise is new: {len(made)} files",),
        (),
        {place / name: content for name, content in made.items()},
        copy_files(exercise, made, find_exercise(exercise, course.solutions).folder),
        read_notebook(made[notebook_name(exercise)], built),
        new=True,
    )


def refuse_folder_of_another(course: Course, folder: Path) -> None:
    """Raise `KitError` when there is a folder where one of a new exercise goes."""
    if folder.exists():
        name = folder.relative_to(course.directory).as_posix()
        raise KitError(
            f"{name} is there already, though the course does not have that exercise",
            place=str(folder),
            cure="move that folder elsewhere, then try again",
        )


def exercise_update(
    course: Course, assignments: Path, exercise: str, examples: Examples, *, replace: bool = False
) -> ExerciseUpdate:
    """Return what brings an exercise up to date; with `replace`, also words that are not the kit's.

    Raise `KitError` when the exercise is not built, or its notebook in the course is damaged or has
    tests that nothing would run.
    """
    built = _built(course, assignments, exercise, examples)
    made, now = read_copy(course.directory, exercise), made_files(built)
    book, folder = notebook_name(exercise), course.source(exercise)
    there = read_notebook(_content(folder / book, exercise), folder / book)
    wanted = read_notebook(now[book], built / book)
    merged = merge(made.notebook if made else None, there, wanted, replace=replace)
    check_cells(merged.notebook, str(folder / book), check_cells(wanted))
    changes = [] if made else [UNKNOWN]
    changes += merged.changes
    kept, files = list(merged.kept), dict[Path, bytes]()
    if merged.other:
        text = str(nbformat.writes(merged.notebook)).rstrip("\n") + "\n"
        files[Path("source") / exercise / book] = text.encode()
        if not merged.changes:
            changes.append("the names of cells have changed")
    for name, content in now.items():
        path = folder / name
        mine, new = file_digest(path), digest_of(content)
        if name == book or mine == new:
            continue
        before = made.files.get(name) if made else None
        if replace or name in _DATA or not mine or mine == before:
            files[Path("source") / exercise / name] = content
            changes += _words(name, path, content, there=bool(mine))
        else:
            kept += _why_yours(name, before, new)
    notes = copy_files(exercise, now, course.solution(exercise))
    return ExerciseUpdate(
        exercise, tuple(changes), tuple(kept), files, notes, merged.notebook, made=made
    )


def _content(path: Path, exercise: str) -> bytes:
    try:
        return read_small(path, LARGEST_FILE)
    except FileNotFoundError:
        raise KitError(
            f"{exercise} has no notebook in source/",
            place=str(path),
            cure=f"put {path.name} back there; assignments/{exercise}/ has it",
        ) from None


def _words(name: str, path: Path, content: bytes, *, there: bool) -> list[str]:
    if not there:
        return [f"{name} is new"]
    if name != MANIFEST:
        return [f"{name} has changed"]
    hints, others = _steps(read_small(path, LARGEST_FILE)), _steps(content)
    if hints is None or others is None:
        return [f"{name} has changed"]
    other = [step for step in others if step in hints and hints[step] != others[step]]
    return (
        [f"hints of {', '.join(f'`{step}`' for step in other)} have changed"]
        if other
        else [f"{name} has changed"]
    )


def _steps(content: bytes) -> dict[str, Any] | None:
    """Return the hints by step; None when the file cannot be read."""
    try:
        facts = tomllib.loads(content.decode("utf-8"))
        return {step["name"]: step["hints"] for step in facts["steps"]}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError):
        return None
