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
from autograder.submission.statement_names import StatementNames, names_of_statements

MOST_STATEMENTS = 500
# With these, a text reaches what it does not name.
_REACHING = frozenset(
    "eval exec compile globals locals vars getattr setattr attrgetter import_module modules "
    "inspect gc __import__ __builtins__ __dict__ __globals__".split()
)


@dataclass(frozen=True)
class _Statement:
    """What a statement at the left margin binds or changes, and what it mentions."""

    binds: frozenset[str]
    mentions: frozenset[str]


def may_call(cells: Sequence[str], step: str, others: Collection[str]) -> bool:
    """Say whether the definition of `step` in `cells` may lead to a call of one of `others`.

    Names are followed through whatever binds them. Text that is not Python, is very long or reaches
    what it does not name may call anything, and so may a step that it does not define.
    """
    statements = _statements(tuple(cells))
    if statements is None or step not in statements:
        return True
    seen, waiting = set[str](), {step}
    while waiting:
        name = waiting.pop()
        if name in others:
            return True
        seen.add(name)
        for statement in statements.get(name, ()):
            waiting |= statement.mentions - seen
    return False


@lru_cache(maxsize=1)  # a hand-in's wrong steps are asked about in turn
def _statements(cells: tuple[str, ...]) -> dict[str, list[_Statement]] | None:
    """Return the statements of `cells` by each name that they bind or change.

    None where that says too little about what they call.
    """
    trees = [parsed(cell) for cell in cells]
    nodes = [node for tree in trees if tree for node in tree.body]
    if not all(trees) or len(nodes) > MOST_STATEMENTS:
        return None
    told = [names for tree in trees if tree for names in names_of_statements(tree)]
    if not all(names.whole and _REACHING.isdisjoint(names.mentioned) for names in told):
        return None
    pairs = list(zip(nodes, told, strict=True))
    imports = (names for node, names in pairs if isinstance(node, ast.Import | ast.ImportFrom))
    modules = frozenset(name for names in imports for name in names.bound)
    found: dict[str, list[_Statement]] = {}
    for statement in (_statement(node, names, modules) for node, names in pairs):
        for name in statement.binds:
            found.setdefault(name, []).append(statement)
    return found


def _statement(node: ast.stmt, names: StatementNames, modules: frozenset[str]) -> _Statement:
    """Return what a statement does with names; `modules` are not changed by calling them.

    A definition may put things into what it finds around it, as a decorator does that lists what it
    is given; so may a call into what it is given.
    """
    if isinstance(node, DefinitionNode):
        own = names.bound - names.shared
        outside = (names.touched | _decorators(node)) - own - modules
        return _Statement(
            names.shared | outside | {node.name}, (names.mentioned - own) | {node.name}
        )
    given = _given(node) if isinstance(node, ast.Expr) else frozenset()
    binds = names.bound | (names.called - modules) | names.stored | given
    return _Statement(binds, names.mentioned)


def _decorators(node: DefinitionNode) -> frozenset[str]:
    inside = (part for each in node.decorator_list for part in ast.walk(each))
    return frozenset(part.id for part in inside if isinstance(part, ast.Name))


def _given(statement: ast.Expr) -> frozenset[str]:
    """Return the names that a call at the left margin gets as its arguments."""
    call = statement.value
    arguments = call.args if isinstance(call, ast.Call) else ()
    return frozenset(each.id for each in arguments if isinstance(each, ast.Name))
