"""All slips of writing in one submission, by step: what each looks like, and what is told of it."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from autograder.submission.cells import DefinitionNode, definitions_in, lines_of, parsed
from autograder.submission.file_text import is_notebook
from autograder.submission.missing_import import absent_modules
from autograder.submission.missing_step import (
    is_stub,
    misplaced,
    raises_not_implemented,
    repeated,
)
from autograder.submission.name_slips import NAME_RULES
from autograder.submission.reading import Submission
from autograder.submission.slip import (
    Sight,
    Slip,
    SlipRule,
    WholeCode,
    WrittenStep,
    arguments_of,
    called_function,
    capitalized,
    line_words,
    quoted,
)
from autograder.submission.syntax_tree import (
    called_name,
    is_text,
    methods_of,
    names_bound_in,
    nodes_in,
    parameters_of,
)
from autograder.values.exercise import Definition, Exercise
from autograder.values.symbols import not_written
from autograder.values.verdict import Outcome

_RAISED, _TIMED_OUT, _UNTYPED = (Outcome.RAISED,), (Outcome.TIMED_OUT,), (Outcome.WRONG_TYPE,)
_DIFFERENT = (Outcome.WRONG_VALUES, Outcome.WRONG_SHAPE)
_WRONG = (*_DIFFERENT, Outcome.WRONG_TYPE)
_UNLIKE = (Outcome.WRONG_TYPE, Outcome.RAISED)


# Where a function shows a slip: each yields the place, and the words for what is told of it.


def _calls(pattern: str) -> Callable[[WrittenStep], Iterator[Sight]]:
    """Find calls by the name of what is called, as `called_name` gives it."""
    names = re.compile(pattern)

    def found(function: WrittenStep) -> Iterator[Sight]:
        for node in function.nodes:
            if isinstance(node, ast.Call) and names.fullmatch(name := called_name(node)):
                yield node, {"called": name, "method": name.split(".")[-1]}

    return found


def _left_over(function: WrittenStep) -> Iterator[Sight]:
    """The line of a stub that stands above or below the student's code."""
    left = next((each for each in function.node.body if raises_not_implemented(each)), None)
    if left is not None and not is_stub(function.node):
        yield left, {}


def _compiled(function: WrittenStep) -> Iterator[Sight]:
    """A decorator that compiles the function at its first call."""
    decorators = function.node.decorator_list
    return ((each, {}) for each in decorators if called_name(each) == "torch.compile")


def _coroutine(function: WrittenStep) -> Iterator[Sight]:
    if isinstance(function.node, ast.AsyncFunctionDef):
        yield function.node, {}


def _yields(function: WrittenStep) -> Iterator[Sight]:
    for node in function.nodes:
        if isinstance(node, ast.Yield | ast.YieldFrom):
            yield node, {"word": "yield" if isinstance(node, ast.Yield) else "yield from"}


def _generators(function: WrittenStep) -> Iterator[Sight]:
    for node in function.nodes:
        if isinstance(node, ast.Return) and isinstance(node.value, ast.GeneratorExp):
            yield node, {}


def _calls_itself(function: WrittenStep) -> Iterator[Sight]:
    yield from _calls(rf"(self\.)?{function.node.name}")(function)


def _commas(function: WrittenStep) -> Iterator[Sight]:
    """A comma at the end of a line, which makes a tuple of what stands before it."""
    for node in function.nodes:
        if isinstance(node, ast.Return | ast.Assign):
            match node.value:
                case ast.Tuple(elts=[only]) if only.col_offset == node.value.col_offset:
                    yield node, {}


def _uncalled(function: WrittenStep) -> Iterator[Sight]:
    for node in function.nodes:
        match node:
            case ast.Return(value=ast.Name(id=name) | ast.Attribute(attr=name)):
                yield node, {"named": quoted(name)}


def _early_returns(function: WrittenStep) -> Iterator[Sight]:
    for loop in function.nodes if not function.constructs else ():
        if isinstance(loop, ast.For | ast.AsyncFor | ast.While):
            yield from ((each, {}) for each in loop.body if isinstance(each, ast.Return))


