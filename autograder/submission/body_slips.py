"""Slips inside a function: what is left over, printed and not returned, or returned too early."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from autograder.model.signature import Definition
from autograder.model.symbols import not_written
from autograder.model.verdict import Outcome
from autograder.submission.cells import DefinitionNode, lines_of, parsed
from autograder.submission.missing_step import is_stub, raises_not_implemented
from autograder.submission.slip import Slip, WrittenStep, capitalized, quoted
from autograder.submission.syntax_tree import names_bound_in, nodes_in

_WRONG = (Outcome.WRONG_VALUES, Outcome.WRONG_SHAPE, Outcome.WRONG_TYPE)
_NOTHING = r"returns None"
# What is seen of a generator: it is unpacked, as far as it may be.
_SEQUENCE = r"returns (a list or tuple of \d|\d+ values|an object of type generator)"
_MEASURES = ("size", "dim", "numel", "stride", "ndim", "shape", "type", "item")
# What is said where only the numbers show that something is wrong.
_UNEXPLAINED = r"\A[^\n]*(NaN|different numbers|as expected|others are not|the result holds)"
# What is asked of an array to look at it, and of two to compare them.
_SUMMARIES = ("sum", "mean", "std", "var", "max", "min", "any", "all")
_TESTS = ("allclose", "array_equal", "isnan", "isfinite")
_BLOCKS = (ast.For, ast.AsyncFor, ast.While, ast.Try, ast.FunctionDef, ast.ClassDef)
_LOOPS = ast.For | ast.AsyncFor | ast.While


def body_slips(step: WrittenStep) -> Iterator[Slip]:
    """Yield the slips inside the functions of a step."""
    for name, node in step.functions:
        yield from _leftover(step, name, node)
        yield from _breakpoint(step, node)
        yield from _compiled(step, node)
        if not name.endswith(".__init__"):
            yield from _coroutine(step, name, node)
            yield from _generator(step, name, node)
            yield from _too_early(step, node)
            yield from _outside(step, name, node)
            yield from _nothing_returned(step, name, node)
        yield from _lists(step, node)
        yield from _unset(step, node)
        yield from _in_place(step, node)


def _leftover(step: WrittenStep, name: str, node: Definition) -> Iterator[Slip]:
    """The line of a stub that stands above or below the student's code."""
    left = next((item for item in node.body if raises_not_implemented(item)), None)
    if left is None or is_stub(node):
        return
    words = f"{capitalized(step.line(left))} still raises `NotImplementedError`: delete it."
    seen = "|".join(f"^{not_written(each)}" for each in (name, step.name))
    yield Slip((Outcome.NOT_WRITTEN,), seen, words, becomes=Outcome.RAISED)


def _breakpoint(step: WrittenStep, node: Definition) -> Iterator[Slip]:
    """A stop for a debugger, which ends the function where nobody can type."""
    for item in step.own_nodes(node):
        called = _stop(item)
        if not called:
            continue
        fact = f"{capitalized(step.line(item))} calls `{called}()`, which waits for your keys."
        look = "A check has no keyboard, so the call ends there. Take that line out: "
        look += f"`attn debug {step.name}` stops in your function and listens to your keys."
        yield Slip((Outcome.RAISED,), r"BdbQuit", fact, look)
        return


def _stop(item: ast.AST) -> str:
    match item:
        case ast.Call(func=ast.Name(id="breakpoint" | "set_trace" as called)):
            return called
        case ast.Call(func=ast.Attribute(value=ast.Name(id="pdb"), attr="set_trace")):
            return "pdb.set_trace"
    return ""


def _too_early(step: WrittenStep, node: Definition) -> Iterator[Slip]:
    for loop in step.own_nodes(node):
        found = loop.body if isinstance(loop, _LOOPS) else []
        early = next((item for item in found if isinstance(item, ast.Return)), None)
        if early:
            fact = (
                f"{capitalized(step.line(early))} returns inside the loop, so the loop ends in "
                "its first round."
            )
            look = "Where must the `return` stand, so that every round runs?"
            yield Slip(_WRONG, "", fact, look)


