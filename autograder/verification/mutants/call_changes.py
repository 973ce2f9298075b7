"""Changes of calls: dropped, doubled, another one, other arguments."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from autograder.verification.mutants.change import Change
from autograder.verification.mutants.subject import Subject
from autograder.verification.mutants.syntax import TreePlace, changed_call, expression

OTHERS = {
    "max": ("min", "mean", "sum"),
    "sum": ("max", "mean", "prod"),
    "exp": ("exp2", "expm1", "square"),
    "sqrt": ("log", "cbrt", "square"),
    "tril": ("triu",),
    "ones": ("zeros",),
    "softmax": ("log_softmax", "softmin"),
    "standard_normal": ("random", "standard_exponential"),
    "reshape": ("view",),
    "view": ("reshape",),
    "contiguous": ("clone",),
}
REDUCES = ("max", "sum", "mean")
TURNS = ("swapaxes", "transpose", "permute")
IN_PLACE = {"transpose": "transpose_", "masked_fill": "masked_fill_", "tril": "tril_"}
INITIAL = ("zeros_", "ones_", "normal_", "eye_")
FLOORS = ("-1e9", "-1e4", "-100.0", "-10.0", "0.0", "torch.finfo(S.dtype).min")


def call_changes(subject: Subject, place: TreePlace, node: ast.expr) -> Iterator[Change]:
    """Give the changes of a call, if the node is one."""
    if not isinstance(node, ast.Call) or _method(node) == "__init__":
        return
    yield from _dropped(subject, place, node)
    yield from _rearranged(subject, place, node)
    yield from _keywords(place, node)
    yield from _another(subject, place, node)
    yield from _masks(subject, place, node)
    if subject.holds(place, "layer") and not _method(node).endswith("_"):
        for name in INITIAL:
            text = f"(lambda made: (torch.nn.init.{name}(made.weight), made)[1])(X)"
            yield Change("initial weights", place, expression(text, X=node))


def _method(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def _receiver(subject: Subject, place: TreePlace, node: ast.Call) -> ast.expr | None:
    """Return the array whose method is called, if the call is one."""
    receiver = (*place, ("func", None), ("value", None))
    if isinstance(node.func, ast.Attribute) and subject.holds(receiver, subject.array):
        return node.func.value
    return None


def _dropped(subject: Subject, place: TreePlace, node: ast.Call) -> Iterator[Change]:
    receiver = _receiver(subject, place, node)
    if receiver is not None and subject.holds(place, subject.array):
        yield Change("call dropped", place, receiver)
        method = ast.Attribute(node, _method(node), ast.Load())
        yield Change("call doubled", place, changed_call(node, func=method))
    for number, argument in enumerate(node.args):
        if subject.same_kind((*place, ("args", number)), place):
            yield Change("call dropped", place, argument)
            if receiver is None:
                arguments = [*node.args[:number], node, *node.args[number + 1 :]]
                yield Change("call doubled", place, changed_call(node, args=arguments))


def _rearranged(subject: Subject, place: TreePlace, node: ast.Call) -> Iterator[Change]:
    arguments, turns = node.args, _method(node) in TURNS
    receiver = _receiver(subject, place, node)
    if turns and receiver is not None:
        yield Change("axis", place, expression("X.T", X=receiver))
    if _method(node) == "permute":
        for order in itertools.permutations(range(len(arguments))):
            axes = [ast.Constant(axis) for axis in order]
            yield Change("axis", place, changed_call(node, args=axes))
        return
    for one, other in itertools.combinations(range(len(arguments)), 2):
        kind = "axis" if turns else "argument order"
        swapped = list(arguments)
        swapped[one], swapped[other] = swapped[other], swapped[one]
        yield Change(kind, place, changed_call(node, args=swapped))
    for one, other in itertools.permutations(range(len(arguments)), 2):
        if subject.same_kind((*place, ("args", one)), (*place, ("args", other))) and not turns:
            reused = [*arguments[:one], arguments[other], *arguments[one + 1 :]]
            yield Change("argument used twice", place, changed_call(node, args=reused))


def _keywords(place: TreePlace, node: ast.Call) -> Iterator[Change]:
    for number, keyword in enumerate(node.keywords):
        rest = [*node.keywords[:number], *node.keywords[number + 1 :]]
        kind = "keepdims" if keyword.arg == "keepdims" else "keyword dropped"
        yield Change(kind, place, changed_call(node, keywords=rest))
    named = {keyword.arg for keyword in node.keywords}
    if _method(node) in REDUCES and "keepdims" not in named:
        added = [*node.keywords, ast.keyword("keepdims", ast.Constant(True))]
        yield Change("keepdims", place, changed_call(node, keywords=added))


def _another(subject: Subject, place: TreePlace, node: ast.Call) -> Iterator[Change]:
    method = _method(node)
    if isinstance(node.func, ast.Attribute):
        for other in OTHERS.get(method, ()):
            func = ast.Attribute(node.func.value, other, ast.Load())
            yield Change("another call", place, changed_call(node, func=func))
        if subject.library == "torch" and method in IN_PLACE:
            func = ast.Attribute(node.func.value, IN_PLACE[method], ast.Load())
            yield Change("in place", place, changed_call(node, func=func))
    if method == "exp" and subject.library == "numpy":
        yield Change("in place", place, expression("np.exp(X, out=X)", X=node.args[0]))
    if method == "tril":
        for diagonal in (-1, 1):
            arguments = [*node.args, ast.Constant(diagonal)]
            yield Change("off by one", place, changed_call(node, args=arguments))
    if isinstance(node.func, ast.Name) and node.func.id in subject.arities:
        for other, arity in subject.arities.items():
            if other != node.func.id and arity == subject.arities[node.func.id]:
                name = ast.Name(other, ast.Load())
                yield Change("another step's result", place, changed_call(node, func=name))


def _masks(subject: Subject, place: TreePlace, node: ast.Call) -> Iterator[Change]:
    if _method(node) == "where" and len(node.args) == 3:
        parts = dict(zip("CSV", node.args))
        for kind, text in (
            ("in place", "(np.putmask(S, ~(C), V), S)[1]"),
            ("mask multiplied", "(C) * S"),
            ("mask added", "S + (~(C)) * V"),
        ):
            yield Change(kind, place, expression(text, **parts))
    receiver = _receiver(subject, place, node)
    if _method(node) == "masked_fill" and receiver is not None:
        hidden = node.args[0]
        yield Change("mask multiplied", place, expression("S * ~C", S=receiver, C=hidden))
        for text in FLOORS:
            arguments = [hidden, expression(text, S=receiver)]
            yield Change("mask value", place, changed_call(node, args=arguments))
