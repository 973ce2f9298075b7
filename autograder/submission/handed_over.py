"""What a class hands to a step that cannot work with it: told where the class made it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from autograder.model.signature import Definition
from autograder.model.verdict import Outcome
from autograder.submission.slip import Slip, WrittenStep, quoted

# A line is known by its number and its beginning: in a notebook, numbers begin anew in each cell.
_MOST_LINES, _MUCH = 300, 40
# Where the first call is right, what is kept from it is the cause, and that is told.
_LATER = r"Called once|Once a second|After a first call"
_UNFIT = r"broadcast|do not line up|must match the size|matrix product"


def handed_over_slips(step: WrittenStep, steps: Sequence[WrittenStep]) -> Iterator[Slip]:
    """Yield, for a class, where it calls each step and where the arguments were made.

    It is told when shapes do not fit in a line of the called step, which is the class's doing when
    that step is right by itself.
    """
    if not isinstance(step.node, ast.ClassDef):
        return
    calls: dict[str, list[tuple[Definition, ast.Call]]] = {}
    for _, method in step.functions:
        for node in step.own_nodes(method):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                calls.setdefault(node.func.id, []).append((method, node))
    for target in steps:
        found = calls.get(target.name, [])
        if (
            isinstance(target.node, Definition) and len(found) == 1
        ):  # which of several, nobody knows
            yield _handed_over(step, *found[0], target)


def _handed_over(
    step: WrittenStep, method: Definition, call: ast.Call, target: WrittenStep
) -> Slip:
    first, last = target.node.lineno, target.node.end_lineno or target.node.lineno
    lines = target.text.split("\n")[first - 1 : min(last, first + _MOST_LINES)]
    begin = (f"{number}, `{line.strip()[:_MUCH]}" for number, line in enumerate(lines, start=first))
    lines_there = "|".join(map(re.escape, begin))
    shapes = rf"(?s)\A(?!{_LATER}).*?\bLine ({lines_there})(?=.*({_UNFIT}))"
    place = step.line(call)
    fact = f"In {quoted(method.name)}, {place} gives `{target.name}` shapes that do not fit."
    calls = [each.func for each in call.args if isinstance(each, ast.Call)]
    inside = [each.id for each in calls if isinstance(each, ast.Name)]
    made = [_made(step, method, call, each) for each in reversed(call.args)]
    look = " ".join(dict.fromkeys(sentence for sentence in made if sentence))
    if inside:
        look = f"{quoted(inside[-1])} is called there too. From which axis does it get its size?"
    look = look or "Which axis is each of them made for?"
    return Slip((Outcome.RAISED,), shapes, fact, look, all_right=True)


def _made(step: WrittenStep, method: Definition, call: ast.Call, argument: ast.expr) -> str:
    """Say where a variable that is handed over was set, if it was not with the call itself."""
    if not isinstance(argument, ast.Name):
        return ""
    lines = [
        node
        for node in step.own_nodes(method)
        if isinstance(node, ast.Assign)
        and node.lineno < call.lineno
        and any(isinstance(each, ast.Name) and each.id == argument.id for each in node.targets)
    ]
    return f"{quoted(argument.id)} is set in {step.line(lines[-1])}." if lines else ""
