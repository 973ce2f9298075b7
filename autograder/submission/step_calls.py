"""Whether the code of a step may call another step: read from its text, and nothing is run.

Where it cannot, it does the same when somebody else answers for that step. A way that is not seen
here costs its owner no more than a judgement with right answers from the steps before.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from autograder.submission.cells import parsed
from autograder.submission.definitions import DefinitionNode
from autograder.submission.slip import names_bound_by, names_bound_in
from autograder.submission.syntax_nodes import nodes_in

MOST_STATEMENTS, MOST_NODES = 500, 20_000
# With these, a text reaches what it does not name.
_REACHING = frozenset(
    "eval exec compile globals locals vars getattr attrgetter import_module modules inspect gc "
    "__import__ __builtins__ __dict__ __globals__".split()
)
_IMPORTS, _PARTS = (ast.Import, ast.ImportFrom), (ast.Attribute, ast.Subscript)
# The kinds of nodes that tell something here: most are of none of them.
_TELLING = frozenset((ast.Name, ast.Global, ast.Call, *_IMPORTS, *_PARTS))


@dataclass(frozen=True)
class _Statement:
    """What a statement at the left margin binds or changes, and what it mentions."""

    binds: frozenset[str]
    mentions: frozenset[str]


def may_call(cells: Sequence[str], step: str, others: Collection[str]) -> bool:
    """Say whether the definition of `step` in `cells` may lead to a call of one of `others`.

    Names are followed through whatever binds them. Text that is not Python, or very long, may call
    anything.
    """
    statements = _statements(tuple(cells))
    if statements is None:
        return True
    seen, waiting = set[str](), {step}
    while waiting:
        name = waiting.pop()
        if name in others or name in _REACHING:
            return True
        seen.add(name)
        for statement in statements.get(name, ()):
            waiting |= statement.mentions - seen
    return False


@lru_cache(maxsize=1)  # a hand-in's wrong steps are asked about in turn
def _statements(cells: tuple[str, ...]) -> dict[str, list[_Statement]] | None:
    """Return the statements of `cells` by each name that they bind or change; None for too many."""
    trees = [parsed(cell) for cell in cells]
    nodes = [node for tree in trees if tree for node in tree.body]
    if not all(trees) or len(nodes) > MOST_STATEMENTS:
        return None
    imports = [node for node in nodes if isinstance(node, _IMPORTS)]
    modules = frozenset(name for node in imports for name in names_bound_in(node))
    statements = [_statement(node, modules) for node in nodes]
    found: dict[str, list[_Statement]] = {}
    for statement in statements:
        if statement is None:
            return None
        for name in statement.binds:
            found.setdefault(name, []).append(statement)
    return found


def _statement(node: ast.stmt, modules: frozenset[str]) -> _Statement | None:
    """Return what a statement does with names; `modules` are not changed by calling them."""
    inside = nodes_in(node, MOST_NODES)
    if len(inside) == MOST_NODES:
        return None
    mentioned, shared, changed, stored = set[str](), set[str](), set[str](), set[str]()
    for child in inside:
        if type(child) not in _TELLING:
            continue
        names = _names(child)
        mentioned.update(names)
        if isinstance(child, ast.Global):
            shared.update(child.names)
        elif isinstance(child, ast.Call):
            changed.add(_root(child.func))
        elif isinstance(child, _PARTS) and not isinstance(child.ctx, ast.Load):
            stored.update((_root(child), *names))
    bound = names_bound_by(inside)
    if isinstance(node, DefinitionNode):
        return _Statement(frozenset({node.name} | shared), frozenset(mentioned - (bound - shared)))
    return _Statement(frozenset(bound | (changed - modules) | stored), frozenset(mentioned))


def _names(node: ast.AST) -> tuple[str, ...]:
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        return (node.attr,)
    if isinstance(node, _IMPORTS):
        return tuple(alias.name for alias in node.names)
    return ()


def _root(node: ast.AST) -> str:
    """Return the name that an expression such as `table.entries[0]` begins with, or ""."""
    for _ in range(MOST_NODES):
        if not isinstance(node, _PARTS):
            break
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
