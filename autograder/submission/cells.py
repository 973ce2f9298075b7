"""The cells of what a student handed in, as text.

They are read in the trusted process, which never runs them: JSON is checked, and Python is
parsed. A text that is not Python is cut into pieces, so that an error costs one statement and
not the whole file.
"""

from __future__ import annotations

import ast
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

from autograder.submission.file_text import Unreadable, plain_text
from autograder.values.exercise import Definition

MOST_CELLS = 2000
ASKED = "attention_kit_asked"  # in the metadata of a release: the names of all that is graded
_MOST_ASKED, _LONGEST_NAME = 500, 200
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)

# Up to where a broken text is cut; a longer one is left whole, so that cutting stays cheap.
_MOST_LINES, _MOST_LETTERS, _MOST_PIECES, _LONGEST_STATEMENT = 5000, 200_000, 200, 12
_MARK = r"<{7} |={7}$|>{7} "
_KEEPS_ON = r"(?:else|elif|except|finally|case)\b"
_BEGINS = re.compile(rf"(?!{_KEEPS_ON})[^\W\d]|@|{_MARK}")
_GOES_ON = re.compile(_KEEPS_ON)
_MOST_STRAY = 12  # lines at the end of a part that are tried: so many first ones and last ones
_LONGEST_KEPT = 65_536  # characters: the tree of a text is a hundred times as large
_SHORT = 2_048
_CONFLICT = re.compile(rf"^(?:{_MARK})", re.MULTILINE)


@dataclass(frozen=True)
class Asked:
    """What the release has asked that a notebook was made from: the names of its graded cells.

    If it is not known (`sure`), these are the names of the cells that the notebook still has.
    """

    names: frozenset[str]
    sure: bool


def asked_in(facts: Mapping[str, Any], cells: Iterable[Mapping[str, Any]]) -> Asked:
    """Return what the student was asked; anybody can edit what stands there."""
    metadata = facts.get("metadata")
    noted = metadata.get(ASKED) if isinstance(metadata, dict) else None
    if isinstance(noted, list) and len(noted) <= _MOST_ASKED:
        names = [name for name in noted if isinstance(name, str) and len(name) <= _LONGEST_NAME]
        return Asked(frozenset(names), sure=True)
    found = (grade_id(cell) for cell in cells)
    return Asked(frozenset(name for name in found if 0 < len(name) <= _LONGEST_NAME), sure=False)


def grade_id(cell: Mapping[str, Any]) -> str:
    """Return the cell's `grade_id`, or ""; a student may have put anything there."""
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    name = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
    return name if isinstance(name, str) else ""


def notebook_cells(text: str, name: str) -> list[dict[str, Any]]:
    """Return the cells of a notebook, nbformat 3 or 4, as they stand; raise `Unreadable`.

    Cells that are not JSON objects are left out.
    """
    return cells_in(notebook_facts(text, name), name)


def notebook_facts(text: str, name: str) -> dict[str, Any]:
    """Return what the JSON of a notebook holds; raise `Unreadable`."""
    try:
        notebook = json.loads(text)
    except UNREADABLE as error:
        raise Unreadable(_no_json(text, name, error)) from None
    return notebook if isinstance(notebook, dict) else {}


