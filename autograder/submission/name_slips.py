"""Slips with names: parameters changed, and variables that are used where they are not known."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from itertools import islice

from autograder.model.signature import Definition
from autograder.model.verdict import Outcome
from autograder.submission.code_names import CodeNames
from autograder.submission.definitions import DefinitionNode
from autograder.submission.slip import (
    MOST_NODES,
    Slip,
    WrittenStep,
    capitalized,
    methods_of,
    parameters_of,
)
from autograder.submission.unknown_names import unknown_name_slips

_RAISED = (Outcome.RAISED,)
_WRONG = (Outcome.RAISED, Outcome.WRONG_VALUES, Outcome.WRONG_SHAPE, Outcome.WRONG_TYPE)
# The check's own call: the exception is from no line of the student's.
_CALLED = r"It raises .*(positional argument|required|unexpected keyword|multiple values)"


def name_slips(step: WrittenStep, names: CodeNames) -> Iterator[Slip]:
    """Yield the slips with names in a step."""
    yield from _reused(step, names)
    yield from _overwritten(step, names)
    yield from _parameters(step)
    yield from unknown_name_slips(step, names)


def _reused(step: WrittenStep, names: CodeNames) -> Iterator[Slip]:
    """A variable outside the functions that takes the name of the step away."""
    last = names.statements.get(step.name)
    if last is None or isinstance(last, DefinitionNode):
        return
    fact = f"{capitalized(step.line(last))} gives the name `{step.name}` to something else."
    look = "From there on, your function is out of reach. What else could that variable be called?"
    yield Slip(_RAISED, "not callable", fact, look)


def _overwritten(step: WrittenStep, names: CodeNames) -> Iterator[Slip]:
    """A variable that takes the name of a function of Python's own, which the step calls."""
    nodes = list(islice(ast.walk(step.node), MOST_NODES))
    called = {node.func.id for node in nodes
              if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}  # fmt: skip
    for name in sorted(called & vars(builtins).keys()):
        inside = (node for node in nodes if isinstance(node, ast.Name) and node.id == name)
        own = next((node for node in inside if isinstance(node.ctx, ast.Store)), None)
        outside = names.statements.get(name)
        setting = own or (None if isinstance(outside, DefinitionNode) else outside)
        if setting is not None:
            fact = f"{capitalized(step.line(setting))} gives the name `{name}` to a value."
            look = f"So Python's own `{name}` is out of reach. What is a better name for it?"
            yield Slip(_RAISED, rf"(?<![\w.]){name}\s*\(.*not callable", fact, look)


def _parameters(step: WrittenStep) -> Iterator[Slip]:
    if isinstance(step.node, ast.ClassDef):
        known = methods_of(step.given) if isinstance(step.given, ast.ClassDef) else {}
        own = methods_of(step.node)
        pairs = [(own[name], given) for name, given in known.items() if name in own]
    else:
        pairs = [(step.node, step.given)] if isinstance(step.given, Definition) else []
    for node, given in pairs:
        yield from _changed(step, node, given)


def _changed(step: WrittenStep, node: Definition, given: Definition) -> Iterator[Slip]:
    """A `def` line with other parameters than it was handed out with."""
    own, expected = parameters_of(node), parameters_of(given)
    if own == expected or node.args.vararg or node.args.kwarg:
        return
    left_over = own[:1] == ["self"] and "self" not in expected
    listed, wanted = (", ".join(each for each in names if each != "self" or left_over)[:200]
                      for names in (own, expected))  # fmt: skip
    fact = f"{capitalized(step.line(node))} has the parameters ({listed}) in its `def`."
    look = f"They were handed out as ({wanted}), and the check hands values over like that."
    if left_over:
        look = "`self` belongs to the methods of a class only, and this is a function."
    if sorted(own) == sorted(expected):
        yield Slip(_WRONG, "", fact, look)
    else:
        yield Slip(_RAISED, _CALLED, fact, look)
    for name in expected:
        if name not in own:
            words = f"It uses `{name}`, but the `def` in {step.line(node)} has ({listed})."
            seen = rf"name '{name}' is not defined"
            yield Slip(_RAISED, seen, words, "A parameter has one name, above and below.")
