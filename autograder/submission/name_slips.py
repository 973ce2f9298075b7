"""Slips with names: parameters changed, and variables that are used where they are not known."""

from __future__ import annotations

import ast
import builtins
import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from autograder.judging.explanation import IMPORTS, keyword_meant
from autograder.judging.library_words import home_of
from autograder.model.signature import Definition, signature_in
from autograder.model.verdict import Outcome
from autograder.submission.cells import DefinitionNode
from autograder.submission.slip import Slip, WrittenStep, capitalized, line_words, quoted
from autograder.submission.syntax_tree import (
    MOST_NODES,
    methods_of,
    names_bound_in,
    names_of_statements,
    nodes_in,
    parameters_of,
)

# The names that a submission's code makes known outside its functions, and inside them.


@dataclass(frozen=True)
class CodeNames:
    """What the code as a whole makes known: the statement that sets each name, and functions.

    library: the array library of the exercise. live: whether it runs in the kernel of a notebook,
    which knows what ran there before. imported: the names of modules, and of what is from them.
    """

    statements: Mapping[str, ast.stmt]
    functions: Mapping[str, frozenset[str]]
    steps: tuple[str, ...]
    notebook: bool
    library: str
    live: bool
    imported: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        trees: Sequence[ast.Module],
        steps: Sequence[str],
        library: str,
        *,
        notebook: bool,
        live: bool,
    ) -> CodeNames:
        """Collect the names of cells."""
        statements: dict[str, ast.stmt] = {}
        functions: dict[str, frozenset[str]] = {}
        imported: set[str] = set()
        for tree in trees:
            for node, names in zip(tree.body, names_of_statements(tree), strict=True):
                # Of a large statement, only these names are told.
                bound = names.bound if names.whole else frozenset(names_bound_in(node))
                if isinstance(node, DefinitionNode):
                    functions[node.name] = bound - {node.name}
                    statements[node.name] = node
                else:
                    if isinstance(node, ast.Import | ast.ImportFrom):
                        imported |= bound
                    statements |= dict.fromkeys(bound, node)
        return cls(
            statements, functions, tuple(steps), notebook, library, live, frozenset(imported)
        )


# Names that a step uses and that nothing sets: what they are, or what may be meant.

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
