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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from autograder.submission.file_text import Unreadable, plain_text

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
_LONGEST_KEPT = 32_768  # characters: the tree of a text is a hundred times as large
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


@lru_cache(maxsize=16)
def _kept(text: str) -> ast.Module:
    # What is handed in is looked at several times; the author's own text, for every hand-in.
    return ast.parse(text)


@lru_cache(maxsize=256)
def _kept_of_a_cell(text: str) -> ast.Module:
    # A notebook has dozens of them.
    return ast.parse(text)


def pieces(texts: Iterable[str]) -> tuple[str, ...]:
    """Return `texts`, with those that are not Python cut so that an error costs one statement.

    Neighbors that are Python stay together. Lines keep their numbers.
    """
    whole = tuple(texts)
    lines = sum(text.count("\n") for text in whole)
    if lines > _MOST_LINES or sum(map(len, whole)) > _MOST_LETTERS:
        return whole
    return tuple(piece for text in whole for piece in _pieces(text))


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
