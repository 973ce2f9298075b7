"""The reference's code for one step, if the solutions are here.

A learner who studies alone in the repository has them beside the exercises. A released
assignment or the installed package comes without them, and the learner is told so.
"""

from __future__ import annotations

from pathlib import Path

from autograder.building.regions import BEGIN, END
from autograder.errors import KitError
from autograder.learning.state.workspace import Workspace
from autograder.model.exercise import SOLUTION, Exercise, Step
from autograder.model.shipped import PACKAGE
from autograder.submission.definitions import find_definitions


def reference_code(workspace: Workspace, exercise: Exercise, step: Step) -> str | None:
    """Return the reference's code for a step, or None if there are no solutions here.

    The folder `solutions/` is looked for in the workspace, beside it, and beside the kit's
    package. Raises `KitError` when the solution does not have the step.
    """
    places = (workspace.root, workspace.root.parent, PACKAGE.parent)
    files = [place / "solutions" / exercise.name / SOLUTION for place in places]
    file = next((file for file in files if file.is_file()), None)
    return _cut(file, step.name) if file else None


def _cut(file: Path, name: str) -> str:
    text = file.read_text(encoding="utf-8")
    found = [each for each in find_definitions(text) if each.name == name]
    if not found:
        raise KitError(
            f"the solution has no {name}", place=str(file), cure="run `attn verify` to see why"
        )
    lines = text.split("\n")[found[-1].first - 1 : found[-1].last]
    return "\n".join(line for line in lines if line.strip() not in (BEGIN, END))
