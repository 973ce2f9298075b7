"""Changes of a whole function: what it remembers, what it overwrites, its gradients, its seeds."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence

from autograder.verification.mutants.change import Change
from autograder.verification.mutants.subject import Subject
from autograder.verification.mutants.syntax import TreePlace, expression, statements

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
