"""Which parts of a cell count when it cannot be run to its end.

A plot without a display, a missing file or a training loop that takes minutes is the
student's own business: it is not part of a step and must not cost one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Iterator, Sequence

from autograder.submission.call_root import CallRoots
from autograder.submission.cells import parsed
from autograder.submission.definitions import DefinitionNode, lines_of

_MOST_STATEMENTS = 300
_REST_OF_LINE = re.compile(rb"[ \t\f]*(?:#[^\n]*)?(?=\n|\Z)")


def statements(cell: str) -> tuple[str, ...]:
    """Return one cell for each statement of a cell, so that an error costs only that statement.

    Lines keep their numbers. A cell that is not Python, or is too long, stays whole.
    """
    tree = parsed(cell)
    if tree is None or not 1 < len(tree.body) <= _MOST_STATEMENTS:
        return (cell,)
    text = cell.encode()
    lines = [0, *(end.end() for end in re.finditer(b"\n", text))]
    return tuple(_statement(text, lines, node) for node in tree.body)


def _statement(text: bytes, lines: Sequence[int], node: ast.stmt) -> str:
    """Return one statement at its line, cut out of the text: unparsing could nest too deeply.

    `lines` are the offsets in bytes at which the lines of `text` begin.
    """
    first, last = lines_of(node)
    # A decorator begins its line; another statement may follow a semicolon.
    start = lines[first - 1] + (node.col_offset if first == node.lineno else 0)
    end = lines[last - 1] + (node.end_col_offset or 0)
    comment = _REST_OF_LINE.match(text, end)
    return "\n" * (first - 1) + text[start : comment.end() if comment else end].decode()


def definitions_of(cell: str) -> str:
    """Return a cell with nothing but its definitions, imports and plain constants.

    Lines keep their numbers.
    """
    tree = parsed(cell)
    if tree is None:
        return ""
    modules = {name for node in tree.body for name in _bound(node)}
    lines = cell.split("\n")
    kept = [""] * len(lines)
    for node in tree.body:
        if _defines(node, modules):
            first, last = lines_of(node)
            kept[first - 1 : last] = lines[first - 1 : last]
    return "\n".join(kept)


def _bound(node: ast.stmt) -> list[str]:
    """Return the names that an import binds."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return []
    return [(name.asname or name.name).split(".")[0] for name in node.names]


def _defines(node: ast.stmt, modules: set[str]) -> bool:
    if isinstance(node, DefinitionNode | ast.Import | ast.ImportFrom):
        return True
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    # Only calls of a library: a call such as `weights = train()` may be what takes the time.
    calls = [part for part in ast.walk(node.value) if isinstance(part, ast.Call)]
    loops = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    roots = CallRoots()
    return all(roots.of(call) in modules for call in calls) and not any(
        isinstance(part, loops) for part in ast.walk(node.value)
    )


def given_imports(cells: Iterable[str], before: Iterable[str], solution: str) -> tuple[str, ...]:
    """Return the imports of a solution that `cells` use and the cells `before` lack."""
    used = {name for name, load in _names(cells) if load}
    bound = {name for name, load in _names(before) if not load}
    return imports_of(used - bound, solution)


def imports_of(names: Container[str], text: str) -> tuple[str, ...]:
    """Return the lines of import in a text, as far as they bind these names."""
    offered = parsed(text)
    found = []
    for node in offered.body if offered else ():
        if isinstance(node, ast.Import | ast.ImportFrom):
            kept = [
                each for each in node.names if (each.asname or each.name).split(".")[0] in names
            ]
            if kept:
                found.append(ast.unparse(_importing(node, kept)))
    return tuple(found)


def _importing(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> ast.stmt:
    """Return the same import of fewer names."""
    if isinstance(node, ast.Import):
        return ast.Import(names)
    return ast.ImportFrom(node.module, names, node.level)


def bound_names(cell: str) -> set[str]:
    """Return the names that a cell binds anywhere in it."""
    return {name for name, load in _names([cell]) if not load}


def _names(cells: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield every name that is used (True) or bound (False)."""
    trees = (parsed(cell.lstrip("\n")) for cell in cells)  # a piece begins with blank lines
    for node in (node for tree in trees if tree for node in ast.walk(tree)):
        match node:
            case ast.Name(id=name, ctx=context):
                yield name, isinstance(context, ast.Load)
            case ast.Import() | ast.ImportFrom():
                yield from ((name, False) for name in _bound(node))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, False
