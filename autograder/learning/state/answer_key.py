"""The reference's code of one step, where the solutions are at hand.

Who studies alone in the repository has them beside the exercises; who has a released
assignment or the installed package has none, and is told so.
"""

from __future__ import annotations

import ast
from pathlib import Path

from autograder.errors import KitError
from autograder.learning.state.scaffold import PACKAGE
from autograder.learning.state.workspace import Workspace
from autograder.model.exercise import Exercise, Step

FILE = "solution.py"
MARKERS = ("### BEGIN SOLUTION", "### END SOLUTION")


def reference_code(workspace: Workspace, exercise: Exercise, step: Step) -> str | None:
    """Return the reference's code of a step; None when there are no solutions here.

    Looked for in a folder `solutions/` in the workspace, beside it, and beside the kit's package.
    Raises `KitError` when the solution lacks the step.
    """
    places = (workspace.root, workspace.root.parent, PACKAGE.parent)
    files = [place / "solutions" / exercise.name / FILE for place in places]
    file = next((file for file in files if file.is_file()), None)
    return _cut(file, step.name) if file else None


def _cut(file: Path, name: str) -> str:
    text = file.read_text(encoding="utf-8")
    nodes = [
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name
    ]
    if not nodes:
        raise KitError(
            f"the solution has no {name}", place=str(file), cure="run `attn verify` to see why"
        )
    lines = text.splitlines()[nodes[-1].lineno - 1 : nodes[-1].end_lineno]
    return "\n".join(line for line in lines if line.strip() not in MARKERS)
