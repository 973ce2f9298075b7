"""A step whose mutants are made, and which kinds of value the reference has at each place of it.

The kinds are learned by running the reference on the inputs of its own checks. So a change is
made only where it fits: an axis where an array is, a fixed size where a whole number is.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from autograder.values.request import Request

# Patterns of code, written as code: found in a syntax tree, and filled with what was found.
#
# A word in capitals stands for any expression, or for the name of an attribute or keyword. With a
# star, or alone on a line, it stands for any number of them, or of statements. So `F(*P, A, *Q)`
# is each argument of a call in turn. A word that comes twice stands for the same code.

# Places in a syntax tree.
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


def with_node(root: ast.AST, place: TreePlace, new: ast.AST) -> Any:
    """Return a tree with another node at `place`.

    `root` stays as it is; what does not lie on the way to the place is shared with it.
    """
    if not place:
        return new
    field, number = place[0]
    below = getattr(root, field)
    if number is None:
        return with_field(root, field, with_node(below, place[1:], new))
    again = with_node(below[number], place[1:], new)
    return with_field(root, field, [*below[:number], again, *below[number + 1 :]])


def with_field(node: ast.AST, field: str, value: object) -> ast.AST:
    """Return a copy of a node with another value in one field; what it holds is shared."""
    again = copy.copy(node)
    setattr(again, field, value)
    return again


def number_in(node: ast.AST) -> int | float | None:
    """Return the number that a node writes, a negative one too, or None."""
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    inner = node.operand if isinstance(node, ast.UnaryOp) and negative else node
    value = inner.value if isinstance(inner, ast.Constant) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return -value if negative else value


def expression(text: str) -> ast.expr:
    """Return the expression that `text` writes."""
    return ast.parse(text, mode="eval").body


# What was found: by each word of a pattern, a node, several nodes, or a name.

Found = Mapping[str, Any]


@cache
def statements(text: str) -> tuple[ast.stmt, ...]:
    """Return the statements that a pattern or a result writes."""
    return tuple(ast.parse(text).body)


def words_of(text: str) -> set[str]:
    """Return the words in capitals of a pattern or a result."""
    nodes = [each for root in statements(text) for each in ast.walk(root)]
    return {each.id for each in nodes if isinstance(each, ast.Name) and each.id.isupper()}


def _many(node: Any) -> str:
    """Return the word that stands for any number of nodes, if one does."""
    inner = getattr(node, "value", None)
    starred = isinstance(node, ast.Starred) or (isinstance(node, ast.keyword) and not node.arg)
    statement = isinstance(node, ast.Expr)
    word = inner.id if isinstance(inner, ast.Name) and (starred or statement) else ""
    return word if word.isupper() else ""


def matches(wanted: Any, node: Any, found: Found) -> Iterator[Found]:
    """Give every way in which a pattern, or a list of them, is what a node is."""
    if isinstance(wanted, list | tuple):
        yield from _list_matches(wanted, node, found)
    elif isinstance(wanted, ast.Name) and wanted.id.isupper():
        if isinstance(node, ast.expr):
            yield from _bound(wanted.id, node, found)
    elif isinstance(wanted, ast.AST):
        if type(wanted) is type(node):
            fields = [field for field in wanted._fields if field not in ("ctx", "type_comment")]
            ours, its = ([getattr(each, field) for field in fields] for each in (wanted, node))
            yield from _list_matches(ours, its, found)
    elif isinstance(wanted, str) and wanted.isupper() and isinstance(node, str):
        yield from _bound(wanted, node, found)
    elif wanted is None or (type(wanted), wanted) == (type(node), node):
        yield found


def _bound(word: str, node: Any, found: Found) -> Iterator[Found]:
    if word not in found:
        yield {**found, word: node}
    elif isinstance(node, ast.AST) and ast.unparse(node) == ast.unparse(found[word]):
        yield found


def _list_matches(wanted: Sequence[Any], nodes: Sequence[Any], found: Found) -> Iterator[Found]:
    if not wanted:
        if not nodes:
            yield found
    elif word := _many(wanted[0]):
        for length in range(len(nodes) + 1):
            yield from _list_matches(
                wanted[1:], nodes[length:], {**found, word: list(nodes[:length])}
            )
    elif nodes:
        for each in matches(wanted[0], nodes[0], found):
            yield from _list_matches(wanted[1:], nodes[1:], each)


def filled(text: str, found: Found) -> list[Any]:
    """Return what a result writes, with what was found in the places of its words."""
    return [each for root in statements(text) for each in _filled(root, found)]


def _filled(node: Any, found: Found) -> list[Any]:
    """Return what stands in the place of a node: several where its word stands for several."""
    word = _many(node) or getattr(node, "id", "")
    if word in found:
        new = copy.deepcopy(found[word])
        return new if isinstance(new, list) else [new]
    if isinstance(node, str):
        word = node.rstrip("_")
        return [node.replace(word, found[word]) if word in found else node]
    if not isinstance(node, ast.AST):
        return [node]
    again = copy.copy(node)
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            setattr(again, name, [new for each in value for new in _filled(each, found)])
        elif value is not None:
            setattr(again, name, *_filled(value, found))
    return [again]


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
