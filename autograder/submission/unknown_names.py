"""Names that a step uses and that nothing sets: what they are, or what may be meant."""

from __future__ import annotations

import ast
import builtins
import difflib
import re
from collections.abc import Collection, Iterator

from autograder.judging.attribute_words import home_of
from autograder.judging.explanation import IMPORTS
from autograder.judging.syntax_words import keyword_meant
from autograder.model.signature import Definition, signature_in
from autograder.model.verdict import Outcome
from autograder.submission.code_names import CodeNames
from autograder.submission.definitions import DefinitionNode
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

_MOST_NAMES = 40
_ALIKE = 0.7  # of names that the function does not know: nearly the same word
_OF_PYTORCH = ("torch", "nn", "F", "Tensor")
# Where a name may come from, the library of the exercise first.
_MODULES = {
    "numpy": ("np", "math"),
    "torch": ("torch", "nn", "math", "nn.functional"),
}
_OTHERS_WORDS = {"null": "None", "nil": "None", "undefined": "None"}


def unknown_name_slips(step: WrittenStep, names: CodeNames) -> Iterator[Slip]:
    """Yield a slip for each name that a step uses without setting it."""
    for name, node in _unknown(step, names):
        fact, look = _where_from(step, names, name, node)
        seen = rf"name '{re.escape(name)}' is not defined"
        if look:
            yield Slip((Outcome.RAISED,), seen, fact, look)


def _unknown(step: WrittenStep, names: CodeNames) -> Iterator[tuple[str, ast.Name]]:
    """Yield the names that a step uses without setting them, each where it is used first."""
    found: dict[str, ast.Name] = {}
    for _, function in step.functions:
        own = names_bound_in(function)
        for node in step.own_nodes(function):
            if not isinstance(node, ast.Name) or node.id in own or hasattr(builtins, node.id):
                continue
            if not isinstance(names.statements.get(node.id), DefinitionNode):
                found.setdefault(node.id, node)
    yield from list(found.items())[:_MOST_NAMES]


def _where_from(step: WrittenStep, names: CodeNames, name: str, node: ast.Name) -> tuple[str, str]:
    """Say where an unknown name comes from: the fact ("" for the check's own), and a look."""
    if name in names.steps:
        return "", f"{quoted(name)} is a step of its own: look at that one first."
    if isinstance(step.node, ast.ClassDef) and (told := _of_class(step, step.node, name, node)):
        return told
    look = (
        _set_outside(names, name)
        or _of_python(names, name)
        or _close(step, name)
        or _of_signature(step, name)
        or _inside(step, names, name)
        or _unused(step, name)
        or _nothing(names, name)
    )
    return "", look


def _of_class(
    step: WrittenStep, node: ast.ClassDef, name: str, used: ast.Name
) -> tuple[str, str] | None:
    """Say that a name is an attribute of the object, or a variable of another method."""
    place, shown = capitalized(step.line(used)), quoted(name)
    if kept := _kept_on_self(node, name):
        fact = f"{place} uses {shown}, but it is an attribute of the object."
        return fact, f"{capitalized(step.line(kept))} keeps it. Where does it live from then on?"
    for method in methods_of(node).values():
        if name in names_bound_in(method):
            fact = f"{place} uses {shown}, which ends with `{method.name}`."
            return fact, "What a later method needs has to be kept on the object, on `self`."
    return None


def _kept_on_self(node: ast.ClassDef, name: str) -> ast.AST | None:
    """Return where a class sets the attribute `name` of its objects."""
    for child in ast.walk(node):
        match child:
            case ast.Attribute(value=ast.Name(id="self"), attr=attribute, ctx=ast.Store()) if (
                attribute == name
            ):
                return child
    return None


def _set_outside(names: CodeNames, name: str) -> str:
    setting = names.statements.get(name)
    if setting is None:
        return ""
    where = capitalized(line_words(setting, names.notebook))
    if isinstance(setting, ast.Delete):
        return f"{where} deletes {quoted(name)}."
    return f"{where} would set {quoted(name)}, but that line is not run to its end."