def cells_in(facts: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the cells of a notebook whose JSON was read; see `notebook_cells`."""
    sheets = facts.get("worksheets")
    cells = facts.get("cells")
    if isinstance(sheets, list):
        cells = [cell for sheet in sheets for cell in _list(sheet, "cells")]
    if not isinstance(cells, list):
        raise Unreadable(
            f"{name} is not a notebook: it has no list of cells. Download the notebook itself "
            "from JupyterLab and hand it in again."
        )
    if len(cells) > MOST_CELLS:
        raise Unreadable(
            f"{name} has more than {MOST_CELLS} cells: keep those of the exercise and hand it in "
            "again."
        )
    return [cell for cell in cells if isinstance(cell, dict)]


def _no_json(text: str, name: str, error: BaseException) -> str:
    if not text.strip():
        return f"{name} is empty: save your notebook in JupyterLab and hand it in again."
    where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
    fact = f"{name} is not a notebook: its text is not valid JSON{where}."
    conflict = _CONFLICT.search(text)
    if conflict:
        line = text.count("\n", 0, conflict.start()) + 1
        return (
            f"{fact} Line {line} is a mark that git leaves where two versions differ: choose one "
            "of them, open the notebook in JupyterLab, save it and hand it in again."
        )
    return (
        f"{fact} Open it in JupyterLab, save it there, and hand it in again; if it does not open, "
        "take the last version that does."
    )


def _list(facts: Any, key: str) -> list[Any]:
    value = facts.get(key) if isinstance(facts, dict) else None
    return value if isinstance(value, list) else []


def source(cell: Mapping[str, Any]) -> str:
    """Return the text of a cell, without invalid characters."""
    return plain_text(source_as_it_is(cell))


def source_as_it_is(cell: Mapping[str, Any]) -> str:
    """Return the text of a cell; the format allows one text or a list of lines."""
    found = cell.get("source", cell.get("input", ""))
    if isinstance(found, str):
        return found
    lines = found if isinstance(found, list) else []
    try:
        return "".join(lines)  # in nearly every notebook, all of them are text
    except TypeError:
        return "".join(line for line in lines if isinstance(line, str))


def parsed(text: str) -> ast.Module | None:
    """Return the syntax tree, which nobody may change, or None when the text is not Python."""
    try:
        if len(text) <= _SHORT:
            return _kept_of_a_cell(text)
        return _kept(text) if len(text) <= _LONGEST_KEPT else ast.parse(text)
    except UNREADABLE:
        return None


@lru_cache(maxsize=8)
def _kept(text: str) -> ast.Module:
    # What is handed in is looked at several times; the author's own text, for every hand-in.
    return ast.parse(text)


@lru_cache(maxsize=256)
def _kept_of_a_cell(text: str) -> ast.Module:
    # A notebook has dozens of them.
    return ast.parse(text)


def pieces(texts: Iterable[str]) -> list[tuple[str, ...]]:
    """Return each of `texts`: one that is not Python is cut so that an error costs one statement.

    Neighbors that are Python stay together. Lines keep their numbers.
    """
    whole = tuple(texts)
    lines = sum(text.count("\n") for text in whole)
    if lines > _MOST_LINES or sum(map(len, whole)) > _MOST_LETTERS:
        return [(text,) for text in whole]
    return list(map(_pieces, whole))


def _pieces(text: str) -> tuple[str, ...]:
    if parsed(text) is not None:
        return (text,)
    lines = text.split("\n")
    starts = [number for number, line in enumerate(lines) if _BEGINS.match(line)]
    bounds = sorted({0, *starts, len(lines)})
    found: list[tuple[int, int, bool]] = []
    start = 0
    while start < len(lines):
        end, right = _statement(lines, bounds, start)
        if found and right and found[-1][2]:
            found[-1] = (found[-1][0], end, True)
        else:
            found.append((start, end, right))
        start = end
    if len(found) > _MOST_PIECES:
        return (text,)
    return tuple("\n" * start + "\n".join(lines[start:end]) for start, end, _ in found)


def _statement(lines: list[str], bounds: list[int], start: int) -> tuple[int, bool]:
    """Return the line where the statement at line `start` ends, and whether it is Python.

    `bounds` are the lines where parts begin, and the end. A statement is one part or several or,
    if these are not Python, their longest beginning that is. Lines count from 0, ends excluded.
    """
    after = bisect_right(bounds, start)
    whole = bounds[after : after + _LONGEST_STATEMENT]
    if bounds[after - 1] != start:  # the rest of a part: looked at once, so that cutting is linear
        return whole[0], _is_python(lines, start, whole[0])
    for end in (*whole, *_early_ends(lines, start, whole)):
        if _is_python(lines, start, end):
            return end, True
    return whole[0], False


def _early_ends(lines: list[str], start: int, ends: Sequence[int]) -> list[int]:
    """Return the lines where the parts up to `ends` may end earlier, the last line first."""
    own = _stray_lines(lines, start, ends[0])
    found = {*own[:_MOST_STRAY], *own[-_MOST_STRAY:]}
    for begin, end in pairwise(ends):  # a text of several lines may hold what looks like a part
        found.update(_stray_lines(lines, begin, end)[:1])
    return sorted(found, reverse=True)


def _stray_lines(lines: list[str], start: int, end: int) -> list[int]:
    """Return the lines at the left margin that end a part, below everything indented."""
    found: list[int] = []
    for number in range(end - 1, start, -1):
        line = lines[number]
        if line.strip() and (line[0].isspace() or _GOES_ON.match(line)):
            break
        found += [number] if line.strip() else []
    return found[::-1]


def _is_python(lines: list[str], start: int, end: int) -> bool:
    return parsed("\n".join(lines[start:end])) is not None


# The cells of a plain Python file in the percent format: `# %%` begins one.
#
# Editors and jupytext cut files in this way. In valid Python, a marker within a string is text.
# In other files, nobody can tell what is a string, so every marker counts.

_MARKER = re.compile(r"#[ \t]*%%")
_PROSE = re.compile(r"\[(?:markdown|md|raw)\]")
_COMMENT = re.compile(r"^# ?", re.MULTILINE)


@dataclass(frozen=True)
class PercentCell:
    """One cell: its marker ("" for what stands above the first one) and its text, unchanged.

    `line` is the line of the marker, from 1; 0 without one. The text begins on the next line.
    """

    marker: str
    text: str
    line: int

    @property
    def last(self) -> int:
        """Its last line, from 1."""
        return self.line + self.text.count("\n") + (self.text[-1:] not in ("\n", ""))

    @property
    def is_prose(self) -> bool:
        """Whether the marker says that the cell is Markdown, in comments."""
        return _PROSE.search(self.marker) is not None

    @property
    def uncommented(self) -> str:
        """The text without the comment sign at the beginning of each line."""
        return _COMMENT.sub("", self.text)


def percent_cells(text: str) -> tuple[PercentCell, ...]:
    """Return what stands above the first marker, and then the cells in order.

    Put together again, with a line feed after each marker, markers and texts are the whole text.
    """
    lines = text.split("\n")
    markers = [number for number, line in enumerate(lines) if _MARKER.match(line)]
    within = _within_strings(text, len(lines)) if markers else ()
    markers = [number for number in markers if not (within and within[number])]
    ends = [*markers, len(lines)]
    cells = [PercentCell("", _joined(lines, 0, ends[0]), 0)]
    for start, end in zip(markers, ends[1:]):
        cells.append(PercentCell(lines[start], _joined(lines, start + 1, end), start + 1))
    return tuple(cells)


def without_head(cells: Sequence[PercentCell]) -> Sequence[PercentCell]:
    """Leave out what stands above the first marker if it is only comments, as tools write."""
    lines = cells[0].text.split("\n")
    only_comments = all(line.startswith("#") or not line.strip() for line in lines)
    return cells[1:] if not cells[0].marker and only_comments else cells


def _joined(lines: Sequence[str], start: int, end: int) -> str:
    """Join lines with their line feeds; the last line of a text has none."""
    return "".join(
        line if number == len(lines) else f"{line}\n"
        for number, line in enumerate(lines[start:end], start=start + 1)
    )


def _within_strings(text: str, lines: int) -> list[int]:
    """Return, for each line, how many strings it begins in; nothing if the text is not Python."""
    tree = parsed(text)
    if tree is None:
        return []
    changes = [0] * (lines + 2)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno:
            changes[node.lineno] += 1  # the line below the one where it begins, from 0
            changes[node.end_lineno] -= 1
    return list(accumulate(changes))


# Where a text defines functions and classes: the one finder, for valid Python and for the rest.
#
# Python is read by its syntax tree, so a `def` within a string or another function is not taken
# for one at the left margin. Other text is cut into statements; those that are not Python are
# searched line by line. Lines count from 1 and end with a line feed, as in `plain_text`.

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
    found = (each for piece in pieces([text])[0] for each in find_in_piece(piece))
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


def definitions_in(text: str) -> dict[str, DefinitionNode]:
    """Return the definitions at the left margin of a text by name; none if it is not Python."""
    tree = parsed(text)
    return {node.name: node for node in top_level(tree)} if tree else {}


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
