"""The code in one file: its cells in order, and what there is to say about them."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.model.exercise import Exercise
from autograder.model.sanitize import file_name
from autograder.submission.cells import (
    Asked,
    asked_in,
    cells_in,
    notebook_facts,
    parsed,
    pieces,
    source_as_it_is,
)
from autograder.submission.definitions import lines_of
from autograder.submission.file_text import (
    LARGEST_SOURCE,
    Text,
    Unreadable,
    is_notebook,
    is_plain,
    is_submission,
    plain_text,
    read_text,
    remarks_on_characters,
)
from autograder.submission.kit_calls import without_kit_calls
from autograder.submission.magics import without_magics
from autograder.submission.missing_step import not_run, without_copied_stubs
from autograder.submission.newer_python import Version, needed_python, version_in

# More is no longer quick to parse: a second at this size, half a minute at the largest source.
MOST_LINES, MOST_MARKS = 20_000, 100_000
_PACKED = (".zip", ".7z", ".rar", ".tar", ".gz", ".tgz", ".bz2", ".xz")
_EXPORTED = (".html", ".htm", ".pdf")
_PROSE = {"markdown": "a Markdown cell", "raw": "a raw cell"}


@dataclass(frozen=True)
class Code:
    """What one file holds: the code to run, remarks, and the steps that are not run.

    `digest` is the SHA-256 of the file's bytes. `needs` is the Python that a definition in it
    needs, where that is newer than this one. `asked` is None for what is no notebook.
    """

    file: Path
    cells: tuple[str, ...]
    remarks: tuple[str, ...]
    not_run: tuple[tuple[str, str], ...]
    digest: str = ""
    needs: Version | None = None
    asked: Asked | None = None


@dataclass(frozen=True)
class Texts:
    """The code cells of a file, and the prose between them, each with the kind of its cell.

    `python` is the version that a notebook says it was saved with.
    """

    code: tuple[str, ...]
    prose: tuple[tuple[str, str], ...] = ()
    remarks: tuple[str, ...] = ()
    digest: str = ""
    python: Version | None = None
    asked: Asked | None = None


def read_code(file: Path, exercise: Exercise, root: Path | None = None) -> Code:
    """Return what a notebook or a `.py` holds; raise `Unreadable` or OSError.

    No link below `root` is followed, see `opened`.
    """
    name = file_name(file)
    if not is_submission(file) and file.is_file():
        raise Unreadable(
            not_the_file(file, exercise)
            or f"{name} is neither a notebook nor a .py file: "
            f"hand in {exercise.name}.ipynb or {exercise.name}.py."
        )
    notebook = is_notebook(file)
    texts = _texts(read_text(file, root), file)
    _refuse_too_much(name, "\n".join(texts.code))
    plain = [_python(text) for text in texts.code]
    magics = zip(texts.code, plain)
    other = [(f"a cell that begins with `{magic}`", text) for text, (_, magic) in magics if magic]
    unread = [*texts.prose, *other]
    kept = without_kit_calls(pieces(text for text, _ in plain), notebook=notebook)
    code, remarks = without_copied_stubs(kept, exercise)
    code = tuple(cell for cell in code if cell.strip() not in ("", "True", "pass"))
    remarks = (*texts.remarks, *remarks)
    needs = needed_python(code, {step.name for step in exercise.steps}, texts.python)
    unrun = not_run(unread, exercise)
    return Code(file, code, remarks, unrun, texts.digest, needs, texts.asked)


def not_the_file(file: Path, exercise: Exercise) -> str:
    """Say what a file is in place of a notebook or a `.py`, where its name tells; else ""."""
    name, kind = file_name(file), file.suffix.lower()
    if kind in _PACKED:
        return f"{name} is packed: unpack it, and hand in {exercise.name}.ipynb itself."
    if kind in _EXPORTED:
        return (
            f"{name} shows a notebook, but is none: download the notebook itself from JupyterLab, "
            f"and hand in {exercise.name}.ipynb."
        )
    return ""


def _texts(read: Text, file: Path) -> Texts:
    name = file_name(file)
    if not is_notebook(file):
        text = without_marimo(read.text)
        remark = f"{name} is a marimo notebook: what its cells hold was read as plain Python."
        remarks = read.remarks if text == read.text else (*read.remarks, remark)
        return Texts((text,), (), remarks, read.digest)
    facts = notebook_facts(read.text, name)
    cells = cells_in(facts, name)
    kinds, texts = [cell.get("cell_type") for cell in cells], list(map(source_as_it_is, cells))
    remarks = ()
    plain = texts
    if not is_plain("".join(texts)):
        plain, remarks = list(map(plain_text, texts)), _remarks(texts, name)
    prose = ((_PROSE.get(str(kind)), text) for kind, text in zip(kinds, plain))
    return Texts(
        tuple(text for kind, text in zip(kinds, plain) if kind == "code"),
        tuple((place, text) for place, text in prose if place),
        (*read.remarks, *remarks),
        read.digest,
        version_in(facts),
        asked_in(facts, cells),
    )


def _remarks(texts: Iterable[str], name: str) -> tuple[str, ...]:
    found = (remark for text in texts for remark in remarks_on_characters(text, name))
    return tuple(dict.fromkeys(found))


def _refuse_too_much(name: str, code: str) -> None:
    """Raise `Unreadable` for what would take the grader long to parse: it is data, not code."""
    for count, most, what in (
        (-(-len(code) // 1024), LARGEST_SOURCE // 1024, "kB"),
        (code.count("\n"), MOST_LINES, "lines"),
        (_marks(code), MOST_MARKS, "brackets, commas and other signs"),
    ):
        if count > most:
            raise Unreadable(
                f"{name} holds more than {most} {what} of code: leave data out of it and hand "
                "it in again."
            )


def _marks(code: str) -> int:
    """Return how many signs there are; of a text in which there cannot be too many, its length."""
    return len(code) if len(code) <= MOST_MARKS else len(re.findall(r"[^\w\s]", code))


def _python(text: str) -> tuple[str, str]:
    """Return a cell as plain Python, and the magic that keeps it from being run, if any."""
    if parsed(text) is not None:
        return text, ""
    plain = without_magics(text)
    return plain.text, plain.magic


def without_marimo(text: str) -> str:
    """Return a file of the notebook program marimo as plain Python; any other text as it is.

    marimo keeps functions with a decorator, and cells as functions whose bodies are the code. The
    lines keep their numbers.
    """
    tree = parsed(text) if "marimo" in text else None
    apps = {name for node in tree.body for name in _apps(node)} if tree else set()
    if tree is None or not apps:
        return text
    lines = text.split("\n")
    for node in tree.body:
        match node:
            case ast.Import(names=[ast.alias(name="marimo")]):
                _blank(lines, *lines_of(node))
            case ast.Assign() if _apps(node):
                _blank(lines, *lines_of(node))
            case ast.With(items=[ast.withitem(context_expr=setup)]) if _part(setup, apps):
                _unwrap(lines, node.lineno, node.body)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                for each in node.decorator_list:
                    part = _part(each, apps)
                    if part == "cell":
                        _unwrap(lines, lines_of(node)[0], node.body)
                    elif part:
                        _blank(lines, each.lineno, each.end_lineno or each.lineno)
    return "\n".join(lines)


def _apps(node: ast.stmt) -> list[str]:
    """Return the names that a statement gives an app of marimo."""
    match node:
        case ast.Assign(
            targets=targets, value=ast.Call(func=ast.Attribute(value=ast.Name(), attr="App"))
        ):
            return [each.id for each in targets if isinstance(each, ast.Name)]
    return []


def _part(node: ast.expr, apps: Container[str]) -> str:
    """Return what of an app an expression names: "cell" of `app.cell` and `app.cell(...)`."""
    match node.func if isinstance(node, ast.Call) else node:
        case ast.Attribute(value=ast.Name(id=app), attr=part) if app in apps:
            return part
    return ""


def _unwrap(lines: list[str], start: int, body: Sequence[ast.stmt]) -> None:
    """Put the body of a statement that begins in line `start` at the margin, in its place."""
    first, last = lines_of(body[0])[0], lines_of(body[-1])[1]
    if first == start:  # all in one line
        return
    _blank(lines, start, first - 1)
    margin = " " * body[0].col_offset
    for number in range(first - 1, last):
        lines[number] = lines[number].removeprefix(margin)
    for node in body:
        if isinstance(node, ast.Return):
            _blank(lines, *lines_of(node))


def _blank(lines: list[str], first: int, last: int) -> None:
    lines[first - 1 : last] = [""] * (last - first + 1)
