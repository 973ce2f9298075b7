"""Results that are thrown away: a line that computes something new and keeps nothing of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from autograder.model.verdict import Outcome
from autograder.submission.slip import Slip, WrittenStep, capitalized, quoted

_WRONG = (Outcome.WRONG_VALUES, Outcome.WRONG_SHAPE)
# What is raised when axes or memory are not as that line would have made them.
_UNFIT = r"view size|shapes|must match the size|matrix product"
# Methods and functions that arrange or mask, and change nothing in place. Nobody calls them only
# to look at something.
_PURE = frozenset(
    "astype contiguous exp flatten masked_fill permute reshape softmax squeeze swapaxes transpose "
    "tril triu unsqueeze view".split()
)
_FUNCTIONS = _PURE - {"exp"} | {"where"}
_LIBRARIES = ("np", "numpy", "torch", "F")
_NEW = "That call gives something new and changes nothing in place. Who needs it?"
_STEP = "A step hands its result back. Who needs it here?"


def dropped_result_slips(step: WrittenStep, steps: Sequence[str]) -> Iterator[Slip]:
    """Yield the lines of a step that call for a new array and drop it; `steps` are functions."""
    for _, node in step.functions:
        for item in step.own_nodes(node):
            name = _dropped(item, steps)
            if name:
                fact = f"{capitalized(step.line(item))} calls {quoted(name)} and drops the result."
                look = _STEP if name in steps else _NEW
                yield Slip(_WRONG, "", fact, look)
                yield Slip((Outcome.RAISED,), _UNFIT, fact, look)


def _dropped(node: ast.AST, steps: Sequence[str]) -> str:
    """Return the name of what a statement calls without keeping the result, "" for none."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))) if name in steps:
            return name
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name))) if (
            owner in _LIBRARIES
        ):
            return name if name in _FUNCTIONS else ""
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))) if name in _PURE:
            return name
    return ""
