"""What is known of the solution of a step, if the solutions are here.

A learner who studies alone has them: beside the exercises in the repository, or in a wheel that was
released with answers. A course's own release comes without them, and the learner is told so. The
lines to sort and the gap to fill hold lines of the solution, so they are where it is.
"""

from __future__ import annotations

from pathlib import Path

from autograder.building.regions import BEGIN, END
from autograder.errors import KitError
from autograder.ladder.rungs import FILE as RUNGS
from autograder.ladder.rungs import Rungs, read_rungs
from autograder.learning.state.workspace import Workspace
from autograder.model.exercise import SOLUTION, Exercise, Step
from autograder.model.shipped import ANSWERS, PACKAGE
from autograder.submission.definitions import DefinitionSpan, find_definitions

WITHOUT = "This workspace came without solutions"


def solution_folder(workspace: Workspace, exercise: Exercise) -> Path | None:
    """Return the folder with the solution of an exercise, or None if there is none here.

    The folder `solutions/` is looked for in the workspace, beside it, and beside the kit's package,
    which may also have answers in it.
    """
    places = (workspace.root, workspace.root.parent, PACKAGE.parent)
    folders = [*(place / "solutions" / exercise.name for place in places), ANSWERS / exercise.name]
    return next((folder for folder in folders if (folder / SOLUTION).is_file()), None)


def reference_code(workspace: Workspace, exercise: Exercise, step: Step) -> str | None:
    """Return the reference's code for a step, or None if there are no solutions here.

    Raises `KitError` when the solution does not have the step.
    """
    folder = solution_folder(workspace, exercise)
    if folder is None:
        return None
    lines, span = _found(folder / SOLUTION, step.name)
    return "\n".join(
        line for line in lines[span.first - 1 : span.last] if line.strip() not in (BEGIN, END)
    )


def code_before(folder: Path, step: str) -> str:
    """Return the code of the solution in `folder` above a step, which the step may call."""
    lines, span = _found(folder / SOLUTION, step)
    return "\n".join(lines[: span.first - 1])


def step_rungs(workspace: Workspace, exercise: Exercise, step: Step) -> Rungs | None:
    """Return the lines to sort of a step, or None if there are none here.

    Raises `KitError` when they cannot be read.
    """
    folder = solution_folder(workspace, exercise)
    if folder is None or not (folder / RUNGS).is_file():
        return None
    return read_rungs(folder / RUNGS).get(step.name)


def _found(file: Path, name: str) -> tuple[list[str], DefinitionSpan]:
    text = file.read_text(encoding="utf-8")
    found = [each for each in find_definitions(text) if each.name == name]
    if not found:
        raise KitError(
            f"the solution has no {name}", place=str(file), cure="run `attn verify` to see why"
        )
    return text.split("\n"), found[-1]
