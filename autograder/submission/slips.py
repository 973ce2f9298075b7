"""All slips of writing in one submission, by step."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from autograder.model.exercise import Exercise
from autograder.model.signature import Definition
from autograder.model.verdict import CheckVerdict, Finding, Outcome, StepVerdict
from autograder.submission.body_slips import body_slips
from autograder.submission.cells import DefinitionNode, parsed, top_level
from autograder.submission.file_text import is_notebook
from autograder.submission.missing_import import absent_modules
from autograder.submission.missing_step import misplaced, repeated
from autograder.submission.name_slips import CodeNames, name_slips
from autograder.submission.reading import Submission
from autograder.submission.slip import Slip, WrittenStep, capitalized, line_words, quoted
from autograder.submission.syntax_tree import methods_of, names_bound_in, parameters_of

# Slips in the writing of a class: methods misspelt, misplaced, decorated or without `self`.

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


# What a class hands to a step that cannot work with it: told where the class made it.

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


# Results that are thrown away: a line that computes something new and keeps nothing of it.

_DROPPED = (Outcome.WRONG_VALUES, Outcome.WRONG_SHAPE)
# What is raised when axes or memory are not as that line would have made them.
_DROPPED_SHAPE = r"view size|shapes|must match the size|matrix product"
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
                yield Slip(_DROPPED, "", fact, look)
                yield Slip((Outcome.RAISED,), _DROPPED_SHAPE, fact, look)


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


# Parameters of a step by the names that its stub gives them.
#
# A check knows the arguments of a call only by their numbers; the text of the exercise has the
# names.

CONSTRUCTOR = "__init__"
_NUMBERED = re.compile(rf"\bargument number (\d+)\b( of `{CONSTRUCTOR}`)?")


def called_function(node: DefinitionNode | None) -> Definition | None:
    """Return the function whose arguments a check speaks of; in a class, its only other method.

    None where a class has several.
    """
    if not isinstance(node, ast.ClassDef):
        return node
    others = [method for name, method in methods_of(node).items() if name != CONSTRUCTOR]
    return others[0] if len(others) == 1 else None


def by_parameter_name(
    checks: Iterable[CheckVerdict], step: str, given: str
) -> tuple[CheckVerdict, ...]:
    """Return the verdicts of a step's checks with names, from the exercise's text, for numbers."""
    checks = tuple(checks)
    if not any(check.finding and _NUMBERED.search(check.finding.message) for check in checks):
        return checks
    tree = parsed(given)
    node = {each.name: each for each in top_level(tree)}.get(step) if tree else None
    made = methods_of(node).get(CONSTRUCTOR) if isinstance(node, ast.ClassDef) else None
    called, constructor = _names(called_function(node)), _names(made)

    def name(found: re.Match[str]) -> str:
        names, place = (constructor if found[2] else called), int(found[1]) - 1
        return f"`{names[place]}`{found[2] or ''}" if place < len(names) else found[0]

    return tuple(_renamed(check, lambda text: _NUMBERED.sub(name, text)) for check in checks)


def step_by_parameter_name(step: StepVerdict, given: str) -> StepVerdict:
    """Return the verdict on a step with the names of its parameters, as `by_parameter_name`."""
    return replace(step, checks=by_parameter_name(step.checks, step.name, given))


def _names(function: Definition | None) -> list[str]:
    return [each for each in parameters_of(function) if each != "self"] if function else []


def _renamed(check: CheckVerdict, rename: Callable[[str], str]) -> CheckVerdict:
    finding = check.finding
    if finding is None:
        return check
    told: Finding = replace(
        finding,
        fact=rename(finding.fact),
        right=rename(finding.right),
        look=rename(finding.look),
        details=tuple(map(rename, finding.details)),
    )
    return replace(check, finding=told)


# The line that changes what the caller gave: told where a check saw that, and one line does it.

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


# Slips of precision: a dtype that is not taken from the inputs, of a new tensor or by its name.

_MAKERS = ("zeros", "ones", "full", "empty", "eye", "tensor", "linspace", "rand", "randn")
# The dtype that a name stands for, as text or as an attribute of the library.
_DTYPES = {"single": "float32", "half": "float16", "double": "float64"} | {
    name: name for name in ("float16", "bfloat16", "float32", "float64")
}
_CASTS = {"float": "float32", "half": "float16", "double": "float64", "bfloat16": "bfloat16"}
_RETURNED = r"is {dtype}, but the inputs"
_MIXED = r"of different precision"
_MEETS = "Two tensors of different precision meet there."


def precision_slips(step: WrittenStep) -> Iterator[Slip]:
    """Yield the lines of a step that make a tensor of PyTorch without a dtype, or name one."""
    for _, function in step.functions:
        for node in step.own_nodes(function):
            place = capitalized(step.line(node))
            if maker := _maker(node):
                dtype = "float32"
                look = (
                    f"{place} makes a tensor with `torch.{maker}`, and its dtype is not taken from "
                    "the inputs. `dtype=`, `torch.zeros_like` or `x.new_zeros` can do that."
                )
            elif dtype := _named_dtype(node):
                look = (
                    f"{place} asks for {dtype}, whatever the inputs are. Where could your code "
                    "read which dtype they have?"
                )
            else:
                continue
            yield Slip((Outcome.WRONG_TYPE,), _RETURNED.format(dtype=dtype), "", look)
            yield Slip((Outcome.RAISED,), _MIXED, "", f"{_MEETS} {look}")


def _maker(node: ast.AST) -> str:
    """Return the function of PyTorch that a call makes a tensor with, if it is given no dtype."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="torch"), attr=maker), keywords=named
        ) if maker in _MAKERS and all(each.arg not in ("dtype", None) for each in named):
            return maker
    return ""


