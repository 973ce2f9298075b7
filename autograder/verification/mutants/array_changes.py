"""Changes of an array, wherever one is used or returned; and of a linear layer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograder.verification.mutants.change import Change
from autograder.verification.mutants.subject import Subject
from autograder.verification.mutants.syntax import TreePlace, expression, node_at

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
