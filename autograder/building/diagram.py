"""The drawing of a layer, with the place of one step marked: plain text, the same everywhere.

It is declared once in `exercise.toml`, one line of text for each line of the drawing. Before the
bar stand the steps that the line belongs to, and after it what is drawn:

    project_qkv               | queries    keys    values   (B, S, D) each
    compute_attention_scores  | └────┬───────┘       │

A class that no line names is the whole layer: every line that belongs to a step is marked for it.
"""

from __future__ import annotations

import ast
import base64
import html
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


def path_line(exercise: Exercise, step: str) -> str:
    """Return the way through the layer in one line, with the place of `step` in brackets.

    It is declared in `exercise.toml` like the drawing, one line for each place. A step that no
    place belongs to is the whole layer. "" where an exercise has no path.
    """
    places = _places(exercise)
    here = [step in steps for steps, _ in places]
    labels = [f"[{label}]" if at else label for at, (_, label) in zip(here, places)]
    line = " → ".join(labels)
    return line if any(here) or not line else f"[{line}]"


def path_picture(exercise: Exercise, step: str) -> str:
    """Return the same as an image in Markdown, whose alternative text says it in words."""
    places = _places(exercise)
    here = [step in steps for steps, _ in places]
    whole = not any(here)
    number = [each.name for each in exercise.steps].index(step) + 1
    label = next((label for at, (_, label) in zip(here, places) if at), "the whole layer")
    told = f"Step {number} of {len(exercise.steps)}. You are here: {label}"
    way = ", ".join(label for _, label in places)
    svg = _svg([(label, whole or at) for at, (_, label) in zip(here, places)])
    return picture(svg, f"{told}. The way through the layer: {way}.")


def picture(svg: str, words: str) -> str:
    """Return a drawing as an image in Markdown, with the words for who does not see it."""
    data = base64.b64encode(svg.encode("utf-8")).decode("ascii")
    return f"![{words}](data:image/svg+xml;base64,{data})"


def _places(exercise: Exercise) -> list[tuple[tuple[str, ...], str]]:
    """Return the places of the path, with their steps; those of steps left out are not there."""
    lines = [line for line in exercise.path.split("\n") if line.strip()]
    read = [(line, *_read_line(exercise, line)) for line in lines]
    return [(steps, label) for line, steps, label in read if steps or not _names(line)]


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
    text = "diagram" if line in exercise.diagram.split("\n") else "path"
    place = f"{exercise.folder / MANIFEST}, {text}, at the line: {line.strip()}"
    return KitError(f"a line of the {text} {fact}", place=place, cure=cure)
