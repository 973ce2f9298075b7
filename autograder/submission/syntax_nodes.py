"""The nodes of a syntax tree, in the order of `ast.walk`, without its detours.

The texts of a class are read from end to end, and most of a tree are leaves: Python's own walk
asks every node for its fields by their names. The trees are a parser's own, which sets all fields.
"""

from __future__ import annotations

import ast
import re
import sys

# A field in Python's own grammar of its trees, such as `expr* args`, and what holds no nodes.
_FIELD = re.compile(r"(\w+)[*?]? (\w+)")
_PLAIN = ("identifier", "string", "int", "constant")


def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """Return the fields of a kind of node that may hold nodes, in their order."""
    plain = {name for what, name in _FIELD.findall(kind.__doc__ or "") if what in _PLAIN}
    return tuple(name for name in kind._fields if name not in plain)


_KINDS = [each for each in vars(ast).values() if isinstance(each, type)]
FIELDS = {kind: _fields(kind) for kind in _KINDS if issubclass(kind, ast.AST)}


def nodes_in(node: ast.AST, most: int | None = None) -> list[ast.AST]:
    """Return a node and all within it, those further out first; of a large tree the first `most`.

    Without recursion: a tree can be deeper than Python's own stack.
    """
    found = [node]
    enough = sys.maxsize if most is None else most
    for each in found:  # it grows meanwhile
        if len(found) >= enough:
            return found[:enough]
        for field in FIELDS[each.__class__]:
            value = getattr(each, field)
            if value.__class__ is list:
                found += filter(None, value)  # a dictionary's keys may be None
            elif value is not None:
                found.append(value)
    return found


def children_of(node: ast.AST) -> list[ast.AST]:
    """Return the nodes directly within one, in order."""
    found: list[ast.AST] = []
    for field in FIELDS[node.__class__]:
        value = getattr(node, field)
        if value.__class__ is list:
            found += filter(None, value)
        elif value is not None:
            found.append(value)
    return found
