"""The students' copy of `solution.py`: its cells with every solution region taken out.

The same cells become the stub `.py` and the notebook, so both say the same. The
stub has no check cells: a check would run, and perhaps raise, whenever the file is
imported for grading.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from autograder.building.diagram import path_line
from autograder.building.regions import Region, Solution
from autograder.errors import KitError
from autograder.model.exercise import SOLUTION, Exercise
from autograder.model.symbols import UNWRITTEN
from autograder.submission.definitions import DefinitionNode
from autograder.submission.percent import PercentCell, percent_cells, without_head

# Jupytext writes this after `# %%` for a cell that is comments in a .py and code in a notebook.
NOTEBOOK_ONLY = 'active="ipynb"'
# And this for one that the notebook does not have: a few lines in place of the whole lesson.
SCRIPT_ONLY = 'active="py"'
WIDEST = 100  # characters of a line in the stub
MARGIN = 34  # of a step's title, before the way through the layer


@dataclass(frozen=True)
class Cell:
    """One cell: prose (`step` is None and `code` False), given code, or the code of a step.

    `notebook_only` cells draw or compare at the end of the notebook. A stub does not have them,
    because it is imported for every check. `brief` stands above the code in the stub alone, in
    place of the lesson.
    """

    source: str
    code: bool
    step: str | None = None
    notebook_only: bool = False
    brief: str = ""


def read_cells(solution: Solution) -> tuple[Cell, ...]:
    """Cut `solution` into cells, with its regions replaced.

    Raise `KitError` when a cell holds more than one step, a step and something else, or prose
    that is not a comment.
    """
    cells = percent_cells("\n".join(_stubbed(solution)) + "\n")
    found: list[Cell] = []
    brief = ""
    for cell in without_head(cells):
        if SCRIPT_ONLY in cell.marker:
            _refuse_code(solution, cell)
            brief = cell.uncommented.strip("\n")
        elif cell.text.strip():
            made = _cell(solution, cell)
            found.append(replace(made, brief=brief) if made.code else made)
            brief = brief if not made.code else ""
    return tuple(found)


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
    """Return the text of the stub `.py`: percent format, code, and of the prose only the briefs.

    The whole lesson is in the notebook and on a page: whoever scrolls for the next line to write
    passes no answers. Raises `KitError` when a line of a brief is too wide.
    """
    blocks = [_head(exercise)]
    for cell in cells:
        if cell.code and not cell.notebook_only:
            blocks.append("\n".join(["# %%", *_comments(exercise, cell), cell.source]))
    return "\n\n".join(blocks) + "\n"


def _head(exercise: Exercise) -> str:
    return (
        f"# {exercise.title}\n"
        "# Replace each line that raises NotImplementedError with your code, and save: "
        "`attn watch` checks.\n"
        f"# The lesson: guide.html, or `attn read {exercise.steps[0].name}`. "
        "(The .ipynb holds the same steps.)"
    )


def _comments(exercise: Exercise, cell: Cell) -> list[str]:
    """Return what stands above the code of a cell: the step, its place in the layer, the brief."""
    lines = cell.brief.split("\n") if cell.brief else []
    if cell.step:
        title = _numbered(exercise, cell.step)
        lines = [*_headed(title, path_line(exercise, cell.step)), *lines]
    found = [f"# {line}".rstrip() for line in lines]
    if wide := [line for line in found if len(line) > WIDEST]:
        raise KitError(
            f"a line of the stub is {len(wide[0])} characters wide, and {WIDEST} fit",
            place=f"{exercise.folder / SOLUTION}, at the line: {wide[0]}",
            cure=f"break it in the cell `# %% [markdown] {SCRIPT_ONLY}`",
        )
    return found


def _headed(title: str, way: str) -> list[str]:
    """Return the title with the way beside it, or below it where the title is too long."""
    if len(title) < MARGIN or not way:
        return [f"{title:<{MARGIN}}{way}".rstrip()]
    return [title, f"{'':<{MARGIN}}{way}"]


def is_below_a_step(cells: tuple[Cell, ...], number: int) -> bool:
    """Whether the cell is prose that goes on about the step right above it, without a heading."""
    if number == 0 or cells[number].code or cells[number].source.startswith("#"):
        return False
    return cells[number - 1].step is not None


def _numbered(exercise: Exercise, step: str) -> str:
    numbers = (n for n, each in enumerate(exercise.steps, start=1) if each.name == step)
    return f"{next(numbers)} {exercise.step(step).title}"
