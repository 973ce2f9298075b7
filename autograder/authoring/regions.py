"""Finds the students' parts in `solution.py`.

A solution that was handed out cannot be taken back. So every mistake in the markers
(a region left open, a misspelt marker, a step without a region) stops the build and
names the line to correct. Nothing is guessed.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import Faults, KitError
from autograder.submission.cells import DefinitionNode, top_level
from autograder.values.exercise import MANIFEST, SOLUTION, Definition, Exercise

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
GIVEN = "# given"  # after a `def`: this method is handed out as it is
# In capitals anywhere in a comment, or in any case as the whole comment.
_ALMOST_A_MARKER = re.compile(
    r"#.*(BEGIN|END)[\W_]*SOLUTION|#[\W_]*(?i:(begin|end)[\W_]*(of)?[\W_]*solutions?)[\W_]*$"
)


@dataclass(frozen=True)
class Region:
    """A student's part: lines `begin` to `end` (counted from 1, markers included).

    `function` names the function or method around it, such as `softmax` or
    `SingleHeadAttention.forward`.
    """

    begin: int
    end: int
    function: str
    indentation: str


@dataclass(frozen=True)
class Solution:
    """The text of a `solution.py`, the students' parts in it and the steps' definitions."""

    path: Path
    lines: tuple[str, ...]
    regions: tuple[Region, ...]
    definitions: dict[str, DefinitionNode]


def read_solution(exercise: Exercise) -> Solution:
    """Read the `solution.py` of `exercise`; raise `KitError` when the steps do not fit."""
    path = exercise.folder / SOLUTION
    text = _text(path)
    tree = _tree(path, text)
    # Lines as Python counts them: `splitlines` would also split at a form feed.
    lines = tuple(text.removesuffix("\n").split("\n"))
    definitions = _definitions(exercise, path, tree)
    functions = [each for name, node in definitions.items() for each in _functions(name, node)]
    spans = _spans(path, lines)
    regions = tuple(_region(path, lines, span, functions) for span in spans)
    covered = {region.function for region in regions}
    faults = Faults()
    for name, function in functions:
        given = "." in name and GIVEN in lines[function.lineno - 1]
        if name not in covered and not given:
            with faults.noted():
                raise _wrong(
                    (path, function.lineno),
                    f"{name} has no solution region, so it would be handed out solved",
                    f"put {BEGIN} and {END} around the student's part"
                    + f", or, for a method that students are given, {GIVEN!r} after its def"
                    * ("." in name),
                )
    faults.refuse()
    for name, node in definitions.items():
        if not any(region.function.split(".")[0] == name for region in regions):
            fact = f"the step {name} has no solution region at all"
            cure = "leave at least one method of it to the student"
            raise _wrong((path, node.lineno), fact, cure)
    return Solution(path, lines, regions, definitions)


def _wrong(place: tuple[Path, int], fact: str, cure: str) -> KitError:
    """Return the error about a line of `solution.py`."""
    return KitError(fact, place=f"{place[0]}:{place[1]}", cure=cure)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise KitError(
            f"the exercise has no {SOLUTION}",
            place=str(path.parent),
            cure="write the reference solution there, or name a folder of solutions/",
        ) from None


def _tree(path: Path, text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        fact = f"{SOLUTION} is not valid Python: {error.msg}"
        raise _wrong((path, error.lineno or 0), fact, "correct that line") from None


def _definitions(exercise: Exercise, path: Path, tree: ast.Module) -> dict[str, DefinitionNode]:
    """Return the steps' definitions in the order of `solution.py`, which must be their order."""
    names = [step.name for step in exercise.steps]
    found: dict[str, DefinitionNode] = {}
    for node in top_level(tree):
        if node.name in names:
            place, step = (path, node.lineno), f"the step {node.name}"
            if node.name in found:
                raise _wrong(place, f"{step} is defined twice", "keep one of the two")
            if isinstance(node, ast.AsyncFunctionDef):
                fact = f"{step} is written with `async def`, which cannot be checked"
                raise _wrong(place, fact, "write `def`")
            found[node.name] = node
    for name in names:
        if name not in found:
            raise KitError(
                f"the step {name} has no function or class in {SOLUTION}",
                place=_manifest_line(exercise, name),
                cure=f"write `def {name}` in {SOLUTION}, in the same folder, or remove the step",
            )
    for name, (written, node) in zip(names, found.items(), strict=True):
        if name != written:
            fact = f"the step {written} comes where {name} is expected"
            cure = f"put the steps of {SOLUTION} and {MANIFEST} in the same order"
            raise _wrong((path, node.lineno), fact, cure)
    return found


def _manifest_line(exercise: Exercise, name: str) -> str:
    path = exercise.folder / MANIFEST
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if re.fullmatch(rf"\s*name\s*=\s*[\"']{re.escape(name)}[\"']\s*(#.*)?", line):
            return f"{path}:{number}"
    return str(path)


def _functions(name: str, node: DefinitionNode) -> list[tuple[str, Definition]]:
    if isinstance(node, ast.ClassDef):
        return [
            (f"{name}.{inner.name}", inner) for inner in node.body if isinstance(inner, Definition)
        ]
    return [(name, node)]


def _spans(path: Path, lines: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return the (first, last) line of each region, including its markers."""
    spans: list[tuple[int, int]] = []
    begin = 0
    for number, line in enumerate(lines, start=1):
        marker, place = line.strip(), (path, number)
        if marker == BEGIN:
            if begin:
                fact = f"a solution region begins inside the one that begins at line {begin}"
                raise _wrong(place, fact, f"write {END} before this line")
            begin = number
        elif marker == END:
            if not begin:
                fact = "a solution region ends but never began"
                raise _wrong(place, fact, f"write {BEGIN} above it")
            spans.append((begin, number))
            begin = 0
        elif _ALMOST_A_MARKER.search(line):
            fact = f"{marker!r} is almost a marker of a solution region"
            raise _wrong(place, fact, f"write {BEGIN} or {END}, alone on its line")
    if begin:
        fact, cure = "a solution region is not closed", f"write {END} below the student's part"
        raise _wrong((path, begin), fact, cure)
    return spans


def _region(
    path: Path,
    lines: tuple[str, ...],
    span: tuple[int, int],
    functions: list[tuple[str, Definition]],
) -> Region:
    begin, end = span
    for name, function in functions:
        if function.body[0].lineno <= end and begin > function.lineno:
            last = function.end_lineno or function.lineno
            if begin <= last and not _code(lines[last : end - 1]):
                return Region(begin, end, name, _indentation(lines[begin - 1 : end]))
    fact = "a solution region is not inside one function of a step"
    cure = "move its markers into the function, or name the function as a step"
    raise _wrong((path, begin), fact, cure)


def _code(lines: tuple[str, ...]) -> list[str]:
    """Return the lines that are neither blank nor comments."""
    return [line for line in lines if line.strip() and not line.strip().startswith("#")]


def _indentation(lines: tuple[str, ...]) -> str:
    """Return the indentation of the first line of code, or without code that of the marker."""
    first = (_code(lines) or lines)[0]
    return first[: len(first) - len(first.lstrip())]
