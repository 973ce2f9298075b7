"""The students' copy of `solution.py`: its cells with every solution region taken out.

The same cells become the stub `.py` and the notebook, so both say the same. The
stub has no check cells: a check would run, and perhaps raise, whenever the file is
imported for grading.
"""

from __future__ import annotations

import ast
import base64
import html
import re
from dataclasses import dataclass, replace

from autograder.authoring.regions import Region, Solution
from autograder.errors import KitError
from autograder.submission.cells import DefinitionNode, PercentCell, percent_cells, without_head
from autograder.values.exercise import (
    MANIFEST,
    SOLUTION,
    Definition,
    Exercise,
    Signature,
    Step,
    shape_text,
    signature_in,
)
from autograder.values.symbols import UNWRITTEN, count

# The README that students get: a checklist of the steps to write.
#
# Names, points and minutes come from `exercise.toml`, and shapes from the signatures in
# `solution.py`. So the checklist cannot drift from what is graded.

IN_A_COURSE = "These are the public checks."  # what follows is for those who hand in
# The checks hand over by order what has no default.
KEPT = """- Keep the names of the functions and of the class, the order of their parameters,
  and the names of parameters that have a default."""
ALONE = f"""## How far you are

- `attn list` shows your progress, from the notebook and from the terminal.
{KEPT}
- After the last step, `attn finish` says what you have built.
"""


def render_checklist(exercise: Exercise, solution: Solution) -> str:
    """Return the text of the README.md that students get with `exercise`."""
    name = exercise.name
    points = "optional" if exercise.optional else count(exercise.points, "point")
    size = f"{count(len(exercise.steps), 'step')}, {points}"
    entries = "\n".join(_entry(step, solution) for step in exercise.steps)
    return f"""# {exercise.title}

{size}, about {_duration(exercise.minutes)}, difficulty {exercise.difficulty}.

Open `{name}.ipynb` in JupyterLab, or `{name}.py` in an editor. Both hold the same
steps: work in one of the two. The letters in the shapes are explained at the top.

## The steps

{entries}

{_shapes(exercise, solution)}## How to check

- In the notebook: run the cell of a step, then the check under it.
- In a terminal, in this folder, one step, or all of them:

      attn check {exercise.steps[0].name}
      attn check

- Each step is checked on its own inputs. One that calls a step that is wrong waits for it:
  mend that one first.

{IN_A_COURSE} The hidden graders run after you hand in, on other
inputs of the same kind. There, a step that calls a wrong one is judged with a right one
in its place, so one mistake costs one step.

## How to hand in

- With nbgrader: save the notebook, then press Submit in JupyterLab's assignment list.
- Without it: hand in the one file you work in, `{name}.ipynb` or `{name}.py`,
  without renaming it.
{KEPT}
"""


def for_oneself(readme: str) -> str:
    """Return the README for somebody who learns alone: nobody hands in, and progress is kept."""
    before, course, _ = readme.partition(IN_A_COURSE)
    return f"{before}{ALONE}" if course else readme


def _entry(step: Step, solution: Solution) -> str:
    lines = [f"- [ ] **{step.name}**: {step.title} ({cost_text(step)})"]
    return "\n".join([*lines, *(f"  - `{text}`" for text in signature_texts(step.name, solution))])


def cost_text(step: Step) -> str:
    """Return the points and the time of a step: `2 points, about 10 minutes`."""
    points = count(step.points, "point") if step.points else "no points"
    return f"{points}, about {_duration(step.minutes)}"


def signature_texts(name: str, solution: Solution) -> tuple[str, ...]:
    """Return the signatures of a step: one line for a function, or one per method of a class."""
    node = solution.definitions[name]
    if not isinstance(node, ast.ClassDef):
        return (signature_in(node).text(name),)
    methods = [each for each in node.body if isinstance(each, Definition)]
    return tuple(
        signature_in(method).text(name if method.name == "__init__" else f"{name}.{method.name}")
        for method in methods
    )


def _shapes(exercise: Exercise, solution: Solution) -> str:
    """Return the section with the shape of every result, in order, or ""."""
    nodes = {step.name: solution.definitions[step.name] for step in exercise.steps}
    functions = {name: node for name, node in nodes.items() if not isinstance(node, ast.ClassDef)}
    forwards = {
        f"{name}.forward": each
        for name, node in nodes.items()
        if isinstance(node, ast.ClassDef)
        for each in node.body
        if isinstance(each, Definition) and each.name == "forward"
    }
    results = {name: _result(signature_in(node)) for name, node in (functions | forwards).items()}
    rows = "".join(f"| `{name}` | {result} |\n" for name, result in results.items() if result)
    return f"## The shapes\n\n| step | result |\n|---|---|\n{rows}\n" if rows else ""


