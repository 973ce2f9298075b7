"""What each statement at the left margin of a text does with names: read once, asked for twice.

From that, it is told whether a step may call another, and which names a hand-in makes known.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from autograder.submission.slip import names_bound_by
from autograder.submission.syntax_nodes import nodes_in

MOST_NODES = 20_000  # of one statement that are looked at
_IMPORTS, _PARTS = (ast.Import, ast.ImportFrom), (ast.Attribute, ast.Subscript)
# The kinds of nodes that tell more than a name: most are of none of them.
_TELLING = frozenset((ast.Global, ast.Call, *_IMPORTS, *_PARTS))


@dataclass(frozen=True)
class StatementNames:
    """The names in one statement: those that it sets or takes, and those that it mentions.

    shared: what it declares `global`. stored: what changed attributes and items begin with, and
    these attributes. touched: what calls of methods, and what changed attributes and items begin
    with. Of a statement with too many nodes, nothing is told: it is not `whole`.
    """

    bound: frozenset[str] = frozenset()
    mentioned: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()
    stored: frozenset[str] = frozenset()
    touched: frozenset[str] = frozenset()
    whole: bool = True


_NOT_WHOLE = StatementNames(whole=False)
_READ: WeakKeyDictionary[ast.Module, tuple[StatementNames, ...]] = WeakKeyDictionary()


def names_of_statements(tree: ast.Module) -> tuple[StatementNames, ...]:
    """Return the names in each statement of a tree, in order; they are kept as long as it is."""
    if tree not in _READ:
        _READ[tree] = tuple(map(_names_in, tree.body))
    return _READ[tree]


def _names_in(node: ast.stmt) -> StatementNames:
    inside = nodes_in(node, MOST_NODES)
    if len(inside) == MOST_NODES:
        return _NOT_WHOLE
    bound = frozenset(names_bound_by(inside))
    mentioned = {each.id for each in inside if isinstance(each, ast.Name)}
    shared, stored, touched = set[str](), set[str](), set[str]()
    for each in inside:
        if each.__class__ not in _TELLING:
            continue
        if isinstance(each, ast.Call) and isinstance(each.func, _PARTS):
            touched.add(_root(each.func))
        elif isinstance(each, ast.Attribute):
            mentioned.add(each.attr)
            if not isinstance(each.ctx, ast.Load):
                stored.update((_root(each), each.attr))
                touched.add(_root(each))
        elif isinstance(each, ast.Subscript):
            if not isinstance(each.ctx, ast.Load):
                stored.add(_root(each))
                touched.add(_root(each))
        elif isinstance(each, ast.Global):
            shared.update(each.names)
        elif isinstance(each, _IMPORTS):
            mentioned.update(alias.name for alias in each.names)
    return StatementNames(
        bound,
        frozenset(mentioned),
        frozenset(shared),
        frozenset(stored),
        frozenset(touched),
    )


def _root(node: ast.AST) -> str:
    """Return the name that an expression such as `table.entries[0]` begins with, or ""."""
    for _ in range(MOST_NODES):
        if not isinstance(node, _PARTS):
            break
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