def _lists(function: WrittenStep) -> Iterator[Sight]:
    """The line that makes a list of what should be an array."""
    for node in function.nodes:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.ListComp() | ast.List() | ast.Call(func=ast.Name(id="list" | "sorted")),
            ):
                yield node, {"made": f"makes {quoted(name)} a list"}
            case ast.Call(func=ast.Attribute(attr="tolist")):
                yield node, {"made": "makes a list with `tolist`"}


def _in_place(function: WrittenStep) -> Iterator[Sight]:
    """The line that changes a tensor in place, where a backward pass may need what stood there."""
    for node in function.nodes:
        if isinstance(node, ast.AugAssign) and not isinstance(node.value, ast.Constant):
            target = node.target.value if isinstance(node.target, ast.Subscript) else node.target
            if isinstance(target, ast.Name):
                yield node, {"name": quoted(target.id)}


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


def _dropped(function: WrittenStep) -> Iterator[Sight]:
    """The line that calls for a new array, or for a step, and drops the result."""
    steps = function.code.steps
    for node in function.nodes:
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
            continue
        owner, _, name = called_name(node.value).rpartition(".")
        new = _FUNCTIONS if owner in _LIBRARIES else _PURE if owner else steps
        if name in new:
            yield node, {"name": name, "who": _STEP if name in steps else _NEW}


# A dtype that is not taken from the inputs, of a new tensor or by its name.
_MAKERS = ("zeros", "ones", "full", "empty", "eye", "tensor", "linspace", "rand", "randn")
# The dtype that a name stands for, as text or as an attribute of the library.
_DTYPES = {"single": "float32", "half": "float16", "double": "float64"} | {
    name: name for name in ("float16", "bfloat16", "float32", "float64")
}
_CASTS = {"float": "float32", "half": "float16", "double": "float64", "bfloat16": "bfloat16"}
_MADE = (
    "makes a tensor with `torch.{}`, and its dtype is not taken from the inputs. `dtype=`, "
    "`torch.zeros_like` or `x.new_zeros` can do that."
)
_ASKED = "asks for {}, whatever the inputs are. Where could your code read which dtype they have?"


def _precisions(function: WrittenStep) -> Iterator[Sight]:
    """The line that makes a tensor of PyTorch without a dtype, or names one."""
    for node in function.nodes:
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="torch"), attr=maker), keywords=named
            ) if maker in _MAKERS and all(each.arg not in ("dtype", None) for each in named):
                yield node, {"dtype": "float32", "does": _MADE.format(maker)}
                continue
            case ast.Call(func=ast.Attribute(attr=cast), args=[], keywords=[]):
                dtype = _CASTS.get(cast)
            case ast.Attribute(value=ast.Name(id="torch"), attr=name):
                dtype = _DTYPES.get(name)
            case ast.Constant(value=str(text)):
                dtype = _DTYPES.get(text)
            case _:
                continue
        if dtype:
            yield node, {"dtype": dtype, "does": _ASKED.format(dtype)}


def _local_attributes(function: WrittenStep) -> Iterator[Sight]:
    """A variable of a class's `__init__`, which nobody else sees."""
    for node in function.nodes if function.constructs else ():
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node, {"name": node.id, "shown": quoted(node.id)}


# Rules that need more than a place: where the lines of a function end, and what they give back.

_NOTHING = r"returns None"
_MEASURES = ("size", "dim", "numel", "stride", "ndim", "shape", "type", "item")
# What is asked of an array to look at it, and of two to compare them.
_SUMMARIES = ("sum", "mean", "std", "var", "max", "min", "any", "all")
_TESTS = ("allclose", "array_equal", "isnan", "isfinite")
_BLOCKS = (ast.For, ast.AsyncFor, ast.While, ast.Try, ast.FunctionDef, ast.ClassDef)


