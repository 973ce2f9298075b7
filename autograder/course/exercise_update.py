"""What a newer kit changes in one exercise of a course: its notebook and the files beside it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.building.build import EXAMPLES, Examples, stale
from autograder.course.adjusted_exercise import adjusted_assignments
from autograder.course.creation import Course, made_files, notebook_name
from autograder.course.kit_copy import (
    LARGEST_FILE,
    KitCopy,
    copy_files,
    digest,
    read_copy,
    read_notebook,
)
from autograder.course.merged_notebook import merge
from autograder.course.verdict_cells import check_cells
from autograder.errors import KitError
from autograder.model.exercise import MANIFEST, MISTAKE_COSTS, find_exercise
from autograder.model.files import read_small

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

    def as_they_are(_: Path) -> str:
        return examples.read_text(encoding="utf-8")

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
    if course.source(exercise).exists():
        raise KitError(
            f"source/{exercise} is there already, though the course does not have that exercise",
            place=str(course.source(exercise)),
            cure="move that folder elsewhere, then try again",
        )
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
        mine = digest(read_small(path, LARGEST_FILE)) if path.is_file() else ""
        if name == book or mine == digest(content):
            continue
        before = made.files.get(name) if made else None
        if replace or name in _DATA or not mine or mine == before:
            files[Path("source") / exercise / name] = content
            changes += _words(name, path, content, there=bool(mine))
        elif before is None:
            kept.append(f"{name} differs from the kit's; yours stays, if it is yours")
        elif before != digest(content):
            kept.append(f"{name} has changed, but you have changed it too: yours stays")
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
