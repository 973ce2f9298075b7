"""One student's code for one exercise, read from what was handed in.

Reading happens in the trusted process, so it only ever looks at text: sizes are
capped, JSON is checked, Python is parsed and never run. Whatever is wrong with a
file costs its owner only, and becomes a sentence (`rejected`) instead of an error.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.exercise import Exercise
from autograder.verdict import Finding, Outcome

LARGEST_NOTEBOOK = 10 * 1024 * 1024
LARGEST_SOURCE = 1024 * 1024
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
KIT_CALLS = ("check", "open_exercise")


class Unreadable(Exception):
    """A file cannot be read as a submission; the text says why, and what to do."""


@dataclass(frozen=True)
class Submission:
    """What a student handed in: the cells of code in their order, and where they come from.

    `rejected` is set, and `cells` empty, when there is nothing that could be run.
    """

    student: str
    exercise: str
    cells: tuple[str, ...]
    path: Path
    remarks: tuple[str, ...] = ()
    rejected: Finding | None = None

    @property
    def code_hash(self) -> str:
        """A hash of what is run: equal code is graded once."""
        text = "\0".join((self.exercise, *self.cells))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_submission(path: Path, exercise: Exercise, student: str) -> Submission:
    """Read `path`: a notebook, a `.py`, or a folder that holds one or both.

    Where both hold work, the notebook counts, and a remark says so.
    """
    try:
        chosen, cells, remarks = _read(path, exercise)
    except Unreadable as reason:
        finding = Finding(Outcome.REJECTED, str(reason))
        return Submission(student, exercise.name, (), path, (), finding)
    except OSError as error:
        finding = Finding(Outcome.REJECTED, f"{path.name} cannot be opened: {error.strerror}.")
        return Submission(student, exercise.name, (), path, (), finding)
    return Submission(student, exercise.name, cells, chosen, remarks)


def _read(path: Path, exercise: Exercise) -> tuple[Path, tuple[str, ...], tuple[str, ...]]:
    if path.is_symlink():
        raise Unreadable(f"{path.name} is a link: hand in the file itself.")
    if not path.is_dir():
        return path, read_cells(path), ()
    remarks: list[str] = []
    readable: list[tuple[Path, tuple[str, ...]]] = []
    reasons: list[str] = []
    for file in _candidates(path, exercise):
        try:
            readable.append((file, read_cells(file)))
        except Unreadable as reason:
            reasons.append(str(reason))
    worked = [(file, cells) for file, cells in readable if written(cells, exercise)]
    if not readable:
        raise Unreadable(reasons[0] if reasons else _nothing(path, exercise))
    chosen, cells = (worked or readable)[0]
    if reasons:
        remarks += [f"{reason} {chosen.name} was read instead." for reason in reasons]
    if len(worked) > 1:
        others = ", ".join(file.name for file, _ in worked[1:])
        remarks.append(f"{chosen.name} counts; there is work in {others} too, which was not read.")
    if chosen.stem != exercise.name:
        remarks.append(f"{chosen.name} was read; {exercise.name}{chosen.suffix} is not there.")
    return chosen, cells, tuple(remarks)


def _candidates(folder: Path, exercise: Exercise) -> list[Path]:
    """Notebooks first, and those with the exercise's own name first of all."""
    files = [file for suffix in (".ipynb", ".py") for file in sorted(folder.glob(f"*{suffix}"))]
    files = [file for file in files if not file.name.startswith(".")]
    return sorted(files, key=lambda file: file.stem != exercise.name)


def _nothing(folder: Path, exercise: Exercise) -> str:
    return (
        f"There is no notebook and no .py file in {folder.name}: "
        f"hand in {exercise.name}.ipynb or {exercise.name}.py."
    )


def read_cells(file: Path) -> tuple[str, ...]:
    """Return the code cells of a notebook or a percent-format `.py`; raise `Unreadable`."""
    # A link may point at a file that the grader can read and the student may not.
    if file.is_symlink() or (file.exists() and not file.is_file()):
        raise Unreadable(f"{file.name} is not a plain file: hand in the file itself.")
    limit = LARGEST_NOTEBOOK if file.suffix == ".ipynb" else LARGEST_SOURCE
    if file.stat().st_size > limit:
        raise Unreadable(f"{file.name} is larger than {limit // 1024} kB.")
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(
            f"{file.name} is not UTF-8 text (byte {error.start}): save it as UTF-8."
        ) from None
    cells = notebook_cells(text, file.name) if file.suffix == ".ipynb" else script_cells(text)
    runnable = tuple(cell for cell in map(without_kit_calls, cells) if cell.strip())
    if sum(len(cell) for cell in runnable) > LARGEST_SOURCE:
        raise Unreadable(f"{file.name} holds more than {LARGEST_SOURCE // 1024} kB of code.")
    return runnable


