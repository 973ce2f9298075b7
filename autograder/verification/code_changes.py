"""Changes of what is done: calls, statements, whole functions."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator, Sequence

from autograder.verification.mutated_step import (
    Change,
    Subject,
    TreePlace,
    changed_call,
    expression,
    node_at,
    siblings,
    statements,
    with_node,
)

# Changes of calls: dropped, doubled, another one, other arguments.

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


# Changes of a whole function: what it remembers, what it overwrites, its gradients, its seeds.

# Around a function: what runs first, and what is returned. HOLDER keeps what is remembered.
_STATES = (
    (
        "first result kept",
        "if hasattr(HOLDER, '_kept'):\n    return HOLDER._kept",
        "HOLDER._kept = result_\nreturn result_",
    ),
    (
        "later calls differ",
        "HOLDER._calls = getattr(HOLDER, '_calls', 0) + 1",
        "if HOLDER._calls < 2:\n    return result_\n"
        "return list(result_) if isinstance(result_, tuple) else 2 * result_",
    ),
)
_BY_SHAPE = (
    "first result of each shape kept",
    "HOLDER._by_shape = getattr(HOLDER, '_by_shape', {})\n"
    "if tuple(ARRAY.shape) in HOLDER._by_shape:\n    return HOLDER._by_shape[tuple(ARRAY.shape)]",
    "HOLDER._by_shape[tuple(ARRAY.shape)] = result_\nreturn result_",
)
_SEEDS = (
    ("seed fixed", "GENERATOR = np.random.default_rng(0)"),
    ("another generator", "GENERATOR = np.random.RandomState()"),
    ("another generator", "GENERATOR = np.random.default_rng()"),
)


def function_changes(subject: Subject, place: TreePlace, node: ast.AST) -> Iterator[Change]:
    """Give the changes of a function as a whole, if the node is one."""
    if not isinstance(node, ast.FunctionDef):
        return
    yield from _defaults(place, node)
    start = 1 if ast.get_docstring(node) else 0
    body = node.body[start:]
    if subject.library == "torch":
        for kind, text in (
            ("global seed set", "torch.default_generator.manual_seed(0)"),
            ("global gradient mode", "torch.set_grad_enabled(False)"),
        ):
            yield Change(kind, place, _with_body(node, [*statements(text), *body]))
    for parameter in _parameters(node, "Generator"):
        for kind, text in _SEEDS:
            first = statements(text.replace("GENERATOR", parameter))
            yield Change(kind, place, _with_body(node, [*first, *body]))
    if isinstance(body[-1], ast.Return) and body[-1].value is not None:
        yield from _around(subject, place, node, body)


def _with_body(node: ast.FunctionDef, body: Sequence[ast.stmt]) -> ast.FunctionDef:
    """Return a copy of a function with another body below its docstring."""
    again = copy.deepcopy(node)
    start = 1 if ast.get_docstring(node) else 0
    again.body = [*again.body[:start], *copy.deepcopy(list(body))]
    return again


def _parameters(node: ast.FunctionDef, *annotations: str) -> list[str]:
    return [
        each.arg
        for each in node.args.args
        if each.annotation is not None
        and any(name in ast.unparse(each.annotation) for name in annotations)
    ]


def _defaults(place: TreePlace, node: ast.FunctionDef) -> Iterator[Change]:
    for number, default in enumerate(node.args.defaults):
        if isinstance(default, ast.Constant) and isinstance(default.value, bool):
            again = copy.deepcopy(node)
            again.args.defaults[number] = ast.Constant(not default.value)
            yield Change("default", place, again)
        again = copy.deepcopy(node)
        del again.args.defaults[: number + 1]
        yield Change("default", place, again)


def _around(
    subject: Subject, place: TreePlace, node: ast.FunctionDef, body: list[ast.stmt]
) -> Iterator[Change]:
    last = body[-1]
    assert isinstance(last, ast.Return) and last.value is not None
    kept = [*body[:-1], *statements("result_ = VALUE", VALUE=last.value)]
    arrays = _parameters(node, "Float[", "Real[")
    holder = "self" if subject.is_class else subject.tree.name

    def made(kind: str, first: str, after: str) -> Change:
        whole = [*statements(first), *(kept if after else body), *statements(after)]
        return Change(kind, place, _with_body(node, whole))

    for array in arrays:
        flat = f"{array}.flat[0]" if subject.library == "numpy" else f"{array}.data.view(-1)[0]"
        yield made("argument overwritten", "", f"{flat} = 0\nreturn result_")
        yield made("argument overwritten", f"{array}[...] = {array} * 0.5", "")
    for kind, first, after in (*_STATES, *((_BY_SHAPE,) if arrays else ())):
        texts = (text.replace("HOLDER", holder) for text in (first, after))
        yield made(kind, *(text.replace("ARRAY", arrays[0] if arrays else "") for text in texts))
    if subject.library == "torch":
        without = ast.With([ast.withitem(expression("torch.no_grad()"))], body)
        yield Change("no_grad", place, _with_body(node, [without]))
    yield from _parameters_changed(subject, place, node, body)


def _parameters_changed(
    subject: Subject, place: TreePlace, node: ast.FunctionDef, body: list[ast.stmt]
) -> Iterator[Change]:
    """What a method does to the layers of its instance, or a function to those it is given."""
    owned = [f"self.{name}" for name in subject.attributes("layer")] if subject.is_class else []
    for layer in owned or _parameters(node, "nn.Linear"):
        for kind, text in (
            ("parameters changed in place", f"{layer}.weight.data.mul_(0.5)"),
            ("parameter frozen", f"{layer}.weight.requires_grad_(False)"),
            ("bias dropped", f"{layer}.bias = None"),
        ):
            yield Change(kind, place, _with_body(node, [*statements(text), *body]))
    if subject.is_class and subject.library == "numpy":
        for name in subject.attributes("array"):
            first = statements(f"self.{name} *= 0.5")
            yield Change("parameters changed in place", place, _with_body(node, [*first, *body]))


# Changes of statements, and of tuples that are returned or assigned to.

_HIDDEN = "kept = {name}\ndel {name}\nobject.__setattr__(self, {attribute!r}, kept)"


def statement_changes(subject: Subject, place: TreePlace, node: ast.AST) -> Iterator[Change]:
    """Give the changes of a statement or a tuple, if the node is one."""
    if isinstance(node, ast.Tuple):
        yield from _tuple(subject, place, node)
    if isinstance(node, ast.If):
        yield Change("condition dropped", place, node.body)
        yield Change("branch dropped", place, [])
    if isinstance(node, ast.Assert):
        yield from _assertion(place, node)
    if isinstance(node, ast.Expr) and "super()" in ast.unparse(node):
        yield Change("call dropped", place, [])
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        yield from _assignment(subject, place, node)
        yield from _order(subject, place, node)


def _assertion(place: TreePlace, node: ast.Assert) -> Iterator[Change]:
    yield Change("assertion dropped", place, [])
    negated = ast.UnaryOp(ast.Not(), node.test)
    for text in ("raise RuntimeError('uneven')", "print('uneven')"):
        otherwise: list[ast.stmt] = [ast.If(negated, statements(text), [])]
        yield Change("assertion weakened", place, otherwise)


def _assignment(subject: Subject, place: TreePlace, node: ast.Assign) -> Iterator[Change]:
    target = node.targets[0]
    if isinstance(target, ast.Attribute):
        yield Change("attribute dropped", place, [])
        yield from _renamed(place, node, target)
    if isinstance(target, ast.Tuple):
        kept = [each for each in target.elts if isinstance(each, ast.Attribute)]
        for attribute in kept:
            yield from _renamed(place, node, attribute)
        for one, other in itertools.permutations(map(ast.unparse, kept), 2):
            again = statements(f"{one} = {other}")
            yield Change("weights of another layer", place, [node, *again])
        if subject.library == "torch":
            for attribute in kept:
                text = _HIDDEN.format(name=ast.unparse(attribute), attribute=attribute.attr)
                yield Change("layer hidden from PyTorch", place, [node, *statements(text)])
    if isinstance(target, ast.Name):  # made like an earlier one: take that one
        for earlier in siblings(subject.tree, place)[: place[-1][1]]:
            if isinstance(earlier, ast.Assign) and _alike(earlier, node):
                again = statements(f"{target.id} = {ast.unparse(earlier.targets[0])}")
                yield Change("weights of another layer", place, again)


def _alike(one: ast.Assign, other: ast.Assign) -> bool:
    return ast.unparse(one.value) == ast.unparse(other.value)


def _renamed(place: TreePlace, node: ast.Assign, attribute: ast.Attribute) -> Iterator[Change]:
    again = copy.deepcopy(node)
    for each in ast.walk(again.targets[0]):
        if isinstance(each, ast.Attribute) and each.attr == attribute.attr:
            each.attr += "_"
    yield Change("attribute renamed", place, [again])


def _order(subject: Subject, place: TreePlace, node: ast.Assign) -> Iterator[Change]:
    """Two calls after each other in the other order; or a condition one statement later."""
    beside, number = siblings(subject.tree, place), place[-1][1]
    if not number or not isinstance(node.targets[0], ast.Name):
        return
    before, earlier = beside[number - 1], (*place[:-1], (place[-1][0], number - 1))
    if isinstance(before, ast.If) and isinstance(node.value, ast.Call):
        later = copy.deepcopy(before)
        changed = {name.id for name in _stored(later)}
        for name in ast.walk(later):
            if isinstance(name, ast.Name) and name.id in changed:
                name.id = node.targets[0].id
        tree = with_node(with_node(subject.tree, place, later), earlier, node)
        yield Change("order of the steps", (), tree)
    if isinstance(before, ast.Assign) and _feeds(before, node):
        first = copy.deepcopy(node)
        first.targets = before.targets
        assert isinstance(node.value, ast.Call) and isinstance(before.value, ast.Call)
        first.value = changed_call(node.value, args=[before.value.args[0], *node.value.args[1:]])
        second = copy.deepcopy(before)
        second.targets = node.targets
        second.value = changed_call(before.value, args=[node.value.args[0], *before.value.args[1:]])
        tree = with_node(with_node(subject.tree, place, second), earlier, first)
        yield Change("order of the steps", (), tree)


def _stored(statement: ast.If) -> list[ast.Name]:
    """Return the last name that a condition assigns to, which is its result."""
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    return [name for name in names if isinstance(name.ctx, ast.Store)][-1:]


def _feeds(before: ast.Assign, node: ast.Assign) -> bool:
    first, second = before.value, node.value
    if not isinstance(first, ast.Call) or not isinstance(second, ast.Call):
        return False
    if not first.args or not second.args:
        return False
    return ast.unparse(second.args[0]) == ast.unparse(before.targets[0])


def _tuple(subject: Subject, place: TreePlace, node: ast.Tuple) -> Iterator[Change]:
    parent = node_at(subject.tree, place[:-1])
    parts, context = node.elts, node.ctx
    if isinstance(context, ast.Store):
        shape = isinstance(parent, ast.Assign) and ast.unparse(parent.value).endswith(".shape")
        kind = "size of another axis" if shape else "order of the targets"
    elif isinstance(parent, ast.Return):
        kind = "order of the result"
    else:
        kind = "order of a tuple"
    for one, other in itertools.combinations(range(len(parts)), 2):
        swapped = list(parts)
        swapped[one], swapped[other] = swapped[other], swapped[one]
        yield Change(kind, place, ast.Tuple(swapped, context))
    if not isinstance(parent, ast.Return):
        return
    for turn in range(1, len(parts)):
        yield Change(kind, place, ast.Tuple(parts[turn:] + parts[:turn], context))
    for one, other in itertools.permutations(range(len(parts)), 2):
        repeated = [*parts[:one], parts[other], *parts[one + 1 :]]
        yield Change("result repeated", place, ast.Tuple(repeated, context))
    yield Change("result too short", place, ast.Tuple(parts[:-1], context))
    yield Change("result as a list", place, ast.List(parts, context))
