"""Slips with names: parameters changed, and variables that are used where they are not known."""

from __future__ import annotations

import ast
import builtins
import difflib
import re
from collections.abc import Iterable, Iterator, Sequence

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
    names_bound_in,
    parameters_of,
    quoted,
)
from autograder.submission.syntax_nodes import nodes_in
from autograder.submission.unknown_names import unknown_name_slips

_RAISED = (Outcome.RAISED,)
_WRONG = (Outcome.RAISED, Outcome.WRONG_VALUES, Outcome.WRONG_SHAPE, Outcome.WRONG_TYPE)
_UNLIKE = (Outcome.WRONG_VALUES, Outcome.WRONG_SHAPE, Outcome.WRONG_TYPE)
# The check's own call: the exception is from no line of the student's.
_CALLED = r"It raises .*(positional argument|required|unexpected keyword|multiple values)"


def name_slips(step: WrittenStep, names: CodeNames) -> Iterator[Slip]:
    """Yield the slips with names in a step."""
    yield from _reused(step, names)
    yield from _overwritten(step, names)
    yield from _set_later(step)
    yield from _parameters(step)
    yield from unknown_name_slips(step, names)
    yield from _from_outside(step, names)


def _from_outside(step: WrittenStep, names: CodeNames) -> Iterator[Slip]:
    """A variable of the file that a function uses, while a parameter of its own is not used."""
    for _, function in step.functions:
        loaded = {node.id: node for node in reversed(nodes_in(function, MOST_NODES))
                  if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}  # fmt: skip
        unused = [each for each in parameters_of(function) if each not in {"self", *loaded}]
        known = names_bound_in(function)
        for name in loaded.keys() & names.statements.keys() - known if unused else ():
            setting = names.statements[name]
            if not _is_meant(setting, name, unused):
                continue
            listed = " and ".join(map(quoted, unused))
            is_not = "is not" if len(unused) == 1 else "are not"
            fact = (
                f"{capitalized(step.line(loaded[name]))} uses {quoted(name)}, which "
                f"{step.line(setting)} sets outside the function. {listed} {is_not} used."
            )
            look = "A function computes with what it is given. What is meant in that line?"
            yield Slip(_UNLIKE, "", fact, look)


def _is_meant(setting: ast.stmt, name: str, unused: Sequence[str]) -> bool:
    """Whether a variable may stand for a parameter: it is computed, or named nearly like one."""
    if not isinstance(setting, ast.Assign | ast.AnnAssign | ast.For):
        return False
    value = None if isinstance(setting, ast.For) else setting.value
    if not isinstance(value, ast.Constant):
        return True
    return bool(difflib.get_close_matches(name.lower(), unused, n=1, cutoff=0.7))


def _reused(step: WrittenStep, names: CodeNames) -> Iterator[Slip]:
    """A variable outside the functions that takes the name of the step away."""
    last = names.statements.get(step.name)
    if last is None or isinstance(last, DefinitionNode):
        return
    fact = f"{capitalized(step.line(last))} gives the name `{step.name}` to something else."
    look = "From there on, your function is out of reach. What else could that variable be called?"
    yield Slip(_RAISED, "not callable", fact, look)


def _set_later(step: WrittenStep) -> Iterator[Slip]:
    """A variable that is used above the first line that sets it."""
    for _, function in step.functions:
        used, setting = dict[str, ast.AST](), dict[str, ast.AST]()
        nodes = step.own_nodes(function)
        known = {*parameters_of(function), *_called(nodes)}  # told in other words
        for node in sorted(nodes, key=lambda each: getattr(each, "lineno", 0)):
            match node:
                case ast.AugAssign(target=ast.Name(id=name)):
                    used.setdefault(name, node)
                case ast.Name(id=name, ctx=ast.Load()):
                    used.setdefault(name, node)
                case ast.Name(id=name, ctx=ast.Store()):
                    setting.setdefault(name, node)
        for name in (used.keys() & setting.keys()) - known:
            first, later = step.line(used[name]), step.line(setting[name])
            seen = rf"cannot access local variable '{re.escape(name)}'"
            if first == later:
                fact = f"{capitalized(first)} uses {quoted(name)}, and no line before sets it."
                yield Slip(_RAISED, seen, fact, "What should it begin with?")
            elif _number(used[name]) < _number(setting[name]):
                fact = f"{capitalized(first)} uses {quoted(name)}, and only {later} sets it."
                yield Slip(_RAISED, seen, fact, "In which order do they have to run?")


def _number(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _overwritten(step: WrittenStep, names: CodeNames) -> Iterator[Slip]:
    """A variable that takes the name of a module or of a function that the step uses."""
    nodes = nodes_in(step.node, MOST_NODES)
    called = _called(nodes)
    asked = {node.value.id for node in nodes
             if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)}  # fmt: skip
    for name in sorted(called & {*vars(builtins), *names.steps, *names.functions}):
        setting = _setting(nodes, names, name)
        if setting is not None and name != step.name:
            own = name in names.steps or name in names.functions
            what = f"your function `{name}`" if own else f"Python's own `{name}`"
            yield _out_of_reach(step, setting, name, what, rf"{name}\s*\(.*not callable")
    for name in sorted((called | asked) & names.imported):
        setting = _setting(nodes, names, name)
        if setting is not None:
            what = f"the `{name}` that you import"
            errors = rf"{name}\s*[.(].*raises `(?:Attribute|Type|UnboundLocal)Error"
            yield _out_of_reach(step, setting, name, what, errors)


def _called(nodes: Iterable[ast.AST]) -> set[str]:
    return {node.func.id for node in nodes
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}  # fmt: skip


def _setting(nodes: list[ast.AST], names: CodeNames, name: str) -> ast.AST | None:
    """Return what gives a name to a value: inside the step, or else outside the functions."""
    inside = (node for node in nodes if isinstance(node, ast.Name) and node.id == name)
    own = next((node for node in inside if isinstance(node.ctx, ast.Store)), None)
    outside = names.statements.get(name)
    defines = isinstance(outside, DefinitionNode | ast.Import | ast.ImportFrom)
    return own or (None if defines else outside)


def _out_of_reach(step: WrittenStep, setting: ast.AST, name: str, what: str, seen: str) -> Slip:
    fact = f"{capitalized(step.line(setting))} gives the name `{name}` to a value."
    look = f"So {what} is out of reach. What is a better name for that value?"
    return Slip(_RAISED, rf"(?<![\w.]){seen}", fact, look)


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