def _outside(function: WrittenStep) -> Iterator[Slip]:
    """The line below a function that is not indented, and uses what belongs to the function."""
    tree, end = parsed(function.text), lines_of(function.node)[1]
    below = next((item for item in tree.body if item.lineno > end), None) if tree else None
    if below is None or isinstance(below, DefinitionNode) or function.constructs:
        return
    own, name = names_bound_in(function.node), function.name
    used = (each.id for each in nodes_in(below) if isinstance(each, ast.Name))
    shared = next((each for each in used if each in own), "")
    if shared:
        place = function.place(below)
        fact = f"{place} begins at the left margin, so it is no part of {quoted(name)}."
        look = (
            f"It uses {quoted(shared)}, as the function does. How far is the line above indented?"
        )
        seen = f"{_NOTHING}|{not_written(name)}"
        yield Slip((Outcome.WRONG_TYPE, Outcome.NOT_WRITTEN), seen, fact, look)


def _nothing_returned(function: WrittenStep) -> Iterator[Slip]:
    """A function that gives None, at its end or always."""
    body, name, look = function.node.body, quoted(function.name), ""
    returns = [item for item in function.nodes if isinstance(item, ast.Return)]
    full = [item for item in returns if item.value is not None]
    if function.constructs or any(item in body for item in full):
        return
    if full:
        place = function.line(full[0])
        fact = f"{name} has a `return` in {place}, but not every way leads there."
    elif returns:
        place = function.line(returns[0])
        fact = f"The `return` in {place} has no value, so {name} gives None."
    elif printed := _printed_result(body):
        place = function.place(printed)
        fact = f"{place} prints the result; `return` gives it to the caller."
        look = "What is printed is for people to read. The next step needs the value itself."
    else:
        fact = f"{name} ends in {function.line(body[-1])} without a `return`, so it gives None."
        work = _before_the_prints(body)
        if isinstance(work, ast.Assign) and isinstance(work.targets[0], ast.Name):
            place = "That line" if work is body[-1] else function.place(work)
            look = f"{place} sets {quoted(work.targets[0].id)}, and the caller never sees it."
    yield Slip(_UNTYPED, _NOTHING, fact, look)


def _printed_result(body: Sequence[ast.stmt]) -> ast.stmt | None:
    """Return the `print` at the end of a function that shows what it computed last, if any."""
    ends = [body]
    while ends:  # without recursion: a chain of `elif` can be deeper than Python's own stack
        match (end := ends.pop())[-1]:
            case ast.With(body=inner):
                ends.append(inner)
            case ast.If(body=inner, orelse=other):
                ends += [other, inner] if other else [inner]
            case _:
                if printed := _result_in(end):
                    return printed
    return None


def _result_in(body: Sequence[ast.stmt]) -> ast.stmt | None:
    """Return the `print` of a result at the end of one block.

    That is a name that was set last, or something that is computed where it is printed.
    """
    work = _before_the_prints(body)
    known = names_bound_in(work) if work and not isinstance(work, _BLOCKS) else set()
    for item in reversed(body):
        shown = _printed(item)
        if not shown:
            return None
        if any(_is_named(each, known) or _computes(each, known) for each in shown):
            return item
    return None


def _before_the_prints(body: Sequence[ast.stmt]) -> ast.stmt | None:
    """Return the last statement of a function that does something else than print."""
    work = (item for item in reversed(body) if not _printed(item) and not is_text(item))
    return next(work, None)


def _printed(item: ast.stmt) -> list[ast.expr]:
    """Return what a statement prints, nothing if it is no `print`."""
    match item:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=shown)):
            return shown
    return []


def _is_named(value: ast.expr, known: Collection[str]) -> bool:
    return isinstance(value, ast.Name) and value.id in known


def _computes(value: ast.expr, known: Collection[str]) -> bool:
    """Whether an expression computes an array: `a @ b` and `np.exp(a)`, and no size or type.

    What is asked of an array that was set just before, one of `known`, only looks at it.
    """
    match value:
        case ast.BinOp():  # or it puts a text together, as in `"sum: %s" % total`
            return not any(
                isinstance(each, ast.JoinedStr)
                or (isinstance(each, ast.Constant) and isinstance(each.value, str))
                for each in nodes_in(value)
            )
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=given):
            its_own = _is_named(owner, known)
            looked = its_own or any(_is_named(each, known) for each in given)
            looks = looked and name in (*_SUMMARIES, *(() if its_own else _TESTS))
            return name not in _MEASURES and not looks
    return False