def _compiled(step: WrittenStep, node: Definition) -> Iterator[Slip]:
    """A decorator that compiles the function at its first call, which takes long."""
    for item in node.decorator_list:
        made = item.func if isinstance(item, ast.Call) else item
        match made:
            case ast.Attribute(value=ast.Name(id="torch"), attr="compile"):
                place = f"{capitalized(step.line(item))} has `torch.compile`"
                look = "Your function computes the same without it."
                late = f"{place}, and the first call, which compiles, was not done in time."
                yield Slip((Outcome.TIMED_OUT,), "", late, look)
                failed = f"{place}, and nothing can be compiled where your code is graded."
                yield Slip((Outcome.RAISED,), r"Inductor|(?i:torch_?dynamo)", failed, look)


def _coroutine(step: WrittenStep, name: str, node: Definition) -> Iterator[Slip]:
    """An `async def`: a call runs none of its lines."""
    if isinstance(node, ast.AsyncFunctionDef):
        fact = f"{capitalized(step.line(node))} has `async def`: a call of {quoted(name)} gives a "
        fact += "coroutine and runs none of its lines."
        look = "What is written before `def` where a function runs at once?"
        yield Slip((Outcome.WRONG_TYPE, Outcome.RAISED), r"\bcoroutine\b", fact, look)


def _generator(step: WrittenStep, name: str, node: Definition) -> Iterator[Slip]:
    """A `yield`, or a loop in round brackets: what comes back gives its values one by one."""
    look = "A generator gives its values later, one at a time. What is asked for is the result."
    for item in step.own_nodes(node):
        fact = ""
        if isinstance(item, ast.Yield | ast.YieldFrom):
            word = "yield" if isinstance(item, ast.Yield) else "yield from"
            fact = f"{capitalized(step.line(item))} has `{word}`, so {quoted(name)} returns a "
            fact += "generator."
        elif isinstance(item, ast.Return) and isinstance(item.value, ast.GeneratorExp):
            fact = f"{capitalized(step.line(item))} returns a generator: it has a `for` in round "
            fact += "brackets."
        if fact:
            yield Slip((Outcome.WRONG_TYPE,), _SEQUENCE, fact, look)
            return


def _outside(step: WrittenStep, name: str, node: Definition) -> Iterator[Slip]:
    """The line below a function that is not indented, and uses what belongs to the function."""
    tree = parsed(step.text)
    below = [item for item in tree.body if item.lineno > lines_of(node)[1]] if tree else []
    if not below or isinstance(below[0], DefinitionNode):
        return
    own = names_bound_in(node)
    used = [each.id for each in nodes_in(below[0]) if isinstance(each, ast.Name)]
    shared = next((each for each in used if each in own), "")
    if shared:
        place = capitalized(step.line(below[0]))
        fact = f"{place} begins at the left margin, so it is no part of {quoted(name)}."
        look = (
            f"It uses {quoted(shared)}, as the function does. How far is the line above indented?"
        )
        seen = f"{_NOTHING}|{not_written(name)}"
        yield Slip((Outcome.WRONG_TYPE, Outcome.NOT_WRITTEN), seen, fact, look)


def _nothing_returned(step: WrittenStep, name: str, node: Definition) -> Iterator[Slip]:
    returns = [item for item in step.own_nodes(node) if isinstance(item, ast.Return)]
    full = [item for item in returns if item.value is not None]
    function, last = quoted(name), node.body[-1]
    printed, look = _printed_result(node.body), ""
    if full and not any(item in node.body for item in full):
        fact = f"{function} has a `return` in {step.line(full[0])}, but not every way leads there."
    elif full:
        return
    elif returns:
        fact = f"The `return` in {step.line(returns[0])} has no value, so {function} gives None."
    elif printed:
        place = capitalized(step.line(printed))
        fact = f"{place} prints the result; `return` gives it to the caller."
        look = "What is printed is for people to read. The next step needs the value itself."
    else:
        fact = f"{function} ends in {step.line(last)} without a `return`, so it gives None."
        work = _before_the_prints(node.body)
        if isinstance(work, ast.Assign) and isinstance(work.targets[0], ast.Name):
            place = "That line" if work is last else capitalized(step.line(work))
            look = f"{place} sets {quoted(work.targets[0].id)}, and the caller never sees it."
    yield Slip((Outcome.WRONG_TYPE,), _NOTHING, fact, look)


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
        named = any(isinstance(each, ast.Name) and each.id in known for each in shown)
        if named or any(_computes(each, known) for each in shown):
            return item
    return None


