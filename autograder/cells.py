"""The cells of what a student handed in, as text.

Reading happens in the trusted process, so it only ever looks at text: sizes are capped,
JSON is checked, Python is parsed and never run. What cannot be read becomes a sentence
(`Unreadable`); what is oddly written is read all the same, as far as that goes.
"""

from __future__ import annotations

import ast
import codecs
import json
import re
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

LARGEST_FILE = 50 * 1024 * 1024
LARGEST_NOTEBOOK = 10 * 1024 * 1024
LARGEST_SOURCE = 1024 * 1024
MOST_CELLS = 2000
SUFFIXES = (".ipynb", ".py")
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)

# What a broken text is cut into; longer ones are left whole, so that cutting stays cheap.
_MOST_LINES, _MOST_LETTERS, _MOST_PIECES, _LONGEST_STATEMENT = 5000, 200_000, 200, 12
_MARK = r"<{7} |={7}$|>{7} "
_BEGINS = re.compile(rf"(?!(?:else|elif|except|finally|case)\b)[^\W\d]|@|{_MARK}")
_CONFLICT = re.compile(rf"^(?:{_MARK})", re.MULTILINE)
# Strings are read over as a whole, so that a bracket or a key within one is text; a quote
# alone is one that nothing closes.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["\[\]]', re.DOTALL)
_OUTPUTS = re.compile(r'"outputs"\s*:\s*\[')
_MOST_TOKENS = 3_000_000


class Unreadable(Exception):
    """A file cannot be read as a submission; the text says why, and what to do."""


@dataclass(frozen=True)
class Text:
    """The text of a file, and what is to be said about how it was read."""

    text: str
    remarks: tuple[str, ...] = ()


def read_text(file: Path) -> Text:
    """Return the text of a notebook or a `.py` with plain line ends; raise `Unreadable`, OSError.

    Of a notebook that is large only for its outputs, the outputs are left out.
    """
    # A link may point at a file that the grader can read and the student may not.
    if file.is_symlink() or (file.exists() and not file.is_file()):
        raise Unreadable(f"{file.name} is not a plain file: hand in the file itself.")
    notebook = is_notebook(file)
    limit = LARGEST_FILE if notebook else LARGEST_SOURCE
    size = file.stat().st_size
    if size > limit:
        shrink = "clear its outputs" if notebook else "leave data out of it"
        raise Unreadable(
            f"{file.name} is larger than {limit // 1024} kB: {shrink}, save it and hand it in again."
        )
    read = _decoded(file.read_bytes(), file.name)
    if "\0" in read.text:
        remark = f"{file.name} holds null bytes, which editors do not show; they are left out."
        read = Text(read.text.replace("\0", ""), (*read.remarks, remark))
    if notebook and size > LARGEST_NOTEBOOK:
        return _without_outputs(read, file.name)
    return read


def bare(file: Path) -> Path:
    """Return the path without the suffix that a browser hangs on a download: `a.ipynb.txt`."""
    whole = file.with_suffix("")
    downloaded = file.suffix.lower() in (".txt", ".json") and whole.suffix.lower() in SUFFIXES
    return whole if downloaded else file


def is_submission(file: Path) -> bool:
    """Whether `file` is called a notebook or a `.py`."""
    return bare(file).suffix.lower() in SUFFIXES


def is_notebook(file: Path) -> bool:
    """Whether `file` is called a notebook."""
    return bare(file).suffix.lower() == ".ipynb"


def _decoded(data: bytes, name: str) -> Text:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    else:
        encoding = _declared(data)
    try:
        return Text(_with_plain_lines(data.decode(encoding)))
    except UnicodeDecodeError as error:
        if b"\0" in data:
            raise Unreadable(
                f"{name} is not text (byte {error.start}): save it as UTF-8 and hand it in again."
            ) from None
        # One letter in a comment is no reason to lose the rest.
        remark = (
            f"{name} is not UTF-8 text (byte {error.start}) and was read as Latin-1, so letters "
            "such as é may be others: save it as UTF-8."
        )
        return Text(_with_plain_lines(data.decode("latin-1")), (remark,))


def _declared(data: bytes) -> str:
    """Return the encoding that a `.py` declares, when it is a plain one; else UTF-8.

    Others, such as utf-7, are a way to hide text from who reads it.
    """
    try:
        declared = codecs.lookup(tokenize.detect_encoding(BytesIO(data).readline)[0]).name
    except (SyntaxError, LookupError, ValueError):
        return "utf-8-sig"
    plain = ("iso8859-1", "iso8859-15", "cp1252")
    return declared if declared in plain else "utf-8-sig"


def _with_plain_lines(text: str) -> str:
    # A lone carriage return ends a line in Python and in editors.
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _without_outputs(read: Text, name: str) -> Text:
    text = without_outputs(read.text)
    if len(text) > LARGEST_NOTEBOOK:
        raise Unreadable(
            f"{name} is larger than {LARGEST_NOTEBOOK // 1024} kB even without its outputs: "
            "leave pictures and data out of it, save it and hand it in again."
        )
    remark = (
        f"{name} is larger than {LARGEST_NOTEBOOK // 1024} kB because of its outputs; your code "
        "was read without them. Clear the outputs before you hand in."
    )
    return Text(text, (*read.remarks, remark))


def without_outputs(text: str) -> str:
    """Return a notebook's JSON with every list of outputs emptied, without parsing it.

    Parsed, a large file can take a hundred times its size in memory.
    """
    kept: list[str] = []
    start = position = depth = tokens = 0
    while (token := _TOKEN.search(text, position)) and tokens < _MOST_TOKENS:
        tokens += 1
        position = token.end()
        if token[0] == '"':
            break
        if not depth:
            found = _OUTPUTS.match(text, token.start())
            if found:
                kept.append(text[start : found.end()])
                start = position = found.end()
                depth = 1
        elif token[0] in "[]":
            depth += 1 if token[0] == "[" else -1
            if not depth:
                start = token.start()
    return "".join([*kept, text[start:]])


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


def source(cell: dict[str, Any]) -> str:
    """Return the text of a cell; the format allows one text or a list of lines."""
    found = cell.get("source", cell.get("input", ""))
    lines = found if isinstance(found, list) else [found]
    return _with_plain_lines("".join(line for line in lines if isinstance(line, str)))


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