# Slips in the writing of a class: methods misspelt, misplaced, decorated or without `self`.

_ALIKE = 0.7
_BINDING = ("staticmethod", "classmethod", "property")
# How a class ends whose method is not there.
_ABSENT = (Outcome.NOT_WRITTEN, Outcome.RAISED, Outcome.WRONG_TYPE)


def _methods(step: WrittenStep) -> Iterator[Slip]:
    """What is wrong with the step itself, and with each method that was handed out."""
    yield from _decorators(step, step.node, step.name)
    if not isinstance(step.node, ast.ClassDef):
        return
    own = methods_of(step.node)
    for name, given in methods_of(step.given).items():
        if name not in own:
            yield from _absent(step, name)
            continue
        yield from _decorators(step, own[name], name)
        names, expected = parameters_of(own[name]), parameters_of(given)
        if names[:1] != expected[:1] and names == expected[1 : 1 + len(names)]:
            line = step.line(own[name])
            fact = f"The first parameter of {quoted(name)} in {line} is not `self`."
            look = "Python hands the object itself to every method, before all else."
            yield Slip(_RAISED, "", fact, look)


def _decorators(step: WrittenStep, node: DefinitionNode, name: str) -> Iterator[Slip]:
    for each in node.decorator_list:
        if isinstance(each, ast.Name) and each.id in _BINDING:
            what = "changes how Python calls" if each.id != "property" else "forbids to call"
            fact = f"`@{each.id}` in {step.line(each)} {what} {quoted(name)}."
            yield Slip(_RAISED, "", fact, "Hand it over as it was handed out: without that line.")


def _absent(step: WrittenStep, name: str) -> Iterator[Slip]:
    """Say where a method is that the class does not have."""
    seen = rf"`{name}`|no arguments|no attribute|\"{name}\"|positional argument|not written"
    within, outside = _within(step.node, name), step.code.definitions.get(name, (None,))[0]
    if within:
        outer, inner = within
        place = f"{step.place(inner)} defines `{name}` inside {quoted(outer)}"
        look = f"It has to begin in the same column as {quoted(outer)}."
    elif isinstance(outside, Definition):
        place = f"{step.place(outside)} defines `{name}` outside the class"
        look = "How far is a method indented?"
    else:
        known, own = methods_of(step.given), methods_of(step.node)
        alike = [each for each in own if each not in known]
        for close in difflib.get_close_matches(name, alike[:1000], n=1, cutoff=_ALIKE):
            place = f"{step.place(own[close])} defines {quoted(close)}"
            look = "There are two underscores on each side." if name.startswith("__") else ""
            yield Slip(_ABSENT, seen, f"{place}. Is that `{name}`, misspelt?", look)
        return
    fact = f"{place}, so {quoted(step.name)} does not have it."
    yield Slip(_ABSENT, seen, fact, look)


def _within(node: DefinitionNode, name: str) -> tuple[str, Definition] | None:
    """Return the method that has a function of this name inside, and that function."""
    for outer in methods_of(node).values():
        for child in nodes_in(outer):
            if isinstance(child, Definition) and child is not outer and child.name == name:
                return outer.name, child
    return None


def _steps_of_self(step: WrittenStep) -> Iterator[Slip]:
    """Say that a step is a function, where it is called like a method."""
    own = names_bound_in(step.node)
    for node in nodes_in(step.node) if isinstance(step.node, ast.ClassDef) else ():
        owner, _, name = called_name(node).rpartition(".")
        is_call = isinstance(node, ast.Call) and owner == "self"
        if is_call and name in step.code.steps and name not in own:
            fact = f"{step.place(node)} looks for `{name}` on `self`."
            look = f"`{name}` is a function of its own. It belongs to no class."
            yield Slip(_RAISED, rf"no attribute '{re.escape(name)}'", fact, look)


# What a class hands to a step that cannot work with it: told where the class made it.

# A line is known by its number and its beginning: in a notebook, numbers begin anew in each cell.
_MOST_LINES, _MUCH = 300, 40
# Where the first call is right, what is kept from it is the cause, and that is told.
_KEPT = r"Called once|Once a second|After a first call"
_UNFIT = r"broadcast|do not line up|must match the size|matrix product"


