"""Slips with names: parameters changed, and variables that are used where they are not known."""

from __future__ import annotations

import ast
import builtins
import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autograder.model.signature import Definition
from autograder.model.verdict import Outcome
from autograder.submission.definitions import DefinitionNode
from autograder.submission.slip import (
    Slip,
    WrittenStep,
    capitalized,
    line_words,
    methods_of,
    names_bound_in,
    own_nodes,
    parameters_of,
    quoted,
)

_RAISED = (Outcome.RAISED,)
_WRONG = (Outcome.RAISED, Outcome.WRONG_VALUES, Outcome.WRONG_SHAPE, Outcome.WRONG_TYPE)
_CALLED = r"positional argument|required|unexpected keyword|multiple values"
_MOST_NAMES = 40


@dataclass(frozen=True)
class CodeNames:
    """What the code as a whole makes known: the statement that sets each name, and functions."""

    statements: Mapping[str, ast.stmt]
    functions: Mapping[str, set[str]]
    steps: tuple[str, ...]
    notebook: bool

    @classmethod
    def of(cls, trees: Sequence[ast.Module], steps: Sequence[str], notebook: bool) -> CodeNames:
        """Collect the names of cells."""
        statements: dict[str, ast.stmt] = {}
        functions: dict[str, set[str]] = {}
        for tree in trees:
            for node in tree.body:
                if isinstance(node, DefinitionNode):
                    functions[node.name] = names_bound_in(node) - {node.name}
                    statements[node.name] = node
                else:
                    statements |= dict.fromkeys(names_bound_in(node), node)
        return cls(statements, functions, tuple(steps), notebook)


def name_slips(step: WrittenStep, names: CodeNames) -> Iterator[Slip]:
    """Yield the slips with names in a step."""
    yield from _reused(step, names)
    yield from _parameters(step)
    for name, node in _unknown(step, names):
        fact, look = _where_from(step, names, name, node)
        seen = rf"name '{re.escape(name)}' is not defined"
        if look:
            yield Slip(_RAISED, seen, fact, look)


def _reused(step: WrittenStep, names: CodeNames) -> Iterator[Slip]:
    """A variable outside the functions that takes the name of the step away."""
    last = names.statements.get(step.name)
    if last is None or isinstance(last, DefinitionNode):
        return
    fact = f"{capitalized(step.line(last))} gives the name `{step.name}` to something else."
    look = "From there on, your function is out of reach. What else could that variable be called?"
    yield Slip(_RAISED, "not callable", fact, look)


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
    listed, wanted = (", ".join(each for each in names if each != "self")[:200]
                      for names in (own, expected))  # fmt: skip
    fact = f"{capitalized(step.line(node))} has the parameters ({listed}) in its `def`."
    look = f"They were handed out as ({wanted}), and the check hands values over like that."
    if sorted(own) == sorted(expected):
        yield Slip(_WRONG, "", fact, look)
    else:
        yield Slip(_RAISED, _CALLED, fact, look)
    for name in expected:
        if name not in own:
            words = f"It uses `{name}`, but the `def` in {step.line(node)} has ({listed})."
            seen = rf"name '{name}' is not defined"
            yield Slip(_RAISED, seen, words, "A parameter has one name, above and below.")


def _unknown(step: WrittenStep, names: CodeNames) -> Iterator[tuple[str, ast.Name]]:
    """Yield the names that a step uses without setting them, each where it is used first."""
    found: dict[str, ast.Name] = {}
    for _, function in step.functions:
        own = names_bound_in(function)
        for node in own_nodes(function):
            if not isinstance(node, ast.Name) or node.id in own or hasattr(builtins, node.id):
                continue
            if not isinstance(names.statements.get(node.id), DefinitionNode):
                found.setdefault(node.id, node)
    yield from list(found.items())[:_MOST_NAMES]


def _where_from(step: WrittenStep, names: CodeNames, name: str, node: ast.Name) -> tuple[str, str]:
    """Say where an unknown name comes from: the fact ("" for the check's own), and a look."""
    shown, place = quoted(name), step.line(node)
    if name in names.steps:
        return "", f"{shown} is a step of its own: look at that one first."
    if isinstance(step.node, ast.ClassDef):
        if kept := _kept_on_self(step.node, name):
            fact = f"{capitalized(place)} uses {shown}, but it is an attribute of the object."
            return (
                fact,
                f"{capitalized(step.line(kept))} keeps it. Where does it live from then on?",
            )
        for method in methods_of(step.node).values():
            if name in names_bound_in(method):
                fact = f"{capitalized(place)} uses {shown}, which ends with `{method.name}`."
                return fact, "What a later method needs has to be kept on the object, on `self`."
    setting = names.statements.get(name)
    if setting is not None:
        where = capitalized(line_words(setting, names.notebook))
        if isinstance(setting, ast.Delete):
            return "", f"{where} deletes {shown}."
        return "", f"{where} would set {shown}, but that line is not run to its end."
    near = set().union(*(names_bound_in(each) for _, each in step.functions))
    close = difflib.get_close_matches(name, sorted(near | names.functions.keys())[:1000], n=1)
    if close:
        return "", f"Did you mean {quoted(close[0])}?"
    for function, inside in names.functions.items():
        if name in inside and function != step.name:
            return "", f"{shown} is known only inside {quoted(function)}, where it is set."
    return "", (
        f"Nothing in what you wrote sets {shown}. A notebook can still know it from a cell that is "
        "gone: restart it, and run all its cells."
        if names.notebook
        else f"Nothing in the code sets {shown}."
    )


def _kept_on_self(node: ast.ClassDef, name: str) -> ast.AST | None:
    """Return where a class sets the attribute `name` of its objects."""
    for child in ast.walk(node):
        match child:
            case ast.Attribute(value=ast.Name(id="self"), attr=attribute, ctx=ast.Store()) if (
                attribute == name
            ):
                return child
    return None
