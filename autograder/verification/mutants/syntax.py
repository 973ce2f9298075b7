"""Places in a syntax tree, and what is put there instead.

A place is the way down from the root: the name of a field, and a number where the field is a list.
Unlike a line number, it stays when prose above the code changes.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Any

TreePlace = tuple[tuple[str, "int | None"], ...]

# What has no value of its own while the code runs.
_LEFT_OUT = {"annotation", "returns", "decorator_list", "type_comment", "ctx", "op", "ops"}
_NO_VALUE = {"targets", "target", "defaults", "kw_defaults", "bases"}


def places(node: ast.AST, place: TreePlace = ()) -> Iterator[tuple[TreePlace, ast.AST]]:
    """Give every node below `node` with its place, in the order of the source."""
    yield place, node
    if isinstance(node, ast.JoinedStr):
        return
    for field, value in ast.iter_fields(node):
        if field in _LEFT_OUT:
            continue
        if isinstance(value, ast.AST):
            yield from places(value, (*place, (field, None)))
        elif isinstance(value, list):
            for number, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from places(item, (*place, (field, number)))


def is_read(place: TreePlace, node: ast.AST) -> bool:
    """Say whether a node is an expression whose value is taken, not assigned to."""
    return (
        isinstance(node, ast.expr)
        and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        and not any(field in _NO_VALUE for field, _ in place)
    )


def node_at(root: ast.AST, place: TreePlace) -> Any:
    """Return the node at a place."""
    node: Any = root
    for field, number in place:
        node = getattr(node, field) if number is None else getattr(node, field)[number]
    return node


def siblings(root: ast.AST, place: TreePlace) -> list[Any]:
    """Return the list that the node at a place stands in, or nothing but the node."""
    field, number = place[-1]
    parent = node_at(root, place[:-1])
    return [getattr(parent, field)] if number is None else getattr(parent, field)


def with_node(root: ast.AST, place: TreePlace, new: ast.AST | list[ast.stmt]) -> ast.AST:
    """Return a tree with another node at `place`, or with these statements.

    `root` stays as it is; what does not lie on the way to the place is shared with it.
    """
    if not place:
        assert isinstance(new, ast.AST)
        return new
    again: ast.AST = copy.copy(root)
    field, number = place[0]
    below = getattr(root, field)
    if number is None:
        setattr(again, field, with_node(below, place[1:], new))
        return again
    replaced = [with_node(below[number], place[1:], new)] if len(place) > 1 else new
    items = [
        *below[:number],
        *(replaced if isinstance(replaced, list) else [replaced]),
        *below[number + 1 :],
    ]
    setattr(again, field, items if items or field != "body" else [ast.Pass()])
    return again


class _Filled(ast.NodeTransformer):
    def __init__(self, parts: dict[str, ast.AST]) -> None:
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return copy.deepcopy(self.parts.get(node.id, node))


def expression(text: str, **parts: ast.AST) -> ast.expr:
    """Return the expression that `text` writes, with nodes in place of the names in `parts`."""
    filled: ast.expr = _Filled(dict(parts)).visit(ast.parse(text, mode="eval").body)
    return filled


def statements(text: str, **parts: ast.AST) -> list[ast.stmt]:
    """Return the statements that `text` writes, with nodes in place of the names in `parts`."""
    return [_Filled(dict(parts)).visit(each) for each in ast.parse(text).body]


def changed_call(call: ast.Call, **changes: Any) -> ast.Call:
    """Return a copy of a call with some of its fields replaced."""
    again = copy.deepcopy(call)
    for field, value in changes.items():
        setattr(again, field, copy.deepcopy(value))
    return again


def number_in(node: ast.AST) -> int | float | None:
    """Return the number that a node writes, a negative one too, or None."""
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    inner = node.operand if isinstance(node, ast.UnaryOp) and negative else node
    value = inner.value if isinstance(inner, ast.Constant) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return -value if negative else value


def literal(value: int | float) -> ast.expr:
    """Return the expression that writes a number."""
    finite = value not in (float("inf"), float("-inf"))
    return expression(repr(value) if finite else f"float('{value}')")
