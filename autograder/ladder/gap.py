"""The expression that the last rung leaves out: where a known mistake differs from the solution."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from autograder.ladder.rungs import GAP, PuzzleLine
from autograder.ladder.statements import INDENT, ReferenceStep, StatementLine, plain, written

Way = tuple[tuple[str, "int | None"], ...]


@dataclass(frozen=True)
class GappedLine:
    """A line with a gap: its place, the line as it is shown, and what belongs into the gap."""

    place: int
    text: str
    filling: str


def gapped_line(step: ReferenceStep, wrong: Iterable[PuzzleLine]) -> GappedLine | None:
    """Return the line with a gap where it differs from the first wrong line that allows one.

    Where none does, the gap is the last argument or operand of the last line that has one. A list
    of names to return is never gapped: the lines above it would tell.
    """
    by_place = {each.line.place: each for each in step.statements}
    for line in wrong:
        own = by_place[line.place]
        other = ast.parse(line.text.strip()).body[0]
        way = _difference(own.node, other)
        if way and way[-1] == ("func", None):  # the name alone would stand before its arguments
            way = way[:-1]
        names_only = isinstance(own.node, ast.Return) and isinstance(own.node.value, ast.Tuple)
        if len(way) > 1 and not names_only:  # not the whole value
            return _with_gap(own, way)
    for own in reversed(step.statements):
        ways = list(_last_operands(own.node))
        if ways:
            return _with_gap(own, ways[0])
    return None


def _difference(own: ast.AST, other: ast.AST) -> Way:
    """Return the way to the smallest expression in which two trees differ."""
    if type(own) is not type(other):
        return ()
    differing = [
        (step, mine, theirs)
        for (step, mine), (_, theirs) in zip(_children(own), _children(other))
        if ast.dump(mine) != ast.dump(theirs)
    ]
    same_form = len(list(_children(own))) == len(list(_children(other)))
    if len(differing) != 1 or not same_form or _values(own) != _values(other):
        return ()
    step, mine, theirs = differing[0]
    return (step, *_difference(mine, theirs)) if isinstance(mine, ast.expr) else ()


def _children(node: ast.AST) -> Iterator[tuple[tuple[str, int | None], ast.AST]]:
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.AST) and field != "ctx":
            yield (field, None), value
        elif isinstance(value, list):
            yield from (
                ((field, n), each) for n, each in enumerate(value) if isinstance(each, ast.AST)
            )


def _values(node: ast.AST) -> list[object]:
    """Return what a node holds beside other nodes: names, numbers."""
    return [v for _, v in ast.iter_fields(node) if not isinstance(v, ast.AST | list)]


def _last_operands(statement: ast.stmt) -> Iterator[Way]:
    match statement:
        case ast.Return(value=ast.expr() as value) | ast.Assign(value=value):
            match value:
                case ast.Call(args=[*_, _] as arguments):
                    yield (("value", None), ("args", len(arguments) - 1))
                case ast.BinOp():
                    yield (("value", None), ("right", None))


def _with_gap(own: StatementLine, way: Way) -> GappedLine:
    changed = copy.deepcopy(own.node)
    *before, (field, number) = way
    parent: ast.AST = changed
    for name, place in before:
        held = getattr(parent, name)
        parent = held if place is None else held[place]
    gap = ast.Name(GAP, ast.Load())
    if number is None:
        filling = getattr(parent, field)
        setattr(parent, field, gap)
    else:
        filling = getattr(parent, field)[number]
        getattr(parent, field)[number] = gap
    text = INDENT * own.depth + written(changed)
    return GappedLine(own.line.place, text, plain(ast.unparse(filling)))
