"""An exercise as a course gives it: the kit's, with the points and the steps of the course.

It is a folder like any other exercise, in the course's `.course/exercises/`, named by a hash of all
that went into it. So whatever reads, builds or judges an exercise needs to know nothing of it.
"""

from __future__ import annotations

import ast
import hashlib
import json
import shutil
import stat
import tempfile
import tomllib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tomli_w

from autograder.building.build import Examples, build
from autograder.course.added_code import last_line_about, with_code, without_cells
from autograder.course.adjustment import OWN, OWN_STEPS, Adjustment
from autograder.course.kit_copy import STATE
from autograder.course.own_files import MISCONCEPTIONS, digests, own_text
from autograder.course.own_step_list import OF_SIZES, read_own_steps
from autograder.errors import KitError
from autograder.grading.digest import exercise_hash
from autograder.model.exercise import (
    GRADERS,
    MANIFEST,
    SOLUTION,
    Exercise,
    Step,
    find_exercise,
    shared_folders,
)
from autograder.model.group_shared import following
from autograder.model.origin import note_origin
from autograder.submission.definitions import top_level

ADJUSTED = Path(STATE) / "exercises"
SOLUTIONS, ASSIGNMENTS = "solutions", "assignments"
_NOT_COPIED = shutil.ignore_patterns("__pycache__", ".*")


def adjusted_solutions(course: Path, solutions: Path, name: str, changes: Adjustment) -> Path:
    """Return the folder of the exercise `name` as the course gives it; make it if it is not there.

    Raises `KitError` when the changes do not fit the exercise or cannot be written.
    """
    kit = find_exercise(name, solutions)
    target = course / ADJUSTED / _digest(kit.folder, changes)
    _made(target / SOLUTIONS, lambda part: _write(kit, changes, part))
    return target / SOLUTIONS / name


def adjusted_assignments(solution: Path, changes: Adjustment, examples: Examples) -> Path:
    """Return the folder with what students get of an exercise that `adjusted_solutions` made.

    Raises `KitError` when it cannot be built, such as when a line of a solution would be given out.
    """
    target = solution.parent.parent / ASSIGNMENTS

    def write(part: Path) -> None:
        with _as_given(solution, changes) as given:
            build(given, part, examples, whole=solution)

    _made(target, write)
    return target / solution.name


def remove_others(course: Path, used: Collection[Path]) -> None:
    """Remove the exercises as the course gave them before; `used` are their folders of today."""
    kept = {solution.parent.parent for solution in used}
    for folder in (course / ADJUSTED).glob("*"):
        if folder not in kept:  # nothing reads it, so one that cannot be removed is no harm
            shutil.rmtree(folder, ignore_errors=True)


def _made(target: Path, write: Callable[[Path], None]) -> None:
    """Make a folder whole or not at all, if it is not there."""
    if target.is_dir():
        return
    there = next(folder for folder in target.parents if folder.is_dir())
    try:
        with following(there):
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".part-", dir=target.parent) as part:
                made = Path(part) / target.name
                made.mkdir()
                write(made)
                _forget_modes(made)
                try:
                    made.rename(target)
                except OSError:
                    if not target.is_dir():  # if it is, another command was faster
                        raise
    except OSError as error:
        raise KitError(
            f"the exercise cannot be written as this course gives it: {error.strerror}",
            place=str(target),
            cure="make sure that the disk has room and that you may write to the course",
        ) from error


def _forget_modes(made: Path) -> None:
    """Give what was copied the mode of the new folder: other instructors remove it one day."""
    mode = stat.S_IMODE(made.stat().st_mode)
    for path in made.rglob("*"):
        path.chmod(mode if path.is_dir() else mode & 0o666)


def _digest(folder: Path, changes: Adjustment) -> str:
    """Return a short hash of all that the exercise is made from, and by."""
    files = digests(changes.own) if changes.own else []
    facts = [exercise_hash(folder), changes.facts, str(changes.own), files]
    return hashlib.sha256(json.dumps(facts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _write(kit: Exercise, changes: Adjustment, target: Path) -> None:
    for folder in (kit.folder, *shared_folders(kit.folder)):
        shutil.copytree(folder, target / folder.name, ignore=_NOT_COPIED)
    made = target / kit.name
    facts = tomllib.loads((made / MANIFEST).read_text(encoding="utf-8"))
    _adjust_steps(kit, changes, facts)
    if changes.own:
        own = read_own_steps(kit, changes.own)
        facts["steps"] += own["steps"]
        for table in OF_SIZES:
            there = facts["grading"].setdefault(table, {})
            there |= {**own.get("grading", {}).get(table, {}), **there}
        _add_code(kit, changes.own, made)
        note_origin(made / MANIFEST, changes.own / OWN_STEPS)
    (made / MANIFEST).write_text(tomli_w.dumps(facts), encoding="utf-8")


def _adjust_steps(kit: Exercise, changes: Adjustment, facts: dict[str, Any]) -> None:
    for name in (*changes.points, *changes.left_out):
        step = _step_of_kit(kit, name)
        if name in changes.left_out and step.points:
            raise KitError(
                f"the step {name} cannot be left out: it gives points, and other steps may need it",
                place=f"attn.toml, [points.{kit.name}]",
                cure="leave out a bonus step only; to count a step less, give it fewer points",
            )
    facts["steps"] = [
        {**step, "points": changes.points.get(step["name"], step["points"])}
        for step in facts["steps"]
        if step["name"] not in changes.left_out
    ]
    if changes.left_out:
        facts["grading"]["left_out"] = list(changes.left_out)
        facts["trainings"] = [
            each for each in facts.get("trainings", ()) if each["layer"] not in changes.left_out
        ]


def _step_of_kit(kit: Exercise, name: str) -> Step:
    """Return the step of which `attn.toml` says something; raise `KitError` if there is none."""
    for step in kit.steps:
        if step.name == name:
            return step
    raise KitError(
        f"there is no step {name!r} in the kit's {kit.name}",
        place=f"attn.toml, [points.{kit.name}]",
        cure=f"use one of: {', '.join(step.name for step in kit.steps)}; the points of a step of "
        f"your own stand in {OWN}/{kit.name}/{OWN_STEPS}",
    )


def _add_code(kit: Exercise, own: Path, made: Path) -> None:
    """Put the instructor's code into the solution, below the last step, and at the others' ends."""
    for name in (SOLUTION, GRADERS, MISCONCEPTIONS):
        path = own / name
        if name == MISCONCEPTIONS and not path.is_file():
            continue
        added = own_text(path)
        text = (made / name).read_text(encoding="utf-8")
        after = _end_of_steps(kit, text) if name == SOLUTION else text.count("\n")
        with_code(text, added, path, after=after).write(made / name)


def _end_of_steps(kit: Exercise, text: str) -> int:
    """Return the last line of the cell with the last step; below it, the notebook only shows."""
    last = {node.name: node for node in top_level(ast.parse(text))}[kit.steps[-1].name]
    return last_line_about(text, last.lineno)


@contextmanager
def _as_given(solution: Path, changes: Adjustment) -> Iterator[Path]:
    """Give a copy of the exercise's folder without the code and the text of what is left out."""
    if not changes.left_out:
        yield solution
        return
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / SOLUTIONS
        shutil.copytree(solution.parent, root)
        path = root / solution.name / SOLUTION
        text = path.read_text(encoding="utf-8")
        path.write_text(without_cells(text, changes.left_out), encoding="utf-8")
        yield root / solution.name
