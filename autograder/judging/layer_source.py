"""What stands in the source of a learner's layer: the names that a call is unpacked as, and more.

It is read where Python keeps it, as for a traceback: from the file or from the notebook's cell.
What is no source any more tells nothing.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator, Sequence
from typing import Any

# Parts of a name that do not say which of several results it holds.
_FILLING = {"w", "self", "to", "linear", "lin", "proj", "projection", "weights", "weight", "layer"}


def unpacked_names(file: str, line: int, step: str) -> tuple[str, ...]:
    """Return the names that the results of a call in `line` get, () if they are not unpacked."""
    for node in _nodes(file):
        if not isinstance(node, ast.Assign) or not _calls(node.value, step):
            continue
        target = node.targets[0]
        if node.lineno <= line <= (node.end_lineno or 0) and isinstance(target, ast.Tuple):
            return tuple(map(ast.unparse, target.elts))
    return ()


def named_order(names: Sequence[str], results: Sequence[str]) -> tuple[int, ...]:
    """Return which of the `results` each of the `names` is named after, () where that is unclear.

    `q`, `query` and `W_q` all stand for `queries`.
    """
    own, known = [list(map(_initial, each)) for each in (names, results)]
    if len(set(known)) < len(known) or sorted(own) != sorted(known):
        return ()
    return tuple(map(known.index, own))


def calling_line(file: str, owner: str, step: str) -> int:
    """Return a line in which the class `owner` calls a step, 0 if there is none."""
    classes = (each for each in _nodes(file) if isinstance(each, ast.ClassDef))
    inside = (node for each in classes if each.name == owner for node in ast.walk(each))
    calls = (node for node in inside if isinstance(node, ast.Call) and _calls(node, step))
    return next((node.lineno for node in calls), 0)


def kept_names(function: Any) -> tuple[str, ...]:
    """Return the names of the attributes that a method such as `__init__` sets on `self`."""
    stored = (node for node in _own_nodes(function) if isinstance(node, ast.Attribute))
    names = (
        node.attr
        for node in stored
        if isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )
    return tuple(dict.fromkeys(names))


def asserted_tuple(function: Any) -> int:
    """Return the line of a function that asserts a tuple, which is always true; 0 without one."""
    asserts = (node for node in _own_nodes(function) if isinstance(node, ast.Assert))
    found = (node.lineno for node in asserts if isinstance(node.test, ast.Tuple))
    return next(found, 0)


def _initial(name: str) -> str:
    """Return the letter that tells a name from its neighbors."""
    parts = re.split(r"[._]", name.lower())
    telling = [part for part in parts if part and part not in _FILLING] or [name.lower()]
    return re.sub(r"^w(?=.)", "", telling[0])[:1]


def _calls(node: ast.AST, step: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == step


def _own_nodes(function: Any) -> Iterator[ast.AST]:
    """Give the nodes of the function with this name in this line."""
    code = getattr(function, "__code__", None)
    if code is None:
        return
    defined = (node for node in _nodes(code.co_filename) if isinstance(node, ast.FunctionDef))
    for node in defined:
        here = node.lineno <= code.co_firstlineno <= (node.end_lineno or 0)
        if here and node.name == code.co_name:
            yield from ast.walk(node)


def _nodes(file: str) -> Iterator[ast.AST]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):  # it was changed since it ran
        return
    yield from ast.walk(tree)
