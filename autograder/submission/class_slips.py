"""Slips in the writing of a class: methods misspelt, misplaced, decorated or without `self`."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator, Sequence

from autograder.model.signature import Definition
from autograder.model.verdict import Outcome
from autograder.submission.definitions import top_level
from autograder.submission.slip import (
    Slip,
    WrittenStep,
    capitalized,
    line_words,
    methods_of,
    names_bound_in,
    parameters_of,
    quoted,
)

_ALIKE = 0.7
_BINDING = ("staticmethod", "classmethod", "property")
_RAISED = (Outcome.RAISED,)
# How a class ends whose method is not there.
_ABSENT = (Outcome.NOT_WRITTEN, Outcome.RAISED, Outcome.WRONG_TYPE)


def class_slips(
    step: WrittenStep, trees: Sequence[ast.Module], steps: Sequence[str]
) -> Iterator[Slip]:
    """Yield the slips in a step that is a class; `steps` are the names of all steps."""
    yield from _decorators(step, step.node, step.name)
    if not isinstance(step.node, ast.ClassDef) or not isinstance(step.given, ast.ClassDef):
        return
    own = methods_of(step.node)
    for name, given in methods_of(step.given).items():
        if name in own:
            yield from _decorators(step, own[name], name)
            yield from _without_self(step, own[name], given)
            yield from _local_attributes(step, own[name])
        else:
            yield from _absent(step, name, given, trees)
    yield from _steps_of_self(step, step.node, steps)


def _decorators(step: WrittenStep, node: ast.AST, name: str) -> Iterator[Slip]:
    for each in getattr(node, "decorator_list", []):
        if isinstance(each, ast.Name) and each.id in _BINDING:
            what = "changes how Python calls" if each.id != "property" else "forbids to call"
            fact = f"`@{each.id}` in {step.line(each)} {what} {quoted(name)}."
            yield Slip(_RAISED, "", fact, "Hand it over as it was handed out: without that line.")


def _without_self(step: WrittenStep, node: Definition, given: Definition) -> Iterator[Slip]:
    names, expected = parameters_of(node), parameters_of(given)
    if names[:1] == expected[:1] or names != expected[1 : 1 + len(names)]:
        return
    fact = f"The first parameter of {quoted(node.name)} in {step.line(node)} is not `self`."
    look = "Python hands the object itself to every method, before all else."
    yield Slip(_RAISED, "", fact, look)


def _local_attributes(step: WrittenStep, node: Definition) -> Iterator[Slip]:
    """Say of a variable of `__init__` that nobody else sees it, where it is looked for."""
    if node.name != "__init__":
        return
    for child in step.own_nodes(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            place = capitalized(step.line(child))
            fact = f"{place} sets a local {quoted(child.id)}: `self.` is missing."
            look = "A variable of `__init__` is gone when that has run. What does an object keep?"
            seen = rf"no attribute [`']{re.escape(child.id)}[`']"
            yield Slip((Outcome.RAISED, Outcome.WRONG_TYPE), seen, fact, look)


def _absent(
    step: WrittenStep, name: str, given: Definition, trees: Sequence[ast.Module]
) -> Iterator[Slip]:
    """Say where a method is that the class does not have."""
    assert isinstance(step.node, ast.ClassDef)
    seen = rf"`{name}`|no arguments|no attribute|\"{name}\"|positional argument|not written"
    own, inside = methods_of(step.node), quoted(step.name)
    within = _within(step.node, name)
    outside = [each for tree in trees for each in top_level(tree) if each.name == name]
    if within:
        outer, node = within
        place = capitalized(line_words(node, step.notebook))
        fact = f"{place} defines `{name}` inside {quoted(outer)}, so {inside} does not have it."
        yield Slip(_ABSENT, seen, fact, f"It has to begin in the same column as {quoted(outer)}.")
    elif outside and isinstance(outside[-1], Definition):
        place = capitalized(step.line(outside[-1]))
        fact = f"{place} defines `{name}` outside the class, so {inside} does not have it."
        yield Slip(_ABSENT, seen, fact, "How far is a method indented?")
    else:
        known = methods_of(step.given) if isinstance(step.given, ast.ClassDef) else {}
        alike = [each for each in own if each not in known]
        close = difflib.get_close_matches(name, alike[:1000], n=1, cutoff=_ALIKE)
        if close:
            fact = (
                f"{capitalized(step.line(own[close[0]]))} defines {quoted(close[0])}. Is that "
                f"`{name}`, misspelt?"
            )
            look = "There are two underscores on each side." if name.startswith("__") else ""
            yield Slip(_ABSENT, seen, fact, look)


def _within(node: ast.ClassDef, name: str) -> tuple[str, Definition] | None:
    """Return the function of this name inside a method, and the method's own name."""
    for outer in methods_of(node).values():
        for child in ast.walk(outer):
            if isinstance(child, Definition) and child is not outer and child.name == name:
                return outer.name, child
    return None


def _steps_of_self(step: WrittenStep, node: ast.ClassDef, steps: Sequence[str]) -> Iterator[Slip]:
    """Say that a step is a function, where it is called like a method."""
    own = set(methods_of(node)) | names_bound_in(node)
    for child in ast.walk(node):
        match child:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if (
                name in steps and name not in own
            ):
                fact = f"{capitalized(step.line(child))} looks for `{name}` on `self`."
                look = f"`{name}` is a function of its own. It belongs to no class."
                yield Slip(_RAISED, rf"no attribute '{re.escape(name)}'", fact, look)
