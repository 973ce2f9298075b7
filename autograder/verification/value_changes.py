"""Changes of values: arrays, numbers, operators and their operands."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograder.verification.mutated_step import (
    Change,
    Subject,
    TreePlace,
    expression,
    literal,
    node_at,
    number_in,
    places,
)

# Changes of an array, wherever one is used or returned; and of a linear layer.

CASTS = {
    "numpy": ("X.astype(np.float32)", "X.astype(np.float16)", "X.astype(int)"),
    "torch": ("X.float()", "X.half()", "X.double()", "X.bfloat16()"),
}
CUTS = ("X.data", "torch.tensor(X.tolist())", "torch.from_numpy(X.detach().numpy())")
# What else may be returned, by the kind of change; LIB stands for the library.
RETURNED = (
    ("slightly off", "X * 1.001"),
    ("slightly off", "X + 1e-3"),
    ("result rounded", "LIB.round(X, decimals=3)"),
    ("result clipped", "X.clip(0)"),
    ("result clipped", "X.clip(-100, 100)"),
    ("result clipped", "X.clip(-3, 3)"),
    ("result without NaN", "LIB.nan_to_num(X)"),
    ("result squashed", "LIB.tanh(X)"),
    ("result turned over", "LIB.flip(X, (0,))"),
    ("result turned over", "LIB.flip(X, (1,))"),
    ("transposition", "X.swapaxes(-2, -1)"),
    ("result squeezed", "X.squeeze()"),
    ("result poisoned by NaN", "X + 0 * X.max()"),
)
LAYERS = (
    ("layer frozen", "X.requires_grad_(False)"),
    ("layer dtype", "X.double()"),
    ("layer dtype", "X.half()"),
    ("layer copied", "__import__('copy').deepcopy(X)"),
)


def array_changes(subject: Subject, place: TreePlace, node: ast.expr) -> Iterator[Change]:
    """Give the changes of a node that was seen to be an array or a layer."""
    parent = node_at(subject.tree, place[:-1])
    if isinstance(parent, ast.Call) and place[-1] == ("func", None):
        return
    if subject.holds(place, subject.array):
        yield from _array(subject, place, node, isinstance(parent, ast.Attribute))
        if isinstance(parent, ast.Return):
            yield from _returned(subject, place, node)
    if subject.holds(place, "layer"):
        yield from _layer(subject, place, node)


def _array(subject: Subject, place: TreePlace, node: ast.expr, receives: bool) -> Iterator[Change]:
    def made(kind: str, text: str) -> Change:
        return Change(kind, place, expression(text, X=node))

    if not receives:  # before a method, the cast shows in the method's own result as well
        for text in CASTS[subject.library]:
            yield made("dtype", text)
    if subject.library == "torch":
        yield made("gradient cut", "X.detach()")
    if not isinstance(node, ast.Name):
        return
    yield made("sign", "-X")
    yield made("first of the batch only", "X[:1]")
    yield made("slightly off", "X * 1.001")
    if subject.library == "torch":
        for text in CUTS:
            yield made("gradient cut", text)
        yield made("dropout", "torch.nn.functional.dropout(X, 0.1)")
        if subject.is_class:
            yield made("dropout", "torch.nn.functional.dropout(X, 0.1, self.training)")


def _returned(subject: Subject, place: TreePlace, node: ast.expr) -> Iterator[Change]:
    library = expression(subject.prefix)
    for kind, text in RETURNED:
        yield Change(kind, place, expression(text, X=node, LIB=library))
    for name in subject.names(subject.array, place[:-1]):
        yield Change("residual added", place, expression(f"X + {name}", X=node))
    if subject.library == "numpy":
        yield Change("result as a list", place, expression("X.tolist()", X=node))


def _layer(subject: Subject, place: TreePlace, node: ast.expr) -> Iterator[Change]:
    for kind, text in LAYERS:
        yield Change(kind, place, expression(text, X=node))
    if isinstance(node, ast.Attribute):
        for name in subject.attributes("layer"):
            if name != node.attr:
                yield Change("weights of another layer", place, expression(f"self.{name}"))


# Changes of numbers: axes, sizes, constants, switches.

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


# Changes of operators and comparisons, and of their operands.

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
