"""The line that changes what the caller gave: told where a check saw that, and one line does it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from autograder.model.signature import Definition
from autograder.model.verdict import Outcome
from autograder.submission.parameter_words import called_function
from autograder.submission.slip import Slip, WrittenStep, capitalized, parameters_of

_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.Div: "/=", ast.MatMult: "@=", ast.Pow: "**=",
}  # fmt: skip


def overwriting_slips(step: WrittenStep) -> Iterator[Slip]:
    """Yield, for each parameter that exactly one line changes, what that line does."""
    function, given = called_function(step.node), called_function(step.given)
    if function is None or given is None:
        return
    names = [name for name in parameters_of(given) if name != "self"]
    for number, name in enumerate(names, start=1):
        found = list(_changes(step, function, name))
        if len(found) == 1:
            node, what = found[0]
            # The words of a known mistake speak of an operator, and leave the line to the student.
            known = r"\A[^\n]*" if isinstance(node, ast.AugAssign) else ""
            seen = rf"{known}It overwrites argument number {number}\b"
            look = f"{capitalized(step.line(node))} {what}"
            yield Slip((Outcome.WRONG_VALUES,), seen, "", look)


def _changes(step: WrittenStep, function: Definition, name: str) -> Iterator[tuple[ast.AST, str]]:
    """Yield each place of a function that changes the value of a parameter, and what it does.

    None where the name stands for something else from some line on.
    """
    nodes = step.own_nodes(function)
    if _is_set_anew(nodes, name):
        return
    for node in nodes:
        match node:
            case ast.AugAssign(target=target, op=operator) if _is_of(target, name):
                sign = _SIGNS.get(type(operator), "an operator with `=`")
                shown = f"`{sign}`" if "=" in sign and " " not in sign else sign
                yield node, f"uses {shown}, which changes numbers in place. `a = a - b` does not."
            case ast.Assign(targets=[ast.Subscript() as target]) if _is_of(target, name):
                yield node, f"assigns to a part of `{name}` itself. What makes a new one first?"
            case ast.Call(func=ast.Attribute(value=owner, attr=method)) if (
                method.endswith("_") and not method.endswith("__") and _is_of(owner, name)
            ):
                words = f"calls `{method}`: a method that ends in `_` changes what it is called on."
                yield node, f"{words} Which one makes a new tensor?"
            case ast.keyword(arg="out", value=target) if _is_of(target, name):
                yield node, f"writes its result into `{name}`, with `out=`."


def _is_set_anew(nodes: Sequence[ast.AST], name: str) -> bool:
    changed = {id(node.target) for node in nodes if isinstance(node, ast.AugAssign)}
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for node in nodes
        if id(node) not in changed
    )


def _is_of(target: ast.expr, name: str) -> bool:
    while isinstance(target, ast.Subscript):
        target = target.value
    return isinstance(target, ast.Name) and target.id == name
