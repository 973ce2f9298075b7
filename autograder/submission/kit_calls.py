"""Cells without what serves only the learner's own run.

A check is for the learner: while grading, it has nothing to say, and the kit is not there.
The syntax tree says where such a call stands, so that the code next to it is kept. Only
that expression is replaced, by True, the value of a check that passes. Every line keeps its
number.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from autograder.submission.call_root import CallRoots
from autograder.submission.cells import parsed
from autograder.submission.definitions import DefinitionNode

KIT = "autograder"
_NAMES = frozenset({"check", "open_exercise", "get_ipython", "display"})
_SCOPES = DefinitionNode | ast.Lambda
_CELL_MAGIC = "run_cell_magic"
_MAIN_NAME = "__name__"
_IMPORTED = "imported from the kit"  # which is no name
_SHORT, _MOST_KEPT = 2_048, 256
_MOST_NAMES = 50  # that each cell is searched for, one after the other
_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Edit:
    """A stretch of a text, by lines (from 1) and columns in UTF-8, and what to put there."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


def _of_shared_cells(function: Callable[..., _Found]) -> Callable[..., _Found]:
    """Have `function` remember what it finds in a short cell: all hand-ins share the release's."""
    remembering = lru_cache(maxsize=_MOST_KEPT)(function)

    def found(cell: str, *facts: Any) -> _Found:
        return remembering(cell, *facts) if len(cell) <= _SHORT else function(cell, *facts)

    return found


def without_kit_calls(cells: Sequence[str], *, notebook: bool) -> tuple[str, ...]:
    """Return cells without imports and calls of the kit and of IPython at their top level.

    In a `notebook`, what stands under `if __name__ == "__main__":` is run, as Jupyter runs it.
    """
    names = _names(cells)
    if len(names) > _MOST_NAMES or sum(map(len, names)) > _SHORT:  # nobody needs that many
        return tuple(_without_calls(cell, names, notebook) for cell in cells)
    # Python reads some letters of other scripts as Latin ones.
    words = (*names, KIT, _MAIN_NAME)
    return tuple(
        _without_calls_of_shared(cell, names, notebook)
        if not cell.isascii() or any([word in cell for word in words])
        else cell  # nearly always, a look says that there is nothing to replace
        for cell in cells
    )


def _names(cells: Sequence[str]) -> frozenset[str]:
    """Return the names that mean the kit or IPython: not those that the student defines."""
    kit, own = set(_NAMES), set[str]()
    for cell in cells:
        for name, root in _bindings(cell):
            (kit if root == _IMPORTED or root in kit else own).add(name)
    return frozenset(kit - own)


@_of_shared_cells
def _bindings(cell: str) -> tuple[tuple[str, str], ...]:
    """Return the names that a cell binds at its top level, and what is known of their values.

    That is `_IMPORTED` for what comes from the kit, the name that a call begins with, or "".
    """
    found: list[tuple[str, str]] = []
    tree, roots = parsed(cell), CallRoots()
    for node in _top_level(tree) if tree else ():
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.append((node.name, ""))
            case ast.Import(names=names):
                found += [(a.asname or KIT, _IMPORTED) for a in names if _is_kit(a.name)]
            case ast.ImportFrom(module=module, names=names) if _is_kit(module or ""):
                found += [(a.asname or a.name, _IMPORTED) for a in names]
            case ast.ImportFrom(names=names) if (node.module or "").split(".")[0] != "IPython":
                found += [(a.asname or a.name, "") for a in names]
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                # `probe = open_exercise(...)` is the kit's too, by another name.
                found.append((name, roots.of(call)))
    return tuple(found)


def _without_calls(cell: str, names: frozenset[str], notebook: bool) -> str:
    tree = parsed(cell)
    return _edited(cell, _edits(tree, names, notebook)) if tree else cell


_without_calls_of_shared = _of_shared_cells(_without_calls)


def _is_kit(module: str) -> bool:
    return module.split(".")[0] == KIT


def _top_level(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that are run with the cell, but nothing inside functions and classes.

    Without recursion: a tree can be deeper than Python's own stack.
    """
    waiting = [tree]
    while waiting:
        for child in ast.iter_child_nodes(waiting.pop()):
            yield child
            if not isinstance(child, _SCOPES):
                waiting.append(child)


def _edits(tree: ast.Module, names: frozenset[str], notebook: bool) -> Iterator[Edit]:
    """Yield what to replace; nothing inside a replacement is replaced again."""
    waiting: list[ast.AST] = [tree]
    roots = CallRoots()
    while waiting:
        for child in ast.iter_child_nodes(waiting.pop()):
            match child:
                case ast.Import(names=found) if any(_is_kit(name.name) for name in found):
                    kept = [name for name in found if not _is_kit(name.name)]
                    yield _edit(child, ast.unparse(ast.Import(kept)) if kept else "pass")
                case ast.ImportFrom(module=module) if _is_kit(module or ""):
                    yield _edit(child, "pass")
                case ast.Call() if roots.of(child) in names and not _runs_a_cell(child):
                    yield _edit(child, "True")
                case ast.If(test=test) if notebook and _is_main(test):
                    yield _edit(test, "True")
                    waiting.append(ast.Module([*child.body, *child.orelse], []))
                case _ if not isinstance(child, _SCOPES):
                    waiting.append(child)


def _runs_a_cell(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == _CELL_MAGIC


def _is_main(test: ast.expr) -> bool:
    match test:
        case ast.Compare(
            left=ast.Name(id=str(name)),
            ops=[ast.Eq()],
            comparators=[ast.Constant(value="__main__")],
        ):
            return name == _MAIN_NAME
    return False


def _edit(node: ast.stmt | ast.expr, text: str) -> Edit:
    end_line = node.end_lineno or node.lineno
    if end_line > node.lineno:
        gap = "\n" * (end_line - node.lineno)
        text = f"(True{gap})" if isinstance(node, ast.expr) else f"{text}; (True{gap})"
    return Edit(node.lineno, node.col_offset, end_line, node.end_col_offset or 0, text)


def _edited(text: str, edits: Iterator[Edit]) -> str:
    data = text.encode()
    starts = [0, *(found.end() for found in re.finditer(b"\n", data))]
    kept: list[bytes] = []
    place = 0
    for edit in sorted(edits, key=lambda edit: (edit.line, edit.column)):
        kept += [data[place : starts[edit.line - 1] + edit.column], edit.text.encode()]
        place = starts[edit.end_line - 1] + edit.end_column
    return b"".join([*kept, data[place:]]).decode()
