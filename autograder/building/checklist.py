"""The README that students get: a checklist of the steps to write.

Names, points and minutes come from `exercise.toml`, and shapes from the signatures
in `solution.py`. So the checklist cannot drift from what is graded.
"""

from __future__ import annotations

import ast

from autograder.building.regions import Solution
from autograder.model.exercise import Exercise, Step
from autograder.model.signature import Definition, Signature, shape_text, signature_in

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
    size = f"{_count(len(exercise.steps), 'step')}, {_points_text(exercise)}"
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


def _points_text(exercise: Exercise) -> str:
    return "optional" if exercise.optional else _count(exercise.points, "point")


def cost_text(step: Step) -> str:
    """Return the points and the time of a step: `2 points, about 10 minutes`."""
    points = _count(step.points, "point") if step.points else "no points"
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


def _count(number: float, noun: str) -> str:
    return f"{number:g} {noun}" if number == 1 else f"{number:g} {noun}s"


def _duration(minutes: int) -> str:
    if minutes < 60:
        return _count(minutes, "minute")
    hours, rest = divmod(minutes, 60)
    return f"{_count(hours, 'hour')} {_count(rest, 'minute')}" if rest else _count(hours, "hour")
