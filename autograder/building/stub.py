"""The students' copy of `solution.py`: its cells with every solution region taken out.

The same cells become the stub `.py` and the notebook, so both say the same. The
stub has no check cells: a check would run, and perhaps raise, whenever the file is
imported for grading.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from autograder.building.folded_answer import folded_answers, unfolded
from autograder.building.regions import Region, Solution
from autograder.errors import KitError
from autograder.model.exercise import Exercise
from autograder.model.symbols import UNWRITTEN
from autograder.submission.definitions import DefinitionNode
from autograder.submission.percent import PercentCell, percent_cells, without_head

# Jupytext writes this after `# %%` for a cell that is comments in a .py and code in a notebook.
NOTEBOOK_ONLY = 'active="ipynb"'


@dataclass(frozen=True)
class Cell:
    """One cell: prose (`step` is None and `code` False), given code, or the code of a step.

    `notebook_only` cells draw or compare at the end of the notebook. A stub does not have them,
    because it is imported for every check.
    """

    source: str
    code: bool
    step: str | None = None
    notebook_only: bool = False


def read_cells(solution: Solution) -> tuple[Cell, ...]:
    """Cut `solution` into cells, with its regions replaced.

    Raise `KitError` when a cell holds more than one step, a step and something else, or prose
    that is not a comment.
    """
    cells = percent_cells("\n".join(_stubbed(solution)) + "\n")
    return tuple(_cell(solution, cell) for cell in without_head(cells) if cell.text.strip())


def _cell(solution: Solution, cell: PercentCell) -> Cell:
    notebook_only = NOTEBOOK_ONLY in cell.marker
    if cell.is_prose or notebook_only:
        _refuse_code(solution, cell)
        source = cell.uncommented.strip("\n")
    else:
        source = cell.text.strip("\n")
    found = Cell(source, False) if cell.is_prose else _code_cell(solution, source)
    return replace(found, notebook_only=notebook_only)


def _refuse_code(solution: Solution, cell: PercentCell) -> None:
    for line in cell.text.split("\n"):
        if line.strip() and not line.startswith("#"):
            raise KitError(
                f"a cell that begins with `{cell.marker}` holds a line that is not a comment",
                place=f"{solution.path}, at the line: {line.strip()}",
                cure="put `# ` before it, or begin a code cell with `# %%`",
            )


def _stubbed(solution: Solution) -> list[str]:
    lines: list[str] = []
    done = 0
    for region in solution.regions:
        lines += [*solution.lines[done : region.begin - 1], *_not_written(region)]
        done = region.end
    return [*lines, *solution.lines[done:]]


def _not_written(region: Region) -> list[str]:
    message = f"{region.function} {UNWRITTEN}"
    return [
        f"{region.indentation}# YOUR CODE HERE",
        f'{region.indentation}raise NotImplementedError("{message}")',
    ]


def _code_cell(solution: Solution, source: str) -> Cell:
    body = _statements(solution, source)
    names = [node.name for node in body if isinstance(node, DefinitionNode)]
    steps = [name for name in names if name in solution.definitions]
    if not steps:
        return Cell(source, True)
    if len(body) > 1:
        line = solution.definitions[steps[-1]].lineno
        raise KitError(
            f"the cell of the step {steps[-1]} also holds something else",
            place=f"{solution.path}:{line}",
            cure="begin a separate cell with `# %%` for every step",
        )
    return Cell(source, True, steps[0])


def _statements(solution: Solution, source: str) -> list[ast.stmt]:
    try:
        return ast.parse(source).body
    except SyntaxError as error:
        raise KitError(
            f"a cell is not valid Python once its solution is taken out: {error.msg}",
            place=f"{solution.path}, at the line: {(error.text or source).strip()}",
            cure="let each solution region hold whole statements with the same indentation",
        ) from None


def render_stub(exercise: Exercise, cells: tuple[Cell, ...]) -> str:
    """Return the text of the stub `.py`: percent format, prose as comments, plain code."""
    cells = tuple(cell for cell in cells if not cell.notebook_only)
    blocks = [_prose(_head(exercise))]
    for cell in cells:
        blocks.append(f"# %%\n{cell.source}" if cell.code else _prose(unfolded(cell.source)))
    steps = [False, *(cell.step is not None for cell in cells)]
    if answers := _answers(exercise, cells):
        blocks.append(_prose(answers))
        steps.append(False)
    text = blocks[0]
    for number, block in enumerate(blocks[1:], start=1):
        text += ("\n\n\n" if steps[number] or steps[number - 1] else "\n\n") + block
    return text + "\n"


def _head(exercise: Exercise) -> str:
    first = exercise.steps[0].name
    return (
        f"`{exercise.name}.py` and `{exercise.name}.ipynb` hold the same exercise. "
        "Work in one of the two.\n\n"
        "In this file, replace each line that raises `NotImplementedError` with your code, save, "
        "and check the step in a terminal, in this file's folder:\n\n"
        f"    attn check {first}"
    )


def _answers(exercise: Exercise, cells: tuple[Cell, ...]) -> str:
    """Return all answers, under the titles of their steps; "" when there are none."""
    text, step = "", ""
    for number, cell in enumerate(cells):
        asked = folded_answers(cell.source)
        if asked and (of := _step_of_prose(cells, number)) != step:
            step = of
            text += f"\n\n### {_numbered(exercise, step)}"
        for each in asked:
            text += f"\n\n**{each.when}** {each.question}\n\n{each.answer}"
    return f"## The answers\n\nThink about each question before you read on.{text}" if text else ""


def _step_of_prose(cells: tuple[Cell, ...], number: int) -> str:
    """Return the step that the prose is about: the one above if it has no heading, or below."""
    if is_below_a_step(cells, number):
        return next(cell.step for cell in reversed(cells[:number]) if cell.step)
    return next((cell.step for cell in cells[number:] if cell.step), "")


def is_below_a_step(cells: tuple[Cell, ...], number: int) -> bool:
    """Whether the cell is prose that goes on about the step right above it, without a heading."""
    if number == 0 or cells[number].code or cells[number].source.startswith("#"):
        return False
    return cells[number - 1].step is not None


def _numbered(exercise: Exercise, step: str) -> str:
    numbers = (n for n, each in enumerate(exercise.steps, start=1) if each.name == step)
    return f"{next(numbers)}. {exercise.step(step).title}"


def _prose(source: str) -> str:
    lines = [f"# {line}".rstrip() for line in source.splitlines()]
    return "\n".join(["# %% [markdown]", *lines])