def _named_dtype(node: ast.AST) -> str:
    """Return the dtype that a node asks for by its name, or by a method named after it."""
    match node:
        case ast.Call(func=ast.Attribute(attr=cast), args=[], keywords=[]):
            return _CASTS.get(cast, "")
        case ast.Attribute(value=ast.Name(id="torch"), attr=name):
            return _DTYPES.get(name, "")
        case ast.Constant(value=str(text)):
            return _DTYPES.get(text, "")
    return ""


_UNTRAINED = (Outcome.RAISED, Outcome.WRONG_TYPE, Outcome.WRONG_VALUES)
_WRONG = (*_UNTRAINED, Outcome.WRONG_SHAPE, Outcome.TIMED_OUT)
_UNGRADED = r"require grad|grad_fn|gradient"
_UNLIKE = (Outcome.WRONG_TYPE, Outcome.RAISED)
_OTHER_PRECISION = r"float64|float16|same dtype|different precision"
_SWITCHES = ("set_grad_enabled", "inference_mode")


def slips_in(
    submission: Submission, exercise: Exercise, given: str, only: str = "", *, live: bool = False
) -> Mapping[str, list[Slip]]:
    """Return the slips of every step, or of the one that is named.

    `given` is the text of the exercise, with its signatures. `live` says that the code runs in the
    kernel of its notebook.
    """
    readable = [(tree, cell) for cell in submission.cells if (tree := parsed(cell))]
    trees = [tree for tree, _ in readable]
    notebook = is_notebook(submission.path)
    handed_out = parsed(given)
    originals = {node.name: node for node in top_level(handed_out)} if handed_out else {}
    written = {node.name: (node, cell) for tree, cell in readable for node in top_level(tree)}
    names = [step.name for step in exercise.steps]
    known = CodeNames.of(trees, names, exercise.library, notebook=notebook, live=live)
    absent = absent_modules(trees, exercise.library, given)
    steps = [
        WrittenStep(name, node, originals.get(name), cell, notebook)
        for name, (node, cell) in written.items()
        if name in names
    ]
    found: dict[str, list[Slip]] = {name: list(_settings(trees, notebook)) for name in names}
    for step in (each for each in steps if only in ("", each.name)):
        found[step.name] += body_slips(step)
        found[step.name] += dropped_result_slips(step, names)
        found[step.name] += class_slips(step, trees, names)
        found[step.name] += precision_slips(step)
        found[step.name] += handed_over_slips(step, steps)
        found[step.name] += _absent_names(step, absent, known)
        found[step.name] += name_slips(step, known)
        found[step.name] += overwriting_slips(step)
    for name, look in repeated(submission.cells, exercise).items():
        found[name].append(Slip(_WRONG, "", "", look, beside=True))
    elsewhere = misplaced(submission.cells, exercise, originals) | dict(submission.not_run)
    for name, look in elsewhere.items():
        found[name].append(Slip((Outcome.NOT_WRITTEN,), rf"`{name}`", "", look))
    return found


def _settings(trees: Sequence[ast.Module], notebook: bool) -> Iterator[Slip]:
    """A switch outside the functions that changes what the library does in all of them."""
    for tree in trees:
        for node in tree.body:
            match node:
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name), args=arguments)) if (
                    name in _SWITCHES and not (arguments and _is_true(arguments[0]))
                ):
                    fact = f"{capitalized(line_words(node, notebook))} calls `{name}`."
                    look = "From there on, PyTorch records no gradients, in all of your code."
                    yield Slip(_UNTRAINED, _UNGRADED, fact, look)
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr="set_default_dtype"))):
                    fact = f"{capitalized(line_words(node, notebook))} calls `set_default_dtype`."
                    look = "From there on, PyTorch makes tensors in that precision, in all of your "
                    yield Slip(_UNLIKE, _OTHER_PRECISION, fact, f"{look}code.")
                case ast.Expr(
                    value=ast.Call(func=ast.Attribute(attr="seterr"), keywords=named)
                ) if any(_is_text(each.value, "raise") for each in named):
                    fact = f"{capitalized(line_words(node, notebook))} calls `seterr`."
                    look = (
                        "From there on, NumPy raises an error where it would only warn: also where "
                    )
                    look += "a number that is nearly 0 becomes 0."
                    yield Slip((Outcome.RAISED,), r"FloatingPointError", fact, look)
                case ast.Expr(
                    value=ast.Call(
                        func=ast.Attribute(attr="simplefilter" | "filterwarnings" as name),
                        args=[first, *_],
                    )
                ) if _is_text(first, "error"):
                    fact = f"{capitalized(line_words(node, notebook))} calls `{name}`."
                    look = "From there on, what is only a warning raises an error."
                    yield Slip((Outcome.RAISED,), r"`\w*Warning\b", fact, look)


def _is_text(node: ast.expr, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _absent_names(step: WrittenStep, absent: Mapping[str, str], names: CodeNames) -> Iterator[Slip]:
    """The names in a step that come from a module which is not there."""
    for name, module in absent.items():
        setting = names.statements.get(name)
        if setting is not None:
            place = capitalized(line_words(setting, names.notebook))
            fact = f"`{name}` comes from `{module}`, which is not there when your code is graded."
            look = f"{place} imports it. The exercise needs only what it imports itself."
            yield Slip((Outcome.RAISED,), rf"name '{re.escape(name)}' is not defined", fact, look)