def _handed_over(step: WrittenStep) -> Iterator[Slip]:
    """Yield, for a class, where it calls each step and where the arguments were made.

    It is told when shapes do not fit in a line of the called step, which is the class's doing when
    that step is right by itself.
    """
    calls: dict[str, list[tuple[WrittenStep, ast.Call]]] = {}
    for method in step.functions if isinstance(step.node, ast.ClassDef) else ():
        for node in method.nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                calls.setdefault(node.func.id, []).append((method, node))
    for name, (target, text) in step.code.definitions.items():
        found = calls.get(name, []) if name in step.code.steps else []
        if isinstance(target, Definition) and len(found) == 1:  # which of several, nobody knows
            yield _given_away(*found[0], target, text)


def _given_away(method: WrittenStep, call: ast.Call, target: Definition, text: str) -> Slip:
    first, last = target.lineno, target.end_lineno or target.lineno
    lines = text.split("\n")[first - 1 : min(last, first + _MOST_LINES)]
    begin = (f"{number}, `{line.strip()[:_MUCH]}" for number, line in enumerate(lines, start=first))
    lines_there = "|".join(map(re.escape, begin))
    seen = rf"(?s)\A(?!{_KEPT}).*?\bLine ({lines_there})(?=.*({_UNFIT}))"
    place = f"In {quoted(method.node.name)}, {method.line(call)}"
    fact = f"{place} gives `{target.name}` shapes that do not fit."
    calls = [each.func for each in call.args if isinstance(each, ast.Call)]
    inside = [each.id for each in calls if isinstance(each, ast.Name)]
    made = [_made(method, call, each) for each in reversed(call.args)]
    look = " ".join(dict.fromkeys(sentence for sentence in made if sentence))
    if inside:
        look = f"{quoted(inside[-1])} is called there too. From which axis does it get its size?"
    look = look or "Which axis is each of them made for?"
    return Slip(_RAISED, seen, fact, look, all_right=True)


def _made(method: WrittenStep, call: ast.Call, argument: ast.expr) -> str:
    """Say where a variable that is handed over was set, if it was not with the call itself."""
    if not isinstance(argument, ast.Name):
        return ""
    lines = [
        node
        for node in method.nodes
        if isinstance(node, ast.Assign)
        and node.lineno < call.lineno
        and any(_is_named(each, [argument.id]) for each in node.targets)
    ]
    return f"{quoted(argument.id)} is set in {method.line(lines[-1])}." if lines else ""


# The line that changes what the caller gave: told where a check saw that, and one line does it.

_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.Div: "/=", ast.MatMult: "@=", ast.Pow: "**=",
}  # fmt: skip


def _overwriting(step: WrittenStep) -> Iterator[Slip]:
    """Yield, for each parameter that exactly one line changes, what that line does."""
    called, given = called_function(step.node), called_function(step.given)
    function = next((each for each in step.functions if each.node is called), None)
    if function is None or given is None:
        return
    for number, name in enumerate(arguments_of(given), start=1):
        found = list(_changes(function.nodes, name))
        if len(found) == 1:
            node, what = found[0]
            # The words of a known mistake speak of an operator, and leave the line to the student.
            known = r"\A[^\n]*" if isinstance(node, ast.AugAssign) else ""
            seen = rf"{known}It overwrites argument number {number}\b"
            yield Slip((Outcome.WRONG_VALUES,), seen, "", f"{step.place(node)} {what}")


def _changes(nodes: Sequence[ast.AST], name: str) -> Iterator[tuple[ast.AST, str]]:
    """Yield each place of a function that changes the value of a parameter, and what it does.

    None where the name stands for something else from some line on.
    """
    if _is_set_anew(nodes, name):
        return
    for node in nodes:
        match node:
            case ast.AugAssign(target=target, op=operator) if _is_of(target, name):
                sign = _SIGNS.get(type(operator))
                shown = f"`{sign}`" if sign else "an operator with `=`"
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


