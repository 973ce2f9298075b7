"""The drawing of a layer, with the place of one step marked: plain text, the same everywhere.

It is declared once in `exercise.toml`, one line of text for each line of the drawing. Before the
bar stand the steps that the line belongs to, and after it what is drawn:

    project_qkv               | queries    keys    values   (B, S, D) each
    compute_attention_scores  | └────┬───────┘       │

A class that no line names is the whole layer: every line that belongs to a step is marked for it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from autograder.building.checklist import signature_texts
from autograder.building.regions import Solution
from autograder.errors import KitError
from autograder.model.exercise import MANIFEST, Exercise

WIDEST = 72  # characters of a rendered line, so that it fits a terminal after a comment sign
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
    written = [line for line in exercise.diagram.split("\n") if line.strip()]
    lines = tuple(_read_line(exercise, line) for line in written)
    for line, (steps, drawn) in zip(written, lines, strict=True):
        _refuse_other_shapes(exercise, solution, line, steps, drawn)
    named = {name for steps, _ in lines for name in steps}
    classes = (name for name, node in solution.definitions.items() if _is_class(node))
    whole = tuple(name for name in classes if name not in named) if lines else ()
    kept = zip(written, lines, strict=True)
    shown = tuple((steps, drawn) for line, (steps, drawn) in kept if steps or not _names(line))
    return Diagram(shown, numbers, whole)


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
    if len(drawn) > WIDEST - len(f"{HERE} {'':>5}  "):
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


def _is_class(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef)


def _wrong(exercise: Exercise, line: str, fact: str, cure: str) -> KitError:
    place = f"{exercise.folder / MANIFEST}, diagram, at the line: {line.strip()}"
    return KitError(f"a line of the diagram {fact}", place=place, cure=cure)
