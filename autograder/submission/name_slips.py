"""Slips with names: parameters changed, and variables that are used where they are not known."""

from __future__ import annotations

import ast
import builtins
import difflib
import re
from collections.abc import Iterable, Iterator, Sequence

from autograder.judging.explanation import IMPORTS, keyword_meant
from autograder.judging.library_words import home_of
from autograder.submission.cells import DefinitionNode
from autograder.submission.slip import Slip, WholeCode, WrittenStep, capitalized, quoted
from autograder.submission.syntax_tree import (
    MOST_NODES,
    called_name,
    methods_of,
    names_bound_in,
    names_used_in,
    nodes_in,
    parameters_of,
)
from autograder.values.exercise import Definition, signature_in
from autograder.values.verdict import Outcome

# Names that a step uses and that nothing sets: what they are, or what may be meant.

_RAISED = (Outcome.RAISED,)
_UNLIKE = (Outcome.WRONG_VALUES, Outcome.WRONG_SHAPE, Outcome.WRONG_TYPE)
_MOST_NAMES = 40
_ALIKE = 0.7  # of names that the function does not know: nearly the same word
_OF_PYTORCH = ("torch", "nn", "F", "Tensor")
# Where a name may come from, the library of the exercise first.
_MODULES = {
    "numpy": ("np", "math"),
    "torch": ("torch", "nn", "math", "nn.functional"),
}
_OTHERS_WORDS = {"null": "None", "nil": "None", "undefined": "None"}


def _unknown(step: WrittenStep) -> Iterator[Slip]:
    """The names that a step uses without setting them, each where it is used first."""
    found: dict[str, ast.Name] = {}
    for function in step.functions:
        own = names_bound_in(function.node)
        for node in function.nodes:
            if not isinstance(node, ast.Name) or node.id in own or hasattr(builtins, node.id):
                continue
            if not isinstance(step.code.statements.get(node.id), DefinitionNode):
                found.setdefault(node.id, node)
    for name, node in list(found.items())[:_MOST_NAMES]:
        fact, look = _where_from(step, name, node)
        if look:
            yield Slip(_RAISED, _undefined(name), fact, look)


def _undefined(name: str) -> str:
    return rf"name '{re.escape(name)}' is not defined"


def _where_from(step: WrittenStep, name: str, node: ast.Name) -> tuple[str, str]:
    """Say where an unknown name comes from: the fact ("" for the check's own), and a look."""
    if name in step.code.steps:
        return "", f"{quoted(name)} is a step of its own: look at that one first."
    if isinstance(step.node, ast.ClassDef) and (told := _of_class(step, step.node, name, node)):
        return told
    look = (
        _set_outside(step, name)
        or _of_python(step.code, name)
        or ("" if _is_called(step, node) else _close(step, name, _ALIKE))
        or _of_library(step.code, name)
        or _close(step, name)
        or _of_signature(step, name)
        or _inside(step, name)
        or _unused(step, name)
        or _nothing(step.code, name)
    )
    return "", look


def _of_class(
    step: WrittenStep, node: ast.ClassDef, name: str, used: ast.Name
) -> tuple[str, str] | None:
    """Say that a name is an attribute of the object, or a variable of another method."""
    uses = f"{step.place(used)} uses {quoted(name)}"
    for each in nodes_in(node):
        sets = isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)
        if sets and called_name(each) == f"self.{name}":
            look = f"{step.place(each)} keeps it. Where does it live from then on?"
            return f"{uses}, but it is an attribute of the object.", look
    for method in methods_of(node).values():
        if name in names_bound_in(method):
            look = "What a later method needs has to be kept on the object, on `self`."
            return f"{uses}, which ends with `{method.name}`.", look
    return None


def _set_outside(step: WrittenStep, name: str) -> str:
    setting = step.code.statements.get(name)
    if setting is None:
        return ""
    where = step.place(setting)
    if isinstance(setting, ast.Delete):
        return f"{where} deletes {quoted(name)}."
    return f"{where} would set {quoted(name)}, but that line is not run to its end."


def _of_python(code: WholeCode, name: str) -> str:
    """Say that a name is Python's, written in another way, or a module that is not imported."""
    meant = keyword_meant(name) or _OTHERS_WORDS.get(name, "")
    if not meant and name.lower() != name and hasattr(builtins, name.lower()):
        meant = name.lower()
    if meant:
        return f"Python writes `{meant}` and not `{name}`."
    if name in _OF_PYTORCH and code.library != "torch":
        return f"`{name}` stands for PyTorch, and this exercise does without."
    if name == "F" and "nn" in code.statements:
        return (
            "`F` is not imported. It often stands for `torch.nn.functional`: here `nn.functional`."
        )
    if name in IMPORTS:
        return f"`{name}` is not imported: `{IMPORTS[name]}` is missing at the top."
    return ""


