"""Wrong lines for a step, taken from its known mistakes, or made by exchanging two names.

A line fits in place of one of the reference if it returns as that does, or gives the same names a
value, and reads only names that the step has. Whether it is wrong there is not decided here.
"""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from autograder.ladder.rungs import PuzzleLine
from autograder.ladder.statements import (
    INDENT,
    ReferenceStep,
    StatementLine,
    read_names,
    stored,
    written,
)
from autograder.model.signature import Definition

BESIDE = "solution"  # what a file of mistakes calls the reference
HIDDEN = {"super", "type", "vars"}  # ways around the code of a step
RIGHT = "right"  # and what a shared mistake calls the right step that it is given


def lines_of_mistakes(
    step: ReferenceStep, mistakes: Iterable[tuple[str, Any]], given: Collection[str]
) -> Iterator[PuzzleLine]:
    """Give the lines of `mistakes` (name and wrong step) that fit into a step.

    `given` are the names that the module of the reference has.
    """
    for name, wrong in mistakes:
        for part, function in _sources(wrong, step.functions):
            reference = step.functions[part]
            known = (_local(step, part) | set(given) | set(vars(builtins))) - HIDDEN
            for statement in _translated(function, reference):
                yield from _fitting(step, part, statement, name, known)


def _sources(wrong: Any, parts: Mapping[str, Definition]) -> Iterator[tuple[str, Definition]]:
    """Give the code of a wrong function, or of the methods of a wrong class, by part."""
    if inspect.isclass(wrong):
        found = [(part, each) for part, each in vars(wrong).items() if part in parts]
    else:
        found = [(part, wrong) for part in parts]
    for part, function in found:
        node = _parsed(inspect.unwrap(function))
        if node:
            yield part, node


def _parsed(function: Callable[..., Any]) -> Definition | None:
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):  # made by a program, or not a function
        return None
    node = ast.parse(text).body[0]
    return node if isinstance(node, Definition) else None


def _local(step: ReferenceStep, part: str) -> set[str]:
    """Return the names that a part of the step has: its parameters, and what it gives a value."""
    parameters = {each.arg for each in step.functions[part].args.args}
    return parameters.union(*(stored(each.node) for each in _of(step, part)))


def _attributes(node: ast.AST) -> set[str]:
    """Return the attributes of `self` below a node."""
    return {
        each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute)
        and isinstance(each.value, ast.Name)
        and each.value.id == "self"
    }


def _of(step: ReferenceStep, part: str) -> tuple[StatementLine, ...]:
    return tuple(each for each in step.statements if each.line.part == part)


def _translated(function: Definition, reference: Definition) -> Iterator[ast.stmt]:
    """Give the statements of a mistake in the reference's names."""
    own = [each.arg for each in function.args.args]
    given = own[:1] == [RIGHT]
    names = dict(zip(own[given:], (each.arg for each in reference.args.args)))
    right = _expression(reference) if given else None
    for statement in function.body:
        yield _Translation(names, right, reference).visit(copy.deepcopy(statement))


def _expression(reference: Definition) -> ast.expr | None:
    """Return what the reference returns, if it does nothing else."""
    body = [each for each in reference.body if not _is_docstring(each)]
    match body:
        case [ast.Return(value=ast.expr() as value)]:
            return value
    return None


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


class _Translation(ast.NodeTransformer):
    """Puts the reference's names for a mistake's, and its code for calls of the right step."""

    def __init__(
        self, names: Mapping[str, str], right: ast.expr | None, reference: Definition
    ) -> None:
        self._names = names
        self._right = right
        self._parameters = [each.arg for each in reference.args.args]

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self._names.get(node.id, node.id), node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == BESIDE:
            return ast.Name(node.attr, node.ctx)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        is_right = isinstance(node.func, ast.Name) and node.func.id == RIGHT
        plain = not node.keywords and not any(isinstance(each, ast.Starred) for each in node.args)
        if self._right is None or not is_right or not plain:
            return node
        filled: ast.AST = _Substituted(dict(zip(self._parameters, node.args))).visit(
            copy.deepcopy(self._right)
        )
        return filled

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.BinOp(ast.Constant(1), ast.Mult(), right):  # a copy: no learner writes that
                return right
            case ast.BinOp(left, ast.Add(), ast.BinOp(ast.Constant(0), ast.Mult(), _)):
                return left
        return node


class _Substituted(ast.NodeTransformer):
    """Puts arguments in place of parameters."""

    def __init__(self, arguments: Mapping[str, ast.expr]) -> None:
        self._arguments = arguments

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._arguments.get(node.id, node)


def _fitting(
    step: ReferenceStep, part: str, statement: ast.stmt, mistake: str, known: Collection[str]
) -> Iterator[PuzzleLine]:
    attributes = set[str]().union(*(_attributes(each.node) for each in step.statements))
    if not read_names(statement) <= set(known) or not _attributes(statement) <= attributes:
        return
    for own in _of(step, part):
        if _alike(own.node, statement) and ast.dump(own.node) != ast.dump(statement):
            text = INDENT * own.depth + written(statement)
            yield PuzzleLine(part, text, own.line.place, False, mistake)


def _alike(own: ast.stmt, other: ast.stmt) -> bool:
    """Say whether a statement could stand in place of another."""
    if isinstance(own, ast.Return):
        return isinstance(other, ast.Return) and other.value is not None
    return isinstance(other, ast.Assign) and stored(own) == stored(other) != frozenset()


def lines_with_exchanged_names(step: ReferenceStep) -> Iterator[PuzzleLine]:
    """Give the lines of the reference with one name taken for another of the step."""
    for own in step.statements:
        if not isinstance(own.node, ast.Return | ast.Assign | ast.Expr):
            continue
        local = sorted(_names_of_arrays(step, own.line.part) - stored(own.node))
        for number, node in enumerate(_operands(own.node)):
            for name in local:
                if name != node.id:
                    text = INDENT * own.depth + written(_exchanged(own.node, number, name))
                    yield PuzzleLine(own.line.part, text, own.line.place, False)


def _names_of_arrays(step: ReferenceStep, part: str) -> set[str]:
    """Return the names that a part hands to the calls and operators in it."""
    every = (node.id for each in _of(step, part) for node in _operands(each.node))
    return set(every) & _local(step, part)


def _operands(statement: ast.stmt) -> Sequence[ast.Name]:
    """Return the plain names that are arguments of a call or operands of an operator."""
    held: list[ast.expr] = []
    for node in ast.walk(statement):
        match node:
            case ast.Call(args=arguments):
                held += arguments
            case ast.BinOp(left=left, right=right):
                held += [left, right]
    return [each for each in held if isinstance(each, ast.Name)]


def _exchanged(statement: ast.stmt, number: int, name: str) -> ast.stmt:
    changed = copy.deepcopy(statement)
    _operands(changed)[number].id = name
    return changed
