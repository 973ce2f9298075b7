"""Whether the code of a step may call another step: read from its text, and nothing is run.

It cannot where all that it names is known to be something else: what Python or a library brings,
constants, and functions and classes of which the same is true. In most doubts, it may. A way that
is not seen costs its owner no points: after a wrong step, what fails is judged with right answers.
"""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from autograder.submission.cells import UNREADABLE, parsed
from autograder.submission.definitions import DefinitionNode, lines_of
from autograder.submission.statement_names import names_of_statements
from autograder.submission.syntax_nodes import nodes_in

MOST_STATEMENTS = 500
_MOST_NODES = 5_000  # of a statement: Python's table takes time as the square of them
_BUILTINS = frozenset(dir(builtins))
# Libraries that hold no steps, and through which none can be reached without naming it.
_LIBRARIES = frozenset(
    "numpy torch math typing jaxtyping functools itertools collections dataclasses "
    "__future__".split()
)
# With these anywhere, a text reaches what it does not name.
_REACHING = frozenset(
    "eval exec compile globals locals vars getattr setattr attrgetter methodcaller import_module "
    "modules inspect gc __import__ __builtins__ __dict__ __globals__ __setattr__ __getattribute__ "
    "_getframe".split()
)
_OWN_METHODS = frozenset(("__init__",))  # that a class may call by name
# What a value may be made of, so that it holds nothing that is not named in it.
_PLAIN_VALUE = (
    *(ast.Name, ast.Constant, ast.Attribute, ast.Tuple, ast.UnaryOp, ast.BinOp),
    *(ast.expr_context, ast.unaryop, ast.operator),
)


@dataclass(frozen=True)
class _Statement:
    """A statement at the left margin, and its text."""

    node: ast.stmt
    text: str


@dataclass(frozen=True)
class _Statements:
    """The statements of a text by each name that they may bind, and the names that are changed.

    touched: names of which a method is called, or an attribute or an item is set. stored: of these,
    only the latter.
    """

    binding: dict[str, list[_Statement]]
    touched: frozenset[str]
    stored: frozenset[str]
    named: dict[str, frozenset[str] | None]  # through each name that was looked at so far


def may_call(cells: Sequence[str], step: str, others: Collection[str]) -> bool:
    """Say whether the definition of `step` in `cells` may lead to a call of one of `others`.

    So may text that is not Python or is very long, and a step that it does not define.
    """
    statements = _statements(tuple(cells))
    if statements is None or step not in statements.binding:
        return True
    seen, waiting = set[str](), {step}
    while waiting:
        name = waiting.pop()
        if name in others:
            return True
        seen.add(name)
        if name not in statements.named:
            statements.named[name] = _named_through(name, statements)
        named = statements.named[name]
        if named is None:
            return True
        waiting |= named - seen
    return False


def names_reached(cells: Sequence[str], step: str) -> frozenset[str]:
    """Return the names in the definition of `step`, and in those of functions that it names.

    Where a text is not Python or very long, none.
    """
    trees = [parsed(cell) for cell in cells]
    nodes = [node for tree in trees if tree for node in tree.body[:MOST_STATEMENTS]]
    definitions = {node.name: node for node in nodes if isinstance(node, DefinitionNode)}
    reached, waiting = set[str](), {step}
    while waiting:
        name = waiting.pop()
        reached.add(name)
        if node := definitions.get(name):
            inside = nodes_in(node, _MOST_NODES)
            waiting |= {each.id for each in inside if each.__class__ is ast.Name} - reached
    return frozenset(reached)


@lru_cache(maxsize=1)  # a hand-in's wrong steps are asked about in turn
def _statements(cells: tuple[str, ...]) -> _Statements | None:
    """Return the statements of `cells`; None where they say too little about what they call."""
    trees = [parsed(cell) for cell in cells]
    if not all(trees) or sum(len(tree.body) for tree in trees if tree) > MOST_STATEMENTS:
        return None
    binding: dict[str, list[_Statement]] = {}
    touched, stored = set[str](), set[str]()
    for cell, tree in zip(cells, trees):
        lines = cell.split("\n")
        assert tree
        for node, names in zip(tree.body, names_of_statements(tree), strict=True):
            if not names.whole or not _REACHING.isdisjoint(names.mentioned):
                return None
            first, last = lines_of(node)
            statement = _Statement(node, "\n".join(lines[first - 1 : last]))
            own = {node.name} if isinstance(node, DefinitionNode) else names.bound
            for name in own | names.shared:
                binding.setdefault(name, []).append(statement)
            touched |= names.touched
            stored |= names.stored
    return _Statements(binding, frozenset(touched), frozenset(stored), {})


def _named_through(name: str, statements: _Statements) -> frozenset[str] | None:
    """Return the names that whatever binds `name` mentions; None where it may be anything."""
    found = statements.binding.get(name)
    if found is None:
        return frozenset() if name in _BUILTINS else None
    if all(_is_of_a_library(statement.node) for statement in found):
        return None if name in statements.stored else frozenset()
    if name in statements.touched:
        return None
    named = frozenset[str]()
    for each in found:
        names = _named_in(each.text) if _is_plain(each.node, name, statements.stored) else None
        if names is None:
            return None
        named |= names
    return named


def _is_of_a_library(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return not node.level and (node.module or "").split(".")[0] in _LIBRARIES
    if isinstance(node, ast.Import):
        return all(each.name.split(".")[0] in _LIBRARIES for each in node.names)
    return False


def _is_plain(node: ast.stmt, name: str, stored: frozenset[str]) -> bool:
    """Whether a statement binds `name` to what calls nothing that is not named in it.

    An attribute could hold anything if one of its name is set anywhere, but for an object's own.
    """
    inside = nodes_in(node, _MOST_NODES)
    if len(inside) == _MOST_NODES:
        return False
    if isinstance(node, DefinitionNode):
        if node.name != name:  # it sets a global name
            return False
        imports = [each for each in inside if isinstance(each, ast.Import | ast.ImportFrom)]
        attributes = [each for each in inside if isinstance(each, ast.Attribute)]
        special = {each.attr for each in attributes if each.attr.startswith("__")}
        others = {each.attr for each in attributes if not _is_own(each)}
        only_libraries = all(map(_is_of_a_library, imports))
        return only_libraries and special <= _OWN_METHODS and others.isdisjoint(stored)
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    value = [] if isinstance(node.value, ast.Lambda) else nodes_in(node.value)
    return all(isinstance(each, _PLAIN_VALUE) for each in value)


def _is_own(attribute: ast.Attribute) -> bool:
    return isinstance(attribute.value, ast.Name) and attribute.value.id == "self"


@lru_cache(maxsize=64)
def _named_in(text: str) -> frozenset[str] | None:
    """Return the names outside a statement that it uses, as Python itself finds them."""
    try:
        whole = symtable.symtable(text, "step", "exec")
    except UNREADABLE:
        return None
    found = set[str]()
    tables = [whole]
    for table in tables:  # it grows meanwhile
        tables += table.get_children()
        # Outside functions, a name that is set later is looked up outside until then.
        of_function = table.get_type() == "function"
        found |= {
            symbol.get_name()
            for symbol in table.get_symbols()
            if symbol.is_global() or (symbol.is_referenced() and not of_function)
        }
    return frozenset(found)