def _is_called(step: WrittenStep, name: ast.Name) -> bool:
    nodes = (node for function in step.functions for node in function.nodes)
    return any(isinstance(node, ast.Call) and node.func is name for node in nodes)


def _of_library(code: WholeCode, name: str) -> str:
    roots = _MODULES[code.library]
    known = [each for each in roots if each.split(".")[0] in code.statements]
    full = home_of(name, (*known, *roots))
    if not full:
        return ""
    root = full.split(".")[0]
    missing = "" if root in code.statements else f", once `{IMPORTS[root]}` stands at the top"
    return f"{quoted(name)} is a name of a library: write `{full}`{missing}."


def _close(step: WrittenStep, name: str, cutoff: float = 0.6) -> str:
    """Ask whether a name of the function is meant: one that is written alike, unused ones first."""
    near: set[str] = set().union(*(names_bound_in(each.node) for each in step.functions))
    for known in (_unused_parameters(step), sorted(near)[:1000]):
        whole = [each for each in known if name in each.split("_")]
        close = whole or difflib.get_close_matches(name, known, n=1, cutoff=cutoff)
        if close and len(name) > 1:
            return f"Did you mean {quoted(close[0])}?"
    return ""


def _of_signature(step: WrittenStep, name: str) -> str:
    """Say that a name is the letter of a size: what the docstring calls it, or an axis."""
    for function in _given_functions(step):
        for line in (ast.get_docstring(function) or "").splitlines():
            found = re.match(rf"(\w+): {re.escape(name)}\b", line.strip())
            if found and found[1] in parameters_of(function):
                return f"{quoted(name)} is only what the text calls `{found[1]}`."
        for parameter, axes in signature_in(function).parameters:
            if name in (axes or "").split():
                return f"{quoted(name)} is an axis of `{parameter}`: its `shape` has the size."
    return ""


def _inside(step: WrittenStep, name: str) -> str:
    """Say which other function sets a name, or which one is written alike."""
    results = [axes for each in _given_functions(step) for axes in signature_in(each).returns]
    axis = any(name in (axes or "").split() for axes in results)
    read = " It is the size of an axis, so it follows from a shape." if axis else ""
    for function, inside in step.code.functions.items():
        if name in inside and function != step.name:
            return f"{quoted(name)} is known only inside {quoted(function)}, where it is set.{read}"
    known = sorted(step.code.functions)[:1000]
    close = difflib.get_close_matches(name, known, n=1, cutoff=_ALIKE)
    return f"Did you mean {quoted(close[0])}?" if close else read.strip()


def _unused(step: WrittenStep, name: str) -> str:
    unused = _unused_parameters(step)
    if len(unused) != 1:
        return ""
    shown = quoted(unused[0])
    return f"Nothing sets {quoted(name)}. Is the parameter {shown} meant, which is not used?"


def _nothing(code: WholeCode, name: str) -> str:
    if code.notebook and not code.live:
        return (
            f"Nothing in what you wrote sets {quoted(name)}. A notebook can still know it from a "
            "cell that is gone: restart it, and run all its cells."
        )
    return f"Nothing in the code sets {quoted(name)}."


def _unused_parameters(step: WrittenStep) -> list[str]:
    """Return the parameters of a step that is a function, as far as its code never uses them."""
    used = names_used_in(step.node)
    return [each for each in parameters_of(step.node) if each not in used]


def _given_functions(step: WrittenStep) -> Sequence[Definition]:
    given = step.given
    return [given] if isinstance(given, Definition) else [*methods_of(given).values()]


# Names that are known, and stand for something else than the student means.


def _absent(step: WrittenStep) -> Iterator[Slip]:
    """The names that come from a module which is not there in class."""
    for name, module in step.code.absent.items():
        setting = step.code.statements.get(name)
        if setting is not None:
            fact = f"`{name}` comes from `{module}`, which is not there when your code is graded."
            place = step.place(setting)
            look = f"{place} imports it. The exercise needs only what it imports itself."
            yield Slip(_RAISED, _undefined(name), fact, look)


def _reused(step: WrittenStep) -> Iterator[Slip]:
    """A variable outside the functions that takes the name of the step away."""
    last = step.code.statements.get(step.name)
    if last is None or isinstance(last, DefinitionNode):
        return
    fact = f"{step.place(last)} gives the name `{step.name}` to something else."
    look = "From there on, your function is out of reach. What else could that variable be called?"
    yield Slip(_RAISED, "not callable", fact, look)


