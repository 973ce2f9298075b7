"""Changes of operators and comparisons, and of their operands."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograder.verification.mutants.change import Change
from autograder.verification.mutants.subject import Subject
from autograder.verification.mutants.syntax import TreePlace, expression, number_in

OTHERS: dict[type[ast.operator], tuple[str, ...]] = {
    ast.Add: ("-", "*"),
    ast.Sub: ("+", "*", "/"),
    ast.Mult: ("/", "+", "-"),
    ast.Div: ("*", "-", "//", "+"),
    ast.MatMult: ("*", "+"),
    ast.FloorDiv: ("*", "%", "-", "+"),
    ast.Mod: ("//", "*", "-"),
    ast.Pow: ("*", "/"),
}
IN_PLACE: dict[type[ast.operator], str] = {
    ast.Add: "__iadd__",
    ast.Sub: "__isub__",
    ast.Mult: "__imul__",
    ast.Div: "__itruediv__",
    ast.MatMult: "__imatmul__",
}
COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
NEAR_ZERO = ("1e-12", "1e-8", "1e-6", "1e-5", "1e-3")
TRANSPOSED = (
    "A.swapaxes(-2, -1) @ B",
    "A @ B.swapaxes(-2, -1)",
    "B.swapaxes(-2, -1) @ A.swapaxes(-2, -1)",
)


def operator_changes(subject: Subject, place: TreePlace, node: ast.expr) -> Iterator[Change]:
    """Give the changes of an operator, if the node is one."""
    if isinstance(node, ast.BinOp):
        yield from _binary(subject, place, node)
    if isinstance(node, ast.UnaryOp) and number_in(node) is None:
        yield Change("sign", place, node.operand)
    if isinstance(node, ast.Compare):
        for operator in COMPARISONS:
            if type(node.ops[0]) is not operator:
                new = ast.Compare(node.left, [operator()], node.comparators)
                yield Change("comparison", place, new)


def _binary(subject: Subject, place: TreePlace, node: ast.BinOp) -> Iterator[Change]:
    left, right = node.left, node.right
    places = ((*place, ("left", None)), (*place, ("right", None)))
    for symbol in OTHERS.get(type(node.op), ()):
        yield Change("operator", place, expression(f"A {symbol} B", A=left, B=right))
    yield Change("operand order", place, ast.BinOp(right, node.op, left))
    for side, operand in zip(places, (left, right)):
        if subject.same_kind(side, place):
            yield Change("operand dropped", place, operand)
        if number_in(operand) is None:
            yield Change("sign", side, ast.UnaryOp(ast.USub(), operand))
    if not subject.holds(place, subject.array):
        return
    if isinstance(node.op, ast.Div):
        for small in NEAR_ZERO:
            new = expression(f"A / (B + {small})", A=left, B=right)
            yield Change("epsilon in the denominator", place, new)
    if isinstance(node.op, ast.MatMult):
        for text in TRANSPOSED:
            yield Change("transposition", place, expression(text, A=left, B=right))
    if type(node.op) in IN_PLACE and subject.holds(places[0], subject.array):
        new = expression(f"A.{IN_PLACE[type(node.op)]}(B)", A=left, B=right)
        yield Change("in place", place, new)