def _of_python(names: CodeNames, name: str) -> str:
    """Say that a name is Python's or a library's, written in another way."""
    meant = keyword_meant(name) or _OTHERS_WORDS.get(name, "")
    if not meant and name.lower() != name and hasattr(builtins, name.lower()):
        meant = name.lower()
    if meant:
        return f"Python writes `{meant}` and not `{name}`."
    if name in _OF_PYTORCH and names.library != "torch":
        return f"`{name}` stands for PyTorch, and this exercise does without."
    if name == "F" and "nn" in names.statements:
        return (
            "`F` is not imported. It often stands for `torch.nn.functional`: here `nn.functional`."
        )
    if name in IMPORTS:
        return f"`{name}` is not imported: `{IMPORTS[name]}` is missing at the top."
    roots = _MODULES[names.library]
    known = [each for each in roots if each.split(".")[0] in names.statements]
    full = home_of(name, (*known, *roots))
    if not full:
        return ""
    root = full.split(".")[0]
    missing = "" if root in names.statements else f", once `{IMPORTS[root]}` stands at the top"
    return f"{quoted(name)} is a name of a library: write `{full}`{missing}."


def _close(step: WrittenStep, name: str) -> str:
    """Ask whether a name of the function is meant: one that is written alike, unused ones first."""
    near: set[str] = set().union(*(names_bound_in(each) for _, each in step.functions))
    unused = _unused_parameters(step)
    for known in (unused, sorted(near)[:1000]):
        whole = [each for each in known if name in each.split("_")]
        close = whole or difflib.get_close_matches(name, known, n=1)
        if close and len(name) > 1:
            return f"Did you mean {quoted(close[0])}?"
    return ""


def _of_signature(step: WrittenStep, name: str) -> str:
    """Say that a name is the letter of a size: what the docstring calls it, or an axis."""
    for _, function in _given_functions(step):
        for line in (ast.get_docstring(function) or "").splitlines():
            found = re.match(rf"(\w+): {re.escape(name)}\b", line.strip())
            if found and found[1] in parameters_of(function):
                return f"{quoted(name)} is only what the text calls `{found[1]}`."
        for parameter, axes in signature_in(function).parameters:
            if name in (axes or "").split():
                return f"{quoted(name)} is an axis of `{parameter}`: its `shape` has the size."
    return ""


def _inside(step: WrittenStep, names: CodeNames, name: str) -> str:
    """Say which other function sets a name, or which one is written alike."""
    axis = any(
        name in (axes or "").split()
        for _, function in _given_functions(step)
        for axes in signature_in(function).returns
    )
    read = " It is the size of an axis, so it follows from a shape." if axis else ""
    for function, inside in names.functions.items():
        if name in inside and function != step.name:
            return f"{quoted(name)} is known only inside {quoted(function)}, where it is set.{read}"
    known = sorted(names.functions)[:1000]
    close = difflib.get_close_matches(name, known, n=1, cutoff=_ALIKE)
    return f"Did you mean {quoted(close[0])}?" if close else read.strip()


def _unused(step: WrittenStep, name: str) -> str:
    unused = _unused_parameters(step)
    if len(unused) != 1:
        return ""
    shown = quoted(unused[0])
    return f"Nothing sets {quoted(name)}. Is the parameter {shown} meant, which is not used?"


def _nothing(names: CodeNames, name: str) -> str:
    if names.notebook and not names.live:
        return (
            f"Nothing in what you wrote sets {quoted(name)}. A notebook can still know it from a "
            "cell that is gone: restart it, and run all its cells."
        )
    return f"Nothing in the code sets {quoted(name)}."


def _unused_parameters(step: WrittenStep) -> list[str]:
    """Return the parameters of a step that is a function, as far as its code never uses them."""
    if not isinstance(step.node, Definition):
        return []
    used = {node.id for node in ast.walk(step.node) if isinstance(node, ast.Name)}
    return [each for each in parameters_of(step.node) if each not in used]


def _given_functions(step: WrittenStep) -> Collection[tuple[str, Definition]]:
    if isinstance(step.given, Definition):
        return [(step.name, step.given)]
    return list(methods_of(step.given).items()) if step.given else []