def _result(signature: Signature) -> str:
    """Return the shapes of the returned arrays, or "" if none are returned."""
    shapes = ["value" if axes is None else f"`{shape_text(axes)}`" for axes in signature.returns]
    if set(shapes) <= {"value"}:
        return ""
    if len(shapes) > 1 and len(set(shapes)) == 1:
        return f"{shapes[0]} each"
    return ", ".join(shapes)


def _duration(minutes: int) -> str:
    if minutes < 60:
        return count(minutes, "minute")
    hours, rest = divmod(minutes, 60)
    return f"{count(hours, 'hour')} {count(rest, 'minute')}" if rest else count(hours, "hour")


# The drawing of a layer, with the place of one step marked: plain text, the same everywhere.
#
# It is declared once in `exercise.toml`, one line of text for each line of the drawing. Before
# the bar stand the steps that the line belongs to, and after it what is drawn:
#
#     project_qkv               | queries    keys    values   (B, S, D) each
#     compute_attention_scores  | └────┬───────┘       │
#
# A class that no line names is the whole layer: every line that belongs to a step is marked for
# it.

WIDEST_DRAWING = 72  # characters of a rendered line, so that it fits after a comment sign
HERE = "→"
_BAR = "|"
_SHAPE = re.compile(r"\((?:\w+, )+\w+\)|\(\w+,\)")


@dataclass(frozen=True)
class Diagram:
    """The lines of a drawing, each with the names of the steps that it belongs to.

    `numbers` has the number of every step, from 1, and `whole` the classes that no line names.
    """

    lines: tuple[tuple[tuple[str, ...], str], ...]
    numbers: dict[str, int]
    whole: tuple[str, ...]

    def marked(self, step: str) -> str:
        """Return the drawing with an arrow before each line of `step`, and the steps' numbers.

        Raises KeyError when no line belongs to the step.
        """
        if step not in self.whole and not any(step in steps for steps, _ in self.lines):
            raise KeyError(step)
        return "\n".join(self._line(steps, drawn, step) for steps, drawn in self.lines)

    def _line(self, steps: tuple[str, ...], drawn: str, marked: str) -> str:
        here = marked in steps or (marked in self.whole and steps)
        numbers = ", ".join(str(self.numbers[name]) for name in steps)
        return f"{HERE if here else ' '} {numbers:>5}  {drawn}".rstrip()


def read_diagram(exercise: Exercise, solution: Solution) -> Diagram:
    """Read the drawing of `exercise`, which may have none: then no step has a place in it.

    Lines of steps that a course leaves out are not drawn. Raises `KitError` when a line
    names no step of the exercise, shows a shape that its steps do not have, or is too wide.
    """
    numbers = {step.name: number for number, step in enumerate(exercise.steps, start=1)}
    lines = _read_lines(exercise, exercise.diagram)
    for line, steps, drawn in lines:
        _refuse_other_shapes(exercise, solution, line, steps, drawn)
    named = {name for _, steps, _ in lines for name in steps}
    nodes = solution.definitions.items()
    classes = (name for name, node in nodes if isinstance(node, ast.ClassDef))
    whole = tuple(name for name in classes if name not in named) if lines else ()
    return Diagram(tuple((steps, drawn) for _, steps, drawn in lines), numbers, whole)


def path_line(exercise: Exercise, step: str) -> str:
    """Return the way through the layer in one line, with the place of `step` in brackets.

    It is declared in `exercise.toml` like the drawing, one line for each place. A step that no
    place belongs to is the whole layer. "" where an exercise has no path.
    """
    places = [(step in steps, label) for steps, label in _places(exercise)]
    line = " → ".join(f"[{label}]" if here else label for here, label in places)
    return line if any(here for here, _ in places) or not line else f"[{line}]"


def path_picture(exercise: Exercise, step: str) -> str:
    """Return the same as an image in Markdown, whose alternative text says it in words."""
    places = [(step in steps, label) for steps, label in _places(exercise)]
    number = len(exercise.before(step)) + 1
    at = next((label for here, label in places if here), "")
    told = f"Step {number} of {len(exercise.steps)}. You are here: {at or 'the whole layer'}"
    way = ", ".join(label for _, label in places)
    svg = _svg([(label, here or not at) for here, label in places])
    return picture(svg, f"{told}. The way through the layer: {way}.")