# What is seen of a generator: it is unpacked, as far as it may be.
_SEQUENCE = r"returns (a list or tuple of \d|\d+ values|an object of type generator)"
_LATER = "A generator gives its values later, one at a time. What is asked for is the result."
# What is said where only the numbers show that something is wrong.
_UNEXPLAINED = r"\A[^\n]*(NaN|different numbers|as expected|others are not|the result holds)"
# What is raised when axes or memory are not as a line that is dropped would have made them.
_DROPS = "{Line} calls `{name}` and drops the result."
_OTHER_AXES = r"view size|shapes|must match the size|matrix product"

# Of each function, in the order in which they are told: the first that explains a finding.
_RULES = (
    SlipRule(
        _left_over,
        (Outcome.NOT_WRITTEN,),
        f"^{not_written('{function}')}|^{not_written('{step}')}",
        "{Line} still raises `NotImplementedError`: delete it.",
        "",
        becomes=Outcome.RAISED,
    ),
    SlipRule(
        _calls(r"breakpoint|set_trace|pdb\.set_trace"),
        _RAISED,
        "BdbQuit",
        "{Line} calls `{called}()`, which waits for your keys.",
        "A check has no keyboard, so the call ends there. Take that line out: "
        "`attn check {step} --debug` stops in your function and listens to your keys.",
    ),
    SlipRule(
        _compiled,
        _TIMED_OUT,
        "",
        "{Line} has `torch.compile`, and the first call, which compiles, was not done in time.",
        "Your function computes the same without it.",
    ),
    SlipRule(
        _compiled,
        _RAISED,
        "Inductor|(?i:torch_?dynamo)",
        "{Line} has `torch.compile`, and nothing can be compiled where your code is graded.",
        "Your function computes the same without it.",
    ),
    SlipRule(
        _coroutine,
        _UNLIKE,
        r"\bcoroutine\b",
        "{Line} has `async def`: a call of `{function}` gives a coroutine and runs none of its "
        "lines.",
        "What is written before `def` where a function runs at once?",
    ),
    SlipRule(
        _yields,
        _UNTYPED,
        _SEQUENCE,
        "{Line} has `{word}`, so `{function}` returns a generator.",
        _LATER,
    ),
    SlipRule(
        _generators,
        _UNTYPED,
        _SEQUENCE,
        "{Line} returns a generator: it has a `for` in round brackets.",
        _LATER,
    ),
    SlipRule(
        _commas,
        _UNTYPED,
        "tuple of 1,",
        "",
        "{Line} ends with a comma: that makes a tuple of one.",
    ),
    SlipRule(
        _uncalled,
        _UNTYPED,
        "returns a function",
        "",
        "{Line} names {named} and does not call it: a call has round brackets.",
    ),
    SlipRule(
        _calls_itself,
        _RAISED,
        "RecursionError",
        "{Line} calls `{function}` inside itself, so no call comes to its end.",
        "Which function is meant there?",
    ),
    SlipRule(
        _early_returns,
        _WRONG,
        "",
        "{Line} returns inside the loop, so the loop ends in its first round.",
        "Where must the `return` stand, so that every round runs?",
    ),
    _outside,
    _nothing_returned,
    SlipRule(
        _lists,
        _RAISED,
        "'list'|must be Tensor, not list",
        "",
        "{Line} {made}. A list does no arithmetic number by number, and has no axes.",
    ),
    SlipRule(
        _calls(r".*\.(empty|empty_like|new_empty)"),
        (Outcome.WRONG_VALUES,),
        _UNEXPLAINED,
        "",
        "{Line} makes an array with `{method}`: it holds whatever lay in memory, until your code "
        "sets its numbers. Does it set all?",
        beside=True,
    ),
    SlipRule(
        _in_place,
        _RAISED,
        "inplace operation|in-place operation",
        "{Line} changes {name} in place.",
        "The backward pass needs the numbers that stood there. How do you write that line so that "
        "it makes a new tensor?",
    ),
    SlipRule(_dropped, _DIFFERENT, "", _DROPS, "{who}"),
    SlipRule(_dropped, _RAISED, _OTHER_AXES, _DROPS, "{who}"),
    SlipRule(
        _local_attributes,
        _UNLIKE,
        "no attribute [`']{name}[`']",
        "{Line} sets a local {shown}: `self.` is missing.",
        "A variable of `__init__` is gone when that has run. What does an object keep?",
    ),
    SlipRule(_precisions, _UNTYPED, "is {dtype}, but the inputs", "", "{Line} {does}"),
    SlipRule(
        _precisions,
        _RAISED,
        "of different precision",
        "",
        "Two tensors of different precision meet there. {Line} {does}",
    ),
)
# Of each step as a whole, after those.
_STEP_RULES = (_methods, _steps_of_self, _handed_over, *NAME_RULES, _overwriting)


