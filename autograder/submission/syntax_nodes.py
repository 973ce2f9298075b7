"""The nodes of a syntax tree, in the order of `ast.walk`, without its detours.

The texts of a class are read from end to end, and most of a tree are leaves: Python's own walk
asks every node for its fields by their names.
"""

from __future__ import annotations

import ast

# Most of what a node holds is a place in the text, a name or nothing.
_PLAIN = frozenset((int, str, type(None)))


def nodes_in(node: ast.AST, most: int | None = None) -> list[ast.AST]:
    """Return a node and all within it, those further out first; of a large tree the first `most`.

    Without recursion: a tree can be deeper than Python's own stack.
    """
    found = [node]
    for each in found:  # it grows meanwhile
        if most is not None and len(found) >= most:
            return found[:most]
        for value in vars(each).values():  # a parser sets the fields in their order
            kind = type(value)
            if kind is list:
                found += [item for item in value if isinstance(item, ast.AST)]
            elif kind not in _PLAIN and isinstance(value, ast.AST):
                found.append(value)
    return found


def children_of(node: ast.AST) -> list[ast.AST]:
    """Return the nodes directly within one, in order."""
    found: list[ast.AST] = []
    for value in vars(node).values():
        if isinstance(value, ast.AST):
            found.append(value)
        elif type(value) is list:
            found += [item for item in value if isinstance(item, ast.AST)]
    return found