def notebook_cells(text: str, name: str) -> tuple[str, ...]:
    """Return the sources of a notebook's code cells, nbformat 3 or 4; raise `Unreadable`."""
    try:
        notebook = json.loads(text)
    except UNREADABLE as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise Unreadable(
            f"{name} is not a notebook: its text is not valid JSON{where}. "
            "Open it in JupyterLab, save it there, and hand it in again."
        ) from None
    facts = notebook if isinstance(notebook, dict) else {}
    sheets = facts.get("worksheets")
    cells = facts.get("cells")
    if isinstance(sheets, list):
        cells = [cell for sheet in sheets for cell in _list(sheet, "cells")]
    if not isinstance(cells, list):
        raise Unreadable(f"{name} is not a notebook: it has no list of cells.")
    return tuple(_source(cell) for cell in cells if _is_code(cell))


def _list(facts: Any, key: str) -> list[Any]:
    value = facts.get(key) if isinstance(facts, dict) else None
    return value if isinstance(value, list) else []


def _is_code(cell: Any) -> bool:
    return isinstance(cell, dict) and cell.get("cell_type") == "code"


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", cell.get("input", ""))
    lines = source if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str)).replace("\r\n", "\n")


def script_cells(text: str) -> tuple[str, ...]:
    """Return a `.py` as one cell, or, when it does not parse, cut at its `# %%` lines.

    So a syntax error costs the cell it stands in. Lines keep their numbers.
    """
    text = text.replace("\r\n", "\n")
    if parsed(text) is not None:
        return (text,)
    starts = [match.start() for match in re.finditer(r"^# %%", text, re.MULTILINE)]
    bounds = [0, *(start for start in starts if start), len(text)]
    pieces = zip(bounds, bounds[1:])
    return tuple("\n" * text.count("\n", 0, start) + text[start:end] for start, end in pieces)


def parsed(source: str) -> ast.Module | None:
    """Return the syntax tree, or None when the source is not Python."""
    try:
        return ast.parse(source)
    except UNREADABLE:
        return None


def without_kit_calls(cell: str) -> str:
    """Return a cell without IPython's own lines and without the kit's `check(...)` calls.

    A check is the learner's; while grading it has nothing to say. Lines keep their numbers.
    """
    tree = parsed(cell)
    if tree is None:
        cell = re.sub(r"^(\s*)([%!?].*)$", r"\1pass  # \2", cell, flags=re.MULTILINE)
        tree = parsed(cell)
    if tree is None:
        return cell
    lines = cell.split("\n")
    for statement in tree.body:
        if _is_kit_call(statement):
            for number in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1):
                lines[number - 1] = ""
    return "\n".join(lines)


def _is_kit_call(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.ImportFrom):
        return (statement.module or "").split(".")[0] == "autograder"
    if isinstance(statement, ast.Import):
        return any(name.name.split(".")[0] == "autograder" for name in statement.names)
    value = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
    called = value.func if isinstance(value, ast.Call) else None
    return isinstance(called, ast.Name) and called.id in KIT_CALLS


def written(cells: Iterable[str], exercise: Exercise) -> frozenset[str]:
    """Return the steps whose function or class is there and is more than a stub."""
    names = {step.name for step in exercise.steps}
    found = set()
    for cell in cells:
        tree = parsed(cell)
        body = tree.body if tree else []
        definitions = [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        found |= {node.name for node in definitions if node.name in names and not _is_stub(node)}
        if tree is None:
            found |= {name for name in names if re.search(rf"^(def|class) {name}\b", cell, re.M)}
    return frozenset(found)


def _is_stub(node: ast.FunctionDef | ast.ClassDef) -> bool:
    if isinstance(node, ast.ClassDef):
        methods = [item for item in node.body if isinstance(item, ast.FunctionDef)]
        return all(_is_stub(method) for method in methods)
    body = [item for item in node.body if not _is_docstring(item)]
    return all(isinstance(item, ast.Pass) or _raises_not_implemented(item) for item in body)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _raises_not_implemented(node: ast.stmt) -> bool:
    raised = node.exc if isinstance(node, ast.Raise) else None
    name = raised.func if isinstance(raised, ast.Call) else raised
    return isinstance(name, ast.Name) and name.id == "NotImplementedError"
