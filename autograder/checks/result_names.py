"""What the results of a step are called, by the plain names that its `return` gives them.

They are written into files for students. So only names are taken, never the text of an
expression, which would be a part of the solution.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

# A `return` inside one of these is not the step's own.
_OTHERS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def result_names(function: Callable[..., Any], count: int) -> tuple[str, ...]:
    """Return the names of the `count` results of a function, from its last `return a, b, c`.

    A result that is not returned by a plain name of its own is "result 1", "result 2" and so on.
    """
    returned = _last_return(function)
    parts = returned.elts if isinstance(returned, ast.Tuple) else []
    if len(parts) != count:
        return tuple(f"result {number}" for number in range(1, count + 1))
    plain = [part.id if isinstance(part, ast.Name) else "" for part in parts]
    return tuple(
        name if name and plain.count(name) == 1 else f"result {number}"
        for number, name in enumerate(plain, start=1)
    )


def _last_return(function: Callable[..., Any]) -> ast.expr | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):  # made by other code, so it has no text of its own
        return None
    body = tree.body[0] if tree.body else None
    if not isinstance(body, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    returns = [node for statement in body.body for node in _own_returns(statement)]
    return max(returns, key=lambda node: node.lineno).value if returns else None


def _own_returns(node: ast.AST) -> Iterator[ast.Return]:
    if isinstance(node, ast.Return):
        yield node
    elif not isinstance(node, _OTHERS):
        for child in ast.iter_child_nodes(node):
            yield from _own_returns(child)
