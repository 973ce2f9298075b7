"""Changes of numbers: axes, sizes, constants, switches."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograder.verification.mutants.change import Change
from autograder.verification.mutants.subject import Subject
from autograder.verification.mutants.syntax import (
    TreePlace,
    expression,
    literal,
    node_at,
    number_in,
    places,
)

AXES = (-1, -2, -3, 0, 1, 2, 3)
AXIS_NAMES = ("axis", "dim")
# Methods whose whole numbers are axes.
AXIS_METHODS = {"swapaxes", "transpose", "permute", "max", "sum", "mean", "softmax", "unbind"}
FIXED = (4, 8, 64)
LARGE, SMALL = 1e3, 1.0
FLOORS = (-1e8, -1e6, -1e5, -1e4, -1e3, -100.0, -10.0, -1.0, float("-inf"))


def number_changes(subject: Subject, place: TreePlace, node: ast.expr) -> Iterator[Change]:
    """Give the changes of a node that is a number or a switch, or was seen to be one."""
    value = number_in(node)
    if value is not None:
        yield from _written(subject, place, value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield Change("switch", place, ast.Constant(not node.value))
    elif subject.holds(place, "int"):
        yield from _whole(subject, place, node)
    elif subject.holds(place, "float"):
        for text in ("2 * X", "X ** 2", "1.01 * X"):
            yield Change("constant", place, expression(text, X=node))
    elif subject.holds(place, "bool") and not isinstance(node, ast.Compare):
        for text in ("True", "False", "not X"):
            yield Change("switch", place, expression(text, X=node))


def _written(subject: Subject, place: TreePlace, value: int | float) -> Iterator[Change]:
    kind, others = _others(subject, place, value)
    for other in dict.fromkeys(others):
        if other != value:
            yield Change(kind, place, literal(other))


def _others(
    subject: Subject, place: TreePlace, value: int | float
) -> tuple[str, tuple[int | float, ...]]:
    """Return what a written number is for, and what else could stand there."""
    parent = node_at(subject.tree, place[:-1])
    if isinstance(parent, ast.Tuple):
        parent = node_at(subject.tree, place[:-2])
    if type(value) is int and _is_axis(parent):
        return "axis", AXES
    if type(value) is int and isinstance(parent, ast.Subscript):
        return "size of another axis", AXES[:-1]
    if type(value) is int:
        return "constant", (0, 1, value + 1, value - 1, 2 * value, -value)
    near = (2 * value, 0.5 * value, value + 1, 0.0, -value, 1.01 * value)
    if abs(value) > LARGE:
        return "mask value", (*near, *FLOORS)
    if abs(value) < SMALL:
        return "constant", (*near, value**2, abs(value) ** 0.5, 10 * value, 0.1 * value)
    return "constant", near


def _is_axis(parent: ast.AST) -> bool:
    if isinstance(parent, ast.keyword):
        return parent.arg in AXIS_NAMES
    called = parent.func if isinstance(parent, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.attr in AXIS_METHODS


def _whole(subject: Subject, place: TreePlace, node: ast.expr) -> Iterator[Change]:
    for size in FIXED:
        yield Change("fixed size", place, ast.Constant(size))
    for text in ("X + 1", "X - 1"):
        yield Change("off by one", place, expression(text, X=node))
    for other in _sizes(subject, place):
        if ast.unparse(node) != other:
            yield Change("another size", place, expression(other))


def _sizes(subject: Subject, place: TreePlace) -> list[str]:
    """Return the names that hold a whole number somewhere in the function around a place."""
    around = next(
        place[:length]
        for length in range(len(place), -1, -1)
        if isinstance(node_at(subject.tree, place[:length]), ast.FunctionDef)
    )
    found = subject.names("int", around)
    for _, node in places(node_at(subject.tree, around)):
        if isinstance(node, ast.arg) and node.annotation and ast.unparse(node.annotation) == "int":
            found.append(node.arg)
        if isinstance(node, ast.Assign) and ast.unparse(node.value).endswith(".shape"):
            names = ast.walk(node.targets[0])
            found += [name.id for name in names if isinstance(name, ast.Name)]
    return list(dict.fromkeys(found))
