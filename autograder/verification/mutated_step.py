"""A step whose mutants are made, and which kinds of value the reference has at each place of it.

The kinds are learned by running the reference on the inputs of its own checks. So a change is
made only where it fits: an axis where an array is, a fixed size where a whole number is.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from autograder.model.request import Request
from autograder.verification.rewriting import (
    TreePlace,
    filled,
    is_read,
    node_at,
    places,
    with_node,
)

Tree = ast.FunctionDef | ast.ClassDef
_REPORT = "__value_seen__"
_PLAIN = {bool: "bool", int: "int", float: "float", tuple: "tuple"}
_BY_NAME = {
    "ndarray": "array",
    "Tensor": "array",
    "Parameter": "array",
    "Linear": "layer",
    "Generator": "generator",
}


@dataclass(frozen=True)
class Subject:
    """A step's syntax tree, and the kinds of value that were seen at its places.

    `arities` has the number of parameters of every function of the exercise.
    """

    tree: Tree
    library: str
    arities: Mapping[str, int]
    seen: Mapping[ast.AST, frozenset[str]] = field(default_factory=dict)

    @property
    def prefix(self) -> str:
        """How its code calls the library."""
        return "torch" if self.library == "torch" else "np"

    @property
    def is_class(self) -> bool:
        """Whether the step is the class."""
        return isinstance(self.tree, ast.ClassDef)

    def kind_at(self, node: ast.AST) -> str:
        """Return the kind of value that was seen at a node, "" if there was none or several."""
        kinds = self.seen.get(node, ())
        return next(iter(kinds)) if len(kinds) == 1 else ""

    def same_kind(self, node: ast.AST, other: ast.AST) -> bool:
        """Say whether the same kinds of value were seen at two nodes."""
        return node in self.seen and self.seen[node] == self.seen.get(other)

    def names(self, kind: str, below: ast.AST) -> list[str]:
        """Return the names below a node that hold a kind of value, in their order."""
        nodes = (node for _, node in places(below) if self.kind_at(node) == kind)
        return list(dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name)))

    def attributes(self, kind: str) -> list[str]:
        """Return the attributes of `self` that hold a kind of value, in their order."""
        nodes = (node for _, node in places(self.tree) if self.kind_at(node) == kind)
        found = [ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)]
        return list(dict.fromkeys(each for each in found if each.startswith("self.")))


def kind_of(value: object) -> str:
    """Return the kind of a value: array, tensor, layer, int and so on."""
    plain = _PLAIN.get(type(value))
    return plain or _BY_NAME.get(type(value).__name__, type(value).__qualname__)


def learned(
    subject: Subject,
    names: Mapping[str, Any],
    requests: Iterable[Request],
    ask: Callable[[Mapping[str, Any], Request], object],
) -> Subject:
    """Return the subject with the kinds of value that `requests` show.

    `names` is the namespace that the step runs in; `ask` puts a request to such a namespace.
    """
    tree, numbered = _reporting(subject.tree)
    seen: dict[TreePlace, set[str]] = {}

    def report(number: int, value: object) -> object:
        seen.setdefault(numbered[number], set()).add(kind_of(value))
        return value

    namespace = {**names, _REPORT: report}
    module = ast.fix_missing_locations(ast.Module([tree], []))
    exec(compile(module, "<reporting>", "exec"), namespace)
    for request in requests:
        ask(namespace, request)
    kinds = {node_at(subject.tree, place): frozenset(found) for place, found in seen.items()}
    return replace(subject, seen=kinds)


def _reporting(tree: Tree) -> tuple[Any, dict[int, TreePlace]]:
    """Return the step with every value told to a function, and the place of each number."""
    numbered = dict(enumerate(_reportable(tree)))
    told: ast.AST = copy.deepcopy(tree)
    # The innermost first: what is put around a node moves everything below it.
    for number, place in sorted(numbered.items(), key=lambda each: -len(each[1])):
        (call,) = filled(f"{_REPORT}({number}, VALUE)", {"VALUE": node_at(told, place)})
        told = with_node(told, place, call.value)
    return told, numbered


def _reportable(tree: Tree) -> Iterator[TreePlace]:
    for place, node in places(tree):
        if not is_read(place, node) or isinstance(node, ast.Slice | ast.Starred):
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            continue
        parts = node.elts if isinstance(node, ast.Tuple) else ()
        if any(isinstance(part, ast.Slice) for part in parts) or "super" in _called(node):
            continue
        yield place


def _called(node: ast.AST) -> tuple[str, ...]:
    """`super` finds its class only when it is called by its own name."""
    inner = node.func if isinstance(node, ast.Call) else node
    return (inner.id,) if isinstance(inner, ast.Name) else ()