def slips_in(
    submission: Submission, exercise: Exercise, given: str, only: str = "", *, live: bool = False
) -> Mapping[str, list[Slip]]:
    """Return the slips of every step, or of the one that is named.

    `given` is the text of the exercise, with its signatures. `live` says that the code runs in the
    kernel of its notebook.
    """
    cells = [(tree, cell) for cell in submission.cells if (tree := parsed(cell))]
    trees = [tree for tree, _ in cells]
    originals = definitions_in(given)
    names = [step.name for step in exercise.steps]
    notebook, library = is_notebook(submission.path), exercise.library
    absent = absent_modules(trees, library, given)
    code = WholeCode(cells, originals, names, library, notebook, live, absent)
    found: dict[str, list[Slip]] = {name: list(_settings(trees, notebook)) for name in names}
    for name, (node, text) in code.definitions.items():
        if name in names and only in ("", name):
            step = WrittenStep(name, node, originals.get(name), text, code)
            for function in step.functions:
                found[name] += (slip for rule in _RULES for slip in rule(function))
            found[name] += (slip for step_rule in _STEP_RULES for slip in step_rule(step))
    for name, look in repeated(submission.cells, exercise).items():
        found[name].append(Slip((*_WRONG, *_RAISED, *_TIMED_OUT), "", "", look, beside=True))
    elsewhere = misplaced(submission.cells, exercise, originals) | dict(submission.not_run)
    for name, look in elsewhere.items():
        found[name].append(Slip((Outcome.NOT_WRITTEN,), rf"`{name}`", "", look))
    return found


# Calls outside the functions that change what the library does in all of them: the name, what it
# is called with, how checks end then and what they say, and what to tell the student.
_SETTINGS: Sequence[tuple[str, Callable[[ast.Call], bool], tuple[Outcome, ...], str, str]] = (
    (
        "set_grad_enabled|inference_mode",
        lambda call: not _constants(call.args[:1], True),
        (Outcome.RAISED, Outcome.WRONG_TYPE, Outcome.WRONG_VALUES),
        "require grad|grad_fn|gradient",
        "PyTorch records no gradients, in all of your code.",
    ),
    (
        "set_default_dtype",
        lambda _: True,
        _UNLIKE,
        "float64|float16|same dtype|different precision",
        "PyTorch makes tensors in that precision, in all of your code.",
    ),
    (
        "seterr",
        lambda call: _constants((each.value for each in call.keywords), "raise"),
        _RAISED,
        "FloatingPointError",
        "NumPy raises an error where it would only warn: also where a number that is nearly 0 "
        "becomes 0.",
    ),
    (
        "simplefilter|filterwarnings",
        lambda call: _constants(call.args[:1], "error"),
        _RAISED,
        r"`\w*Warning\b",
        "what is only a warning raises an error.",
    ),
)


def _settings(trees: Sequence[ast.Module], notebook: bool) -> Iterator[Slip]:
    for node in (node for tree in trees for node in tree.body):
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name)) as call):
                for names, does, outcomes, seen, what in _SETTINGS:
                    if re.fullmatch(names, name) and does(call):
                        fact = f"{capitalized(line_words(node, notebook))} calls `{name}`."
                        yield Slip(outcomes, seen, fact, f"From there on, {what}")


def _constants(nodes: Iterable[ast.expr], value: object) -> bool:
    """Whether one of the nodes is this very value."""
    return any(isinstance(each, ast.Constant) and each.value == value for each in nodes)
