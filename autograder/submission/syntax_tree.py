"""What a syntax tree tells: its nodes in order, and the names that they set, take and mention.

Nothing here recurses: a tree can be deeper than Python's own stack.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from autograder.submission.cells import DefinitionNode
from autograder.values.exercise import Definition

MOST_NODES = 20_000  # of one step that are looked at
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SCOPES = (*_DEFINITIONS, ast.Lambda)
# What only marks another node: whether its value is read or set, and which operator it is.
_SIGNS = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)


def nodes_in(node: ast.AST, most: int = sys.maxsize) -> list[ast.AST]:
    """Return a node and all within it, the outer ones first; of a large tree the first `most`."""
    found = [node]
    for each in found:  # it grows meanwhile
        if len(found) >= most:
            return found[:most]
        found += ast.iter_child_nodes(each)
    return found


def own_nodes(node: ast.AST) -> tuple[ast.AST, ...]:
    """Return what belongs to a function itself, in order: nothing inside functions within it.

    Marks are left out.
    """
    found: list[ast.AST] = []
    waiting = [*ast.iter_child_nodes(node)][::-1]
    for _ in range(MOST_NODES):
        if not waiting:
            break
        child = waiting.pop()
        if isinstance(child, _SIGNS):
            continue
        found.append(child)
        if not isinstance(child, _SCOPES):
            waiting += reversed([*ast.iter_child_nodes(child)])
    return tuple(found)


def is_text(node: ast.AST) -> bool:
    """Whether a node is a statement that is only a text: a docstring, or in place of a comment."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def methods_of(node: DefinitionNode | None) -> dict[str, Definition]:
    """Return the methods of a class, by name; of anything else none."""
    body = node.body if isinstance(node, ast.ClassDef) else ()
    return {item.name: item for item in body if isinstance(item, Definition)}


def parameters_of(node: DefinitionNode | None) -> list[str]:
    """Return the names of a function's parameters, in order; of anything else none."""
    if node is None or isinstance(node, ast.ClassDef):
        return []
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [each.arg for each in plain]


def called_name(node: ast.AST) -> str:
    """Return what a call or a name stands for: `print`, `np.sum`, or `?.sum` of any other value."""
    match node.func if isinstance(node, ast.Call) else node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return f"{owner}.{name}"
        case ast.Attribute(attr=name):
            return f"?.{name}"
    return ""


# The names that code sets, takes, imports and mentions.

_IMPORTS, _PARTS = (ast.Import, ast.ImportFrom), (ast.Attribute, ast.Subscript)
_NAMED = (*_DEFINITIONS, ast.ExceptHandler)
_BINDING = frozenset((ast.Name, ast.arg, *_IMPORTS, *_NAMED))
# The kinds of nodes that tell more than a name: most are of none of them.
_TELLING = frozenset((ast.Global, ast.Call, *_IMPORTS, *_PARTS))


def imported_by(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield the names that imports among these nodes set, each with the package it comes from."""
    for node in nodes:
        if isinstance(node, _IMPORTS):
            for each in node.names:
                module = node.module if isinstance(node, ast.ImportFrom) else each.name
                yield name_of(each), (module or "").split(".")[0]


def name_of(imported: ast.alias) -> str:
    """Return the name that a part of an import sets: `np` for `numpy as np`, `a` for `a.b`."""
    return (imported.asname or imported.name).split(".")[0]


def names_bound_in(node: ast.AST) -> set[str]:
    """Return the names that a function sets or takes, anywhere in it."""
    return names_bound_by(nodes_in(node))


def names_bound_by(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that these nodes, each by itself, set or take."""
    bound = set()
    for child in nodes:
        if type(child) not in _BINDING:  # as most are
            continue
        if isinstance(child, ast.Name):
            if not isinstance(child.ctx, ast.Load):
                bound.add(child.id)
        elif isinstance(child, ast.arg):
            bound.add(child.arg)
        elif isinstance(child, _IMPORTS):
            bound |= {name_of(each) for each in child.names}
        elif isinstance(child, _NAMED):
            bound.add(child.name or "")
    return bound


def names_used_in(node: ast.AST) -> set[str]:
    """Return the names that a node mentions, whether it reads or sets them."""
    return {each.id for each in nodes_in(node) if isinstance(each, ast.Name)}


@dataclass(frozen=True)
class StatementNames:
    """The names in one statement: those that it sets or takes, and those that it mentions.

    named: of the latter, those that are no attributes and no imports. shared: what it declares
    `global`. stored: what changed attributes and items begin with, and
    these attributes. touched: what calls of methods, and what changed attributes and items begin
    with. Of a statement with too many nodes, only what is named in the first ones is told: it is
    not `whole`.
    """

    bound: frozenset[str] = frozenset()
    mentioned: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()
    stored: frozenset[str] = frozenset()
    touched: frozenset[str] = frozenset()
    whole: bool = True


_READ: WeakKeyDictionary[ast.Module, tuple[StatementNames, ...]] = WeakKeyDictionary()


def names_of_statements(tree: ast.Module) -> tuple[StatementNames, ...]:
    """Return the names in each statement of a tree, in order; they are kept as long as it is.

    They are read once and asked for often: whether a step may call another, which names a hand-in
    makes known, and what it does not import.
    """
    if tree not in _READ:
        _READ[tree] = tuple(map(_names_in, tree.body))
    return _READ[tree]


def _names_in(node: ast.stmt) -> StatementNames:
    inside = nodes_in(node, MOST_NODES)
    named = frozenset(each.id for each in inside if each.__class__ is ast.Name)
    if len(inside) == MOST_NODES:
        return StatementNames(named=named, whole=False)
    mentioned = set(named)
    shared, stored, touched = set[str](), set[str](), set[str]()
    for each in inside:
        if each.__class__ not in _TELLING:
            continue
        if isinstance(each, ast.Call) and isinstance(each.func, _PARTS):
            touched.add(_root(each.func))
        elif isinstance(each, _PARTS):
            names = {each.attr} if isinstance(each, ast.Attribute) else set()
            mentioned |= names
            if not isinstance(each.ctx, ast.Load):
                stored |= {_root(each), *names}
                touched.add(_root(each))
        elif isinstance(each, ast.Global):
            shared.update(each.names)
        elif isinstance(each, _IMPORTS):
            mentioned.update(alias.name for alias in each.names)
    found = (names_bound_by(inside), mentioned, shared, stored, touched)
    bound, mentions, shares, stores, touches = map(frozenset[str], found)
    return StatementNames(bound, mentions, named, shares, stores, touches)


def _root(node: ast.AST) -> str:
    """Return the name that an expression such as `table.entries[0]` begins with, or ""."""
    for _ in range(MOST_NODES):
        if not isinstance(node, _PARTS):
            break
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
