"""The cells of what a student handed in, as text.

They are read in the trusted process, which only ever looks at them: JSON is checked, Python
is parsed and never run. A text that is not Python is cut, so that an error costs one
statement and not the whole file.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from autograder.reading.file_text import Unreadable, plain_text

MOST_CELLS = 2000
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)

# What a broken text is cut into; longer ones are left whole, so that cutting stays cheap.
_MOST_LINES, _MOST_LETTERS, _MOST_PIECES, _LONGEST_STATEMENT = 5000, 200_000, 200, 12
_MARK = r"<{7} |={7}$|>{7} "
_BEGINS = re.compile(rf"(?!(?:else|elif|except|finally|case)\b)[^\W\d]|@|{_MARK}")
_CONFLICT = re.compile(rf"^(?:{_MARK})", re.MULTILINE)


def notebook_cells(text: str, name: str) -> list[dict[str, Any]]:
    """Return the cells of a notebook, nbformat 3 or 4, as they stand; raise `Unreadable`.

    What is no JSON object is left out.
    """
    try:
        notebook = json.loads(text)
    except UNREADABLE as error:
        raise Unreadable(_no_json(text, name, error)) from None
    facts = notebook if isinstance(notebook, dict) else {}
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
    """Return the text of a cell, without what is no character."""
    return plain_text(source_as_it_is(cell))


def source_as_it_is(cell: Mapping[str, Any]) -> str:
    """Return the text of a cell; the format allows one text or a list of lines."""
    found = cell.get("source", cell.get("input", ""))
    lines = found if isinstance(found, list) else [found]
    return "".join(line for line in lines if isinstance(line, str))


def parsed(text: str) -> ast.Module | None:
    """Return the syntax tree, or None when the text is not Python."""
    try:
        return ast.parse(text)
    except UNREADABLE:
        return None


def pieces(texts: Iterable[str]) -> tuple[str, ...]:
    """Return texts, and those that are not Python cut so that an error costs its statement only.

    Neighbours that are Python stay together. Lines keep their numbers.
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
    place = 0
    while place < len(bounds) - 1:
        taken, right = _statement(lines, bounds, place)
        start, end = bounds[place], bounds[place + taken]
        if found and right and found[-1][2]:
            found[-1] = (found[-1][0], end, True)
        else:
            found.append((start, end, right))
        place += taken
    if len(found) > _MOST_PIECES:
        return (text,)
    return tuple("\n" * start + "\n".join(lines[start:end]) for start, end, _ in found)


def _statement(lines: list[str], bounds: list[int], place: int) -> tuple[int, bool]:
    """Return how many of the parts from `place` on are one statement, and whether it is Python."""
    for taken in range(1, min(_LONGEST_STATEMENT, len(bounds) - 1 - place) + 1):
        part = "\n".join(lines[bounds[place] : bounds[place + taken]])
        if parsed(part) is not None:
            return taken, True
    return 1, False


def definitions(text: str, names: Iterable[str]) -> list[str]:
    """Return which of `names` a text defines at its left margin, Python or not, in their order."""
    return [name for name in names if re.search(rf"^(?:def|class) {name}\b", text, re.MULTILINE)]
