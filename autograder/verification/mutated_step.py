"""A step whose mutants are made, and which kinds of value the reference has at each place of it.

The kinds are learned by running the reference on the inputs of its own checks. So a change is
made only where it fits: an axis where an array is, a fixed size where a whole number is.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from autograder.model.request import Request

# Places in a syntax tree, and what is put there instead.
#
# A place is the way down from the root: the name of a field, and a number where the field is a
# list. Unlike a line number, it stays when prose above the code changes.

TreePlace = tuple[tuple[str, "int | None"], ...]

# What has no value of its own while the code runs.
_LEFT_OUT = {"annotation", "returns", "decorator_list", "type_comment", "ctx", "op", "ops"}
_NO_VALUE = {"targets", "target", "defaults", "kw_defaults", "bases"}


def places(node: ast.AST, place: TreePlace = ()) -> Iterator[tuple[TreePlace, ast.AST]]:
    """Give every node below `node` with its place, in the order of the source."""
    yield place, node
    if isinstance(node, ast.JoinedStr):
        return
    for part, value in ast.iter_fields(node):
        if part in _LEFT_OUT:
            continue
        if isinstance(value, ast.AST):
            yield from places(value, (*place, (part, None)))
        elif isinstance(value, list):
            for number, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from places(item, (*place, (part, number)))


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
    for part, number in place:
        node = getattr(node, part) if number is None else getattr(node, part)[number]
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
    for part, value in changes.items():
        setattr(again, part, copy.deepcopy(value))
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


Tree = ast.FunctionDef | ast.ClassDef
_REPORT = "__value_seen__"
_PLAIN = {bool: "bool", int: "int", float: "float", tuple: "tuple"}
_BY_NAME = {
    "ndarray": "array",
    "Tensor": "tensor",
    "Parameter": "tensor",
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
    seen: Mapping[TreePlace, frozenset[str]] = field(default_factory=dict)

    @property
    def array(self) -> str:
        """The kind of its arrays."""
        return "tensor" if self.library == "torch" else "array"

    @property
    def prefix(self) -> str:
        """How its code calls the library."""
        return "torch" if self.library == "torch" else "np"

    @property
    def is_class(self) -> bool:
        """Whether the step is the class."""
        return isinstance(self.tree, ast.ClassDef)

    def holds(self, place: TreePlace, *kinds: str) -> bool:
        """Say whether nothing but these kinds of value was seen at a place."""
        found = self.seen.get(place)
        return bool(found) and found <= set(kinds) if found else False

    def same_kind(self, place: TreePlace, other: TreePlace) -> bool:
        """Say whether the same kinds of value were seen at two places."""
        return place in self.seen and self.seen[place] == self.seen.get(other)

    def names(self, kind: str, within: TreePlace = ()) -> list[str]:
        """Return the names, below a place, that hold a kind of value, in their order."""
        found = [
            node.id
            for place, node in places(self.tree)
            if isinstance(node, ast.Name)
            and place[: len(within)] == within
            and self.holds(place, kind)
        ]
        return list(dict.fromkeys(found))

    def attributes(self, kind: str) -> list[str]:
        """Return the attributes of `self` that hold a kind of value, in their order."""
        found = [
            node.attr
            for place, node in places(self.tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
            and self.holds(place, kind)
        ]
        return list(dict.fromkeys(found))


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
    kinds = {place: frozenset(found) for place, found in seen.items()}
    return Subject(subject.tree, subject.library, subject.arities, kinds)


def _reporting(tree: Tree) -> tuple[Any, dict[int, TreePlace]]:
    """Return the step with every value told to a function, and the place of each number."""
    numbered = dict(enumerate(_reportable(tree)))
    told: ast.AST = copy.deepcopy(tree)
    # The innermost first: what is put around a node moves everything below it.
    for number, place in sorted(numbered.items(), key=lambda each: -len(each[1])):
        call = expression(f"{_REPORT}({number}, VALUE)", VALUE=node_at(told, place))
        told = with_node(told, place, call)
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


# One change of a syntax tree.


@dataclass(frozen=True)
class Change:
    """What stands at `place` becomes `new`; `kind` says in words what that changes."""

    kind: str
    place: TreePlace
    new: ast.AST | list[ast.stmt]