def picture(svg: str, words: str) -> str:
    """Return a drawing as an image in Markdown, with the words for who does not see it."""
    data = base64.b64encode(svg.encode("utf-8")).decode("ascii")
    return f"![{words}](data:image/svg+xml;base64,{data})"


def _places(exercise: Exercise) -> list[tuple[tuple[str, ...], str]]:
    """Return the places of the path, with their steps."""
    return [(steps, label) for _, steps, label in _read_lines(exercise, exercise.path)]


def _svg(places: list[tuple[str, bool]]) -> str:
    """Draw boxes from left to right; those that are marked are filled, with a thick border."""
    parts, left = list[str](), 2
    for number, (label, marked) in enumerate(places):
        if number:
            parts.append(f'<path d="M{left + 3} 18h12m-4 -4l4 4l-4 4" fill="none" stroke="#888"/>')
            left += 20
        width = 16 + round(8.2 * len(label))
        fill, border = ("#ffd27a", 2.5) if marked else ("#eef2f8", 1)
        parts.append(
            f'<rect x="{left}" y="4" width="{width}" height="28" rx="5" fill="{fill}" '
            f'stroke="#3d5a80" stroke-width="{border}"/>'
            f'<text x="{left + width / 2:g}" y="23" text-anchor="middle" fill="#16243a">'
            f"{html.escape(label)}</text>"
        )
        left += width
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + 2}" height="36" '
        f'font-family="sans-serif" font-size="15">{"".join(parts)}</svg>'
    )


def _read_lines(exercise: Exercise, text: str) -> list[tuple[str, tuple[str, ...], str]]:
    """Return each line of a drawing, its steps, and what is drawn; none of steps left out."""
    written = [line for line in text.split("\n") if line.strip()]
    read = [(line, *_read_line(exercise, line)) for line in written]
    return [each for each in read if each[1] or not _names(each[0])]


def _names(line: str) -> list[str]:
    return [name for part in line.partition(_BAR)[0].split(",") if (name := part.strip())]


def _read_line(exercise: Exercise, line: str) -> tuple[tuple[str, ...], str]:
    _, bar, drawn = line.partition(_BAR)
    if not bar:
        raise _wrong(exercise, line, "has no bar", f"write `step {_BAR} what is drawn`")
    known = [step.name for step in exercise.steps]
    names = _names(line)
    for name in names:
        if name not in (*known, *exercise.grading.left_out):
            cure = f"use one of: {', '.join(known)}"
            raise _wrong(exercise, line, f"names {name!r}, which is no step", cure)
    steps = tuple(name for name in known if name in names)
    drawn = drawn.removeprefix(" ").rstrip()
    if len(drawn) > WIDEST_DRAWING - len(f"{HERE} {'':>5}  "):
        raise _wrong(exercise, line, f"is {len(drawn)} characters wide", "draw it narrower")
    return steps, drawn


def _refuse_other_shapes(
    exercise: Exercise, solution: Solution, line: str, steps: tuple[str, ...], drawn: str
) -> None:
    texts = [text for name in steps for text in signature_texts(name, solution)]
    for shape in _SHAPE.findall(drawn):
        if texts and not any(shape in text for text in texts):
            fact = f"shows the shape {shape}, which {' and '.join(steps)} neither take nor give"
            raise _wrong(exercise, line, fact, "write a shape of its signature in solution.py")


def _wrong(exercise: Exercise, line: str, fact: str, cure: str) -> KitError:
    text = "diagram" if line in exercise.diagram.split("\n") else "path"
    place = f"{exercise.folder / MANIFEST}, {text}, at the line: {line.strip()}"
    return KitError(f"a line of the {text} {fact}", place=place, cure=cure)


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
            fact = f"a cell that begins with `{cell.marker}` holds a line that is not a comment"
            cure = "put `# ` before it, or begin a code cell with `# %%`"
            raise _at_the_line(solution, line, fact, cure)


def _at_the_line(solution: Solution, line: str, fact: str, cure: str) -> KitError:
    return KitError(fact, place=f"{solution.path}, at the line: {line.strip()}", cure=cure)


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
        fact = f"a cell is not valid Python once its solution is taken out: {error.msg}"
        cure = "let each solution region hold whole statements with the same indentation"
        raise _at_the_line(solution, error.text or source, fact, cure) from None


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
        title = f"{len(exercise.before(cell.step)) + 1} {exercise.step(cell.step).title}"
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