def _overwritten(step: WrittenStep) -> Iterator[Slip]:
    """A variable that takes the name of a module or of a function that the step uses."""
    code, nodes = step.code, nodes_in(step.node, MOST_NODES)
    called = _called(nodes)
    asked = {called_name(node).split(".")[0] for node in nodes if isinstance(node, ast.Attribute)}
    own = {*code.steps, *code.functions}
    for name in sorted(called & {*vars(builtins), *own} - {step.name}):
        what = f"your function `{name}`" if name in own else f"Python's own `{name}`"
        yield from _out_of_reach(step, nodes, name, what, rf"{name}\s*\(.*not callable")
    for name in sorted((called | asked) & code.imported):
        errors = rf"{name}\s*[.(].*raises `(?:Attribute|Type|UnboundLocal)Error"
        yield from _out_of_reach(step, nodes, name, f"the `{name}` that you import", errors)


def _called(nodes: Iterable[ast.AST]) -> set[str]:
    return {node.func.id for node in nodes
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}  # fmt: skip


def _out_of_reach(
    step: WrittenStep, nodes: Iterable[ast.AST], name: str, what: str, seen: str
) -> Iterator[Slip]:
    """Tell what gives a name to a value: inside the step, or else outside the functions."""
    names = (node for node in nodes if isinstance(node, ast.Name) and node.id == name)
    inside = next((each for each in names if isinstance(each.ctx, ast.Store)), None)
    setting = inside or step.code.statements.get(name)
    if setting is None or isinstance(setting, DefinitionNode | ast.Import | ast.ImportFrom):
        return
    fact = f"{step.place(setting)} gives the name `{name}` to a value."
    look = f"So {what} is out of reach. What is a better name for that value?"
    yield Slip(_RAISED, rf"(?<![\w.]){seen}", fact, look)


def _set_later(step: WrittenStep) -> Iterator[Slip]:
    """A variable that is used above the first line that sets it."""
    for function in step.functions:
        used, setting = dict[str, ast.AST](), dict[str, ast.AST]()
        known = {*parameters_of(function.node), *_called(function.nodes)}  # told in other words
        for node in sorted(function.nodes, key=_number):
            match node:
                case ast.AugAssign(target=ast.Name(id=name)) | ast.Name(id=name, ctx=ast.Load()):
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


# The check's own call: the exception is from no line of the student's.
_CALLED = r"It raises .*(positional argument|required|unexpected keyword|multiple values)"


def _parameters(step: WrittenStep) -> Iterator[Slip]:
    """A `def` line with other parameters than it was handed out with."""
    for node, given in ((function.node, function.given) for function in step.functions):
        own, expected = parameters_of(node), parameters_of(given)
        more = isinstance(node, Definition) and (node.args.vararg or node.args.kwarg)
        if own == expected or more or not isinstance(given, Definition):
            continue
        left_over = own[:1] == ["self"] and "self" not in expected
        listed, wanted = (", ".join(each for each in names if each != "self" or left_over)[:200]
                          for names in (own, expected))  # fmt: skip
        fact = f"{step.place(node)} has the parameters ({listed}) in its `def`."
        look = f"They were handed out as ({wanted}), and the check hands values over like that."
        if left_over:
            look = "`self` belongs to the methods of a class only, and this is a function."
        if sorted(own) == sorted(expected):
            yield Slip((*_RAISED, *_UNLIKE), "", fact, look)
        else:
            yield Slip(_RAISED, _CALLED, fact, look)
        for name in (each for each in expected if each not in own):
            words = f"It uses `{name}`, but the `def` in {step.line(node)} has ({listed})."
            look = "A parameter has one name, above and below."
            yield Slip(_RAISED, _undefined(name), words, look)


def _from_outside(step: WrittenStep) -> Iterator[Slip]:
    """A variable of the file that a function uses, while a parameter of its own is not used."""
    statements = step.code.statements
    for function in (each.node for each in step.functions):
        loaded = {node.id: node for node in reversed(nodes_in(function, MOST_NODES))
                  if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}  # fmt: skip
        unused = [each for each in parameters_of(function) if each not in {"self", *loaded}]
        known = names_bound_in(function)
        for name in loaded.keys() & statements.keys() - known if unused else ():
            if not _is_meant(statements[name], name, unused):
                continue
            listed = " and ".join(map(quoted, unused))
            fact = (
                f"{step.place(loaded[name])} uses {quoted(name)}, which "
                f"{step.line(statements[name])} sets outside the function. {listed} "
                f"{'is' if len(unused) == 1 else 'are'} not used."
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


# In the order in which they are told: the first that explains a finding.
NAME_RULES = (_absent, _reused, _overwritten, _set_later, _parameters, _unknown, _from_outside)