def _before_the_prints(body: Sequence[ast.stmt]) -> ast.stmt | None:
    """Return the last statement of a function that does something else than print."""
    work = (item for item in reversed(body) if not _printed(item) and not _is_text(item))
    return next(work, None)


def _is_text(item: ast.stmt) -> bool:
    return isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)


def _printed(item: ast.stmt) -> list[ast.expr]:
    """Return what a statement prints, nothing if it is no `print`."""
    match item:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=shown)):
            return shown
    return []


def _computes(value: ast.expr, known: Collection[str]) -> bool:
    """Whether an expression computes an array: `a @ b` and `np.exp(a)`, and no size or type.

    What is asked of an array that was set just before, one of `known`, only looks at it.
    """
    match value:
        case ast.BinOp():
            return not _is_text_made(value)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)) if owner in known:
            return name not in (*_MEASURES, *_SUMMARIES)
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=given):
            looked = any(isinstance(each, ast.Name) and each.id in known for each in given)
            return name not in _MEASURES and not (looked and name in (*_SUMMARIES, *_TESTS))
    return False


def _is_text_made(value: ast.BinOp) -> bool:
    """Whether a text is put together, as in `"sum: %s" % total`."""
    return any(
        isinstance(each, ast.JoinedStr)
        or (isinstance(each, ast.Constant) and isinstance(each.value, str))
        for each in nodes_in(value)
    )


def _lists(step: WrittenStep, node: Definition) -> Iterator[Slip]:
    """The line that makes a list of what should be an array."""
    for item in step.own_nodes(node):
        match item:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_list(value):
                words = f"{capitalized(step.line(item))} makes {quoted(name)} a list."
            case ast.Call(func=ast.Attribute(attr="tolist")):
                words = f"{capitalized(step.line(item))} makes a list with `tolist`."
            case _:
                continue
        look = f"{words} A list does no arithmetic number by number, and has no axes."
        yield Slip((Outcome.RAISED,), r"'list'|must be Tensor, not list", "", look)


def _unset(step: WrittenStep, node: Definition) -> Iterator[Slip]:
    """The line that makes an array without setting its numbers, where some are not explained."""
    for item in step.own_nodes(node):
        match item:
            case ast.Call(func=ast.Attribute(attr="empty" | "empty_like" | "new_empty" as maker)):
                look = (
                    f"{capitalized(step.line(item))} makes an array with `{maker}`: it holds "
                    "whatever lay in memory, until your code sets its numbers. Does it set all?"
                )
                yield Slip((Outcome.WRONG_VALUES,), _UNEXPLAINED, "", look, beside=True)
                return


def _in_place(step: WrittenStep, node: Definition) -> Iterator[Slip]:
    """The line that changes a tensor in place, where a backward pass fails for such a line."""
    for item in step.own_nodes(node):
        if isinstance(item, ast.AugAssign) and not isinstance(item.value, ast.Constant):
            target = item.target.value if isinstance(item.target, ast.Subscript) else item.target
            if isinstance(target, ast.Name):
                place = capitalized(step.line(item))
                fact = f"{place} changes {quoted(target.id)} in place."
                look = (
                    "The backward pass needs the numbers that stood there. How do you write that "
                    "line so that it makes a new tensor?"
                )
                yield Slip((Outcome.RAISED,), r"inplace operation|in-place operation", fact, look)


def _is_list(value: ast.expr) -> bool:
    match value:
        case ast.ListComp() | ast.List() | ast.Call(func=ast.Name(id="list" | "sorted")):
            return True
    return False
