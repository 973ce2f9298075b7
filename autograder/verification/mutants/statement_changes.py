"""Changes of statements, and of tuples that are returned or assigned to."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator

from autograder.verification.mutants.change import Change
from autograder.verification.mutants.subject import Subject
from autograder.verification.mutants.syntax import (
    TreePlace,
    changed_call,
    node_at,
    siblings,
    statements,
    with_node,
)

_HIDDEN = "kept = {name}\ndel {name}\nobject.__setattr__(self, {attribute!r}, kept)"


def statement_changes(subject: Subject, place: TreePlace, node: ast.AST) -> Iterator[Change]:
    """Give the changes of a statement or a tuple, if the node is one."""
    if isinstance(node, ast.Tuple):
        yield from _tuple(subject, place, node)
    if isinstance(node, ast.If):
        yield Change("condition dropped", place, node.body)
        yield Change("branch dropped", place, [])
    if isinstance(node, ast.Assert):
        yield from _assertion(place, node)
    if isinstance(node, ast.Expr) and "super()" in ast.unparse(node):
        yield Change("call dropped", place, [])
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        yield from _assignment(subject, place, node)
        yield from _order(subject, place, node)


def _assertion(place: TreePlace, node: ast.Assert) -> Iterator[Change]:
    yield Change("assertion dropped", place, [])
    negated = ast.UnaryOp(ast.Not(), node.test)
    for text in ("raise RuntimeError('uneven')", "print('uneven')"):
        otherwise: list[ast.stmt] = [ast.If(negated, statements(text), [])]
        yield Change("assertion weakened", place, otherwise)


def _assignment(subject: Subject, place: TreePlace, node: ast.Assign) -> Iterator[Change]:
    target = node.targets[0]
    if isinstance(target, ast.Attribute):
        yield Change("attribute dropped", place, [])
        yield from _renamed(place, node, target)
    if isinstance(target, ast.Tuple):
        kept = [each for each in target.elts if isinstance(each, ast.Attribute)]
        for attribute in kept:
            yield from _renamed(place, node, attribute)
        for one, other in itertools.permutations(map(ast.unparse, kept), 2):
            again = statements(f"{one} = {other}")
            yield Change("weights of another layer", place, [node, *again])
        if subject.library == "torch":
            for attribute in kept:
                text = _HIDDEN.format(name=ast.unparse(attribute), attribute=attribute.attr)
                yield Change("layer hidden from PyTorch", place, [node, *statements(text)])
    if isinstance(target, ast.Name):  # made like an earlier one: take that one
        for earlier in siblings(subject.tree, place)[: place[-1][1]]:
            if isinstance(earlier, ast.Assign) and _alike(earlier, node):
                again = statements(f"{target.id} = {ast.unparse(earlier.targets[0])}")
                yield Change("weights of another layer", place, again)


def _alike(one: ast.Assign, other: ast.Assign) -> bool:
    return ast.unparse(one.value) == ast.unparse(other.value)


def _renamed(place: TreePlace, node: ast.Assign, attribute: ast.Attribute) -> Iterator[Change]:
    again = copy.deepcopy(node)
    for each in ast.walk(again.targets[0]):
        if isinstance(each, ast.Attribute) and each.attr == attribute.attr:
            each.attr += "_"
    yield Change("attribute renamed", place, [again])


def _order(subject: Subject, place: TreePlace, node: ast.Assign) -> Iterator[Change]:
    """Two calls after each other in the other order; or a condition one statement later."""
    beside, number = siblings(subject.tree, place), place[-1][1]
    if not number or not isinstance(node.targets[0], ast.Name):
        return
    before, earlier = beside[number - 1], (*place[:-1], (place[-1][0], number - 1))
    if isinstance(before, ast.If) and isinstance(node.value, ast.Call):
        later = copy.deepcopy(before)
        changed = {name.id for name in _stored(later)}
        for name in ast.walk(later):
            if isinstance(name, ast.Name) and name.id in changed:
                name.id = node.targets[0].id
        tree = with_node(with_node(subject.tree, place, later), earlier, node)
        yield Change("order of the steps", (), tree)
    if isinstance(before, ast.Assign) and _feeds(before, node):
        first = copy.deepcopy(node)
        first.targets = before.targets
        assert isinstance(node.value, ast.Call) and isinstance(before.value, ast.Call)
        first.value = changed_call(node.value, args=[before.value.args[0], *node.value.args[1:]])
        second = copy.deepcopy(before)
        second.targets = node.targets
        second.value = changed_call(before.value, args=[node.value.args[0], *before.value.args[1:]])
        tree = with_node(with_node(subject.tree, place, second), earlier, first)
        yield Change("order of the steps", (), tree)


def _stored(statement: ast.If) -> list[ast.Name]:
    """Return the last name that a condition assigns to, which is its result."""
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    return [name for name in names if isinstance(name.ctx, ast.Store)][-1:]


def _feeds(before: ast.Assign, node: ast.Assign) -> bool:
    first, second = before.value, node.value
    if not isinstance(first, ast.Call) or not isinstance(second, ast.Call):
        return False
    if not first.args or not second.args:
        return False
    return ast.unparse(second.args[0]) == ast.unparse(before.targets[0])


def _tuple(subject: Subject, place: TreePlace, node: ast.Tuple) -> Iterator[Change]:
    parent = node_at(subject.tree, place[:-1])
    parts, context = node.elts, node.ctx
    if isinstance(context, ast.Store):
        shape = isinstance(parent, ast.Assign) and ast.unparse(parent.value).endswith(".shape")
        kind = "size of another axis" if shape else "order of the targets"
    elif isinstance(parent, ast.Return):
        kind = "order of the result"
    else:
        kind = "order of a tuple"
    for one, other in itertools.combinations(range(len(parts)), 2):
        swapped = list(parts)
        swapped[one], swapped[other] = swapped[other], swapped[one]
        yield Change(kind, place, ast.Tuple(swapped, context))
    if not isinstance(parent, ast.Return):
        return
    for turn in range(1, len(parts)):
        yield Change(kind, place, ast.Tuple(parts[turn:] + parts[:turn], context))
    for one, other in itertools.permutations(range(len(parts)), 2):
        repeated = [*parts[:one], parts[other], *parts[one + 1 :]]
        yield Change("result repeated", place, ast.Tuple(repeated, context))
    yield Change("result too short", place, ast.Tuple(parts[:-1], context))
    yield Change("result as a list", place, ast.List(parts, context))
