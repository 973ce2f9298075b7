"""Where a text defines functions and classes: the one finder, for valid Python and for the rest.

Python is read by its syntax tree, so a `def` within a string or another function is not taken for
one at the left margin. Other text is cut into statements; those that are not Python are searched
line by line. Lines count from 1 and end with a line feed, as in `plain_text`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from autograder.model.signature import Definition
from autograder.submission.cells import parsed, pieces

DefinitionNode = Definition | ast.ClassDef

_KEYWORD_AND_NAME = r"(?:async[ \t\f]+def|def|class)[ \t\f]+(\w+)"
# A form feed takes Python back to the margin, whatever stands before it.
_AT_MARGIN = re.compile(rf"(?:[ \t\f]*\f)?{_KEYWORD_AND_NAME}")
# No `\s` at the beginning: it matches line ends too, so many blank lines would take very long.
_INDENTED = re.compile(rf"^[ \t\f]*{_KEYWORD_AND_NAME}", re.MULTILINE)
_QUOTED = re.compile(rf"^[ \t\f>]*{_KEYWORD_AND_NAME}", re.MULTILINE)


@dataclass(frozen=True)
class DefinitionSpan:
    """Where a definition stands at the left margin, and whether it is valid Python.

    `first` is its first line, decorators included, and `line` the one that names it. `last` is
    its last line; it equals `line` where the text is not Python, since nobody can tell there.
    """

    name: str
    first: int
    line: int
    last: int
    is_python: bool = True


def find_definitions(text: str) -> tuple[DefinitionSpan, ...]:
    """Return what any text defines at its left margin, in order."""
    lines = text.split("\n")
    found = (each for piece in pieces([text]) for each in find_in_piece(piece))
    return tuple(each if each.is_python else _with_decorators(each, lines) for each in found)


def find_in_piece(piece: str) -> tuple[DefinitionSpan, ...]:
    """Return the same for one text from `pieces`: Python, or a statement that is not.

    In the second case decorators are missing: they are a piece of their own.
    """
    tree = parsed(piece)
    return tuple(_spans_of_lines(piece) if tree is None else map(_span, top_level(tree)))


def names_anywhere(piece: str) -> list[str]:
    """Return the names that a piece defines: at its left margin, indented, or nested."""
    tree = parsed(piece)
    if tree is None:
        return _INDENTED.findall(piece)
    return [node.name for node in ast.walk(tree) if isinstance(node, DefinitionNode)]


def names_in_prose(text: str) -> list[str]:
    """Return the names that lines of prose would define as Python, even indented or quoted."""
    there = "def" in text or "class" in text  # in little prose, and seen far more quickly
    return _QUOTED.findall(text) if there else []


def top_level(tree: ast.Module) -> Iterator[DefinitionNode]:
    """The definitions at the left margin of a syntax tree."""
    return (node for node in tree.body if isinstance(node, DefinitionNode))


def lines_of(node: ast.stmt) -> tuple[int, int]:
    """Return the first and the last line of a statement, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return first, node.end_lineno or node.lineno


def cut_before_definitions(text: str) -> tuple[tuple[str, str], ...]:
    """Return a text in parts, each with the name that its first statement defines.

    The first part is what stands above all definitions, without a name, and may be empty.
    """
    lines = text.split("\n")
    found = find_definitions(text)
    starts = [0, *(each.first - 1 for each in found)]
    names = ["", *(each.name for each in found)]
    ends = [*starts[1:], len(lines)]
    return tuple((name, "\n".join(lines[a:b])) for name, a, b in zip(names, starts, ends))


def _span(node: DefinitionNode) -> DefinitionSpan:
    first, last = lines_of(node)
    return DefinitionSpan(node.name, first, node.lineno, last)


def _spans_of_lines(piece: str) -> Iterator[DefinitionSpan]:
    for number, line in enumerate(piece.split("\n"), start=1):
        if found := _AT_MARGIN.match(line):
            yield DefinitionSpan(found[1], number, number, number, is_python=False)


def _with_decorators(span: DefinitionSpan, lines: Sequence[str]) -> DefinitionSpan:
    first = span.line
    while first > 1 and lines[first - 2].startswith("@"):
        first -= 1
    return replace(span, first=first)
