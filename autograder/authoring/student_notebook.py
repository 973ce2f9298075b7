"""The notebook that students get: prose, one cell per step, a check under each.

nbgrader finds a step by its `grade_id`, so that is the step's name. A check cell
holds one call and nothing secret, so neither notebook, gradebook nor feedback can
show a hidden test. Cell ids are never random: the same solution gives the same bytes.

What folds before the first step stands between its cell and its check, so that the first line to
write is in sight when the notebook opens.
"""

from __future__ import annotations

from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.authoring.lesson import (
    only_folded,
    with_code_in_questions,
    with_fixed_columns,
    without_folded,
)
from autograder.authoring.stub import Cell, cost_text, is_below_a_step
from autograder.values.exercise import CHECK_PREFIX, Exercise, Step

HOW_TO_WORK = (
    "Run the next two cells (Shift+Enter); the first is folded. In each step, write in place of "
    "the line that raises, then run it and its check."
)
SCHEMA_VERSION = 3  # of nbgrader's cell metadata
LONG = 4  # lines of a cell that only shows something
PROSE = "prose-"  # how the id of prose begins
BELOW = "below-"  # the same, if it goes on about the step above
SETUP = "setup"  # the grade_id of the cell that defines `check`
_FOLDED = {"jupyter": {"source_hidden": True}}  # metadata of a cell whose code nobody has to read
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
}


def render_notebook(exercise: Exercise, cells: tuple[Cell, ...]) -> str:
    """Return the text of the notebook (nbformat 4.5), valid and with nbgrader's metadata."""
    written: list[Any] = []
    first_code = next(number for number, cell in enumerate(cells) if cell.code)
    steps = [number for number, cell in enumerate(cells) if cell.step]
    for number, cell in enumerate(cells):
        if number == first_code:
            written += _setup(exercise)
        if not cell.code:
            begins = BELOW if is_below_a_step(cells, number) else PROSE
            source = without_folded(cell.source) if number + 1 == steps[0] else cell.source
            written.append(_prose(source, f"{begins}{number:03}"))
        elif cell.step is None:
            hidden = _FOLDED if _only_shows(cell) else {}
            written.append(new_code_cell(cell.source, id=f"given-{number:03}", metadata=hidden))
        else:
            stub, check = _step(exercise.step(cell.step), cell)
            folds = only_folded(cells[number - 1].source) if number == steps[0] else ""
            written += [stub, *([_prose(folds, f"{BELOW}{number:03}")] if folds else []), check]
    written.append(new_markdown_cell(_way(exercise), id="setup-steps"))
    written += _closing() if exercise.closing.built else []
    notebook = new_notebook(cells=written, metadata=METADATA)
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)).rstrip("\n") + "\n"


def _prose(source: str, id: str) -> Any:
    return new_markdown_cell(with_code_in_questions(with_fixed_columns(source)), id=id)


def _only_shows(cell: Cell) -> bool:
    """Whether a cell only shows something: whoever wants to read its code unfolds it."""
    return cell.notebook_only and cell.source.count("\n") >= LONG


def _setup(exercise: Exercise) -> list[Any]:
    source = f'from autograder import open_exercise\n\ncheck = open_exercise("{exercise.name}")'
    return [
        new_markdown_cell(HOW_TO_WORK, id="setup-prose"),
        new_code_cell(
            source, id="setup", metadata=_locked(_nbgrader(SETUP, locked=True)) | _FOLDED
        ),
    ]


def _closing() -> list[Any]:
    prose = (
        "## What you have built\n\n"
        "Once every check above has passed, the cell below sums up: what you have built, how long "
        "it took, the mistakes that you met, and what to read next."
    )
    return [
        new_markdown_cell(prose, id="closing-prose"),
        new_code_cell("check.finish()", id="closing"),
    ]


def _way(exercise: Exercise) -> str:
    """Return the list of the steps in order, folded, with what each is worth."""
    steps = "\n".join(
        f"{number}. {step.title}: `{step.name}` ({cost_text(step)})"
        for number, step in enumerate(exercise.steps, start=1)
    )
    return f"<details>\n<summary>The {len(exercise.steps)} steps</summary>\n\n{steps}\n\n</details>"


def _step(step: Step, cell: Cell) -> list[Any]:
    graded = _nbgrader(f"{CHECK_PREFIX}{step.name}", locked=True, grade=True)
    return [
        new_code_cell(
            cell.source,
            id=f"step-{step.name}",
            metadata={"deletable": False, "nbgrader": _nbgrader(step.name, solution=True)},
        ),
        new_code_cell(
            f"check({step.name})",
            id=f"check-{step.name}",
            metadata=_locked(graded | {"points": step.points}),
        ),
    ]


def _nbgrader(
    grade_id: str, *, grade: bool = False, locked: bool = False, solution: bool = False
) -> dict[str, Any]:
    return {
        "grade": grade,
        "grade_id": grade_id,
        "locked": locked,
        "schema_version": SCHEMA_VERSION,
        "solution": solution,
        "task": False,
    }


def _locked(nbgrader: dict[str, Any]) -> dict[str, Any]:
    """Return cell metadata as nbgrader's LockCells writes it, for learners without a course."""
    return {"deletable": False, "editable": False, "nbgrader": nbgrader}
