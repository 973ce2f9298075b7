"""The statements of a step of the reference, one by one, as lines to sort.

Right and wrong lines are written by the same rules (those of `ast`), so that the way a line is
written does not tell which it is.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from autograder.building.regions import Region, Solution
from autograder.ladder.rungs import HERE, PuzzleLine
from autograder.model.signature import Definition
from autograder.submission.cells import lines_of

INDENT = " " * 4
# What `ast` writes longer than a person does: 1000000000.0, 1e-09, tuple((x for x in y)).
_LARGE = re.compile(r"\b\d+00000\.0\b")
_EXPONENT = re.compile(r"(?<=\de)([+-])0*(?=\d)")
_GENERATOR = re.compile(r"\((\([^()].* for .*\))\)$")


class NoRungs(Exception):
    """A step whose lines cannot be sorted, for a reason that its author is told."""


@dataclass(frozen=True)
class StatementLine:
    """A statement of the reference (of a compound one its first line), and the line of it.

    The line `else:` has no statement of its own; its node is `pass`.
    """

    node: ast.stmt
    line: PuzzleLine
    depth: int


@dataclass(frozen=True)
class ReferenceStep:
    """A step of the reference: its frame, its statements, the functions that hold them."""

    frame: tuple[str, ...]
    statements: tuple[StatementLine, ...]
    functions: dict[str, Definition]


def reference_step(solution: Solution, name: str) -> ReferenceStep:
    """Return the parts of the step `name` that students write."""
    node = solution.definitions[name]
    regions = [each for each in solution.regions if each.function.split(".")[0] == name]
    found: list[StatementLine] = []
    functions: dict[str, Definition] = {}
    for region in regions:
        part = region.function.rpartition(".")[2]
        functions[part] = _function(node, part)
        for statement, text, depth in _inside(functions[part], region):
            line = PuzzleLine(part, INDENT * depth + text, len(found))
            found.append(StatementLine(statement, line, depth))
    return ReferenceStep(_frame(solution, node, regions), tuple(found), functions)


def _function(node: ast.stmt, part: str) -> Definition:
    inner = node.body if isinstance(node, ast.ClassDef) else [node]
    return next(each for each in inner if isinstance(each, Definition) and each.name == part)


_Row = tuple[ast.stmt, str, int]  # a statement, its line, how deep it stands


def _inside(function: Definition, region: Region) -> Iterator[_Row]:
    for statement in function.body:
        if region.begin < statement.lineno < region.end:
            yield from _flat(statement, 0)


def _flat(statement: ast.stmt, depth: int, word: str = "") -> Iterator[_Row]:
    """Give every line of a statement; `word` is what makes `elif` of `if`."""
    text = written(statement)
    if "\n" in text:
        raise NoRungs(f"one of its statements has several lines, `{text.splitlines()[0]}`")
    yield statement, word + text, depth
    for below in getattr(statement, "body", ()):
        yield from _flat(below, depth + 1)
    match statement:
        case ast.If(orelse=[ast.If() as other]):
            yield from _flat(other, depth, "el")
        case ast.If(orelse=[_, *_]) | ast.For(orelse=[_, *_]) | ast.While(orelse=[_, *_]):
            yield ast.Pass(), "else:", depth
            for below in statement.orelse:
                yield from _flat(below, depth + 1)


def _frame(solution: Solution, node: ast.stmt, regions: list[Region]) -> tuple[str, ...]:
    first, last = lines_of(node)
    marks = {
        each.begin: f"{each.indentation}{HERE} {each.function.rpartition('.')[2]}"
        for each in regions
    }
    hidden = {number for each in regions for number in range(each.begin + 1, each.end + 1)}
    return tuple(
        marks.get(number, solution.lines[number - 1])
        for number in range(first, last + 1)
        if number not in hidden
    )


def written(statement: ast.stmt) -> str:
    """Return a statement on one line; of a compound one, the line that ends with the colon."""
    match statement:
        case ast.Return(value=ast.Tuple(elts=[_, _, *_] as parts)):
            text = "return " + ", ".join(map(ast.unparse, parts))
        case ast.If() | ast.For() | ast.While() | ast.With():
            text = ast.unparse(statement).split("\n")[0]
        case _:
            text = ast.unparse(statement)
    return plain(text)


def plain(text: str) -> str:
    """Return code that `ast` has written as a person writes it."""
    text = _LARGE.sub(lambda number: f"{float(number[0]):g}", text)
    text = _EXPONENT.sub(lambda sign: sign[0][:1].strip("+"), text)
    return _GENERATOR.sub(r"\1", text)


def stored(statement: ast.stmt) -> frozenset[str]:
    """Return the names that a simple statement gives a value to, `self.x` included."""
    if not isinstance(statement, ast.Assign):
        return frozenset()
    return frozenset(
        ast.unparse(node)
        for target in statement.targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store)
    )


def read_names(node: ast.AST) -> frozenset[str]:
    """Return the names that are read below a node and not bound there."""
    names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
    bound = {
        target.id
        for each in ast.walk(node)
        if isinstance(each, ast.comprehension)
        for target in ast.walk(each.target)
        if isinstance(target, ast.Name)
    }
    return frozenset(each.id for each in names if isinstance(each.ctx, ast.Load)) - bound


# A statement over several lines, none longer than a width, that is still the same Python.

OPENING, CLOSING = "([{", ")]}"


def folded(code: str, width: int) -> tuple[str, ...]:
    """Return a statement of one line over lines of at most `width` characters, if it can be.

    It is broken only inside brackets, where Python allows it; names without brackets get some. What
    cannot be broken stays longer, and what is no Python stays as it is.
    """
    if len(code) <= width:
        return (code,)
    text = code.lstrip()
    margin = code[: len(code) - len(text)]
    try:
        ways = [_lines(each, width - len(margin)) for each in _ways(text)]
    except (SyntaxError, tokenize.TokenError):
        return (code,)
    best = min(ways, key=lambda lines: max(width - len(margin), *map(len, lines)))
    return tuple(margin + line for line in best)


def _ways(code: str) -> tuple[str, ...]:
    """Return the statement as it is, or with brackets around what it returns or assigns to."""
    # The body of a compound statement is not there.
    match ast.parse(f"{code} pass" if code.endswith(":") else code).body:
        case [ast.Assign(targets=[ast.Tuple() as names], value=value)] if code[0] not in OPENING:
            return code, f"({code[: names.end_col_offset]}) = {code[value.col_offset :]}"
        case [ast.Return(value=ast.Tuple() as parts)] if code[parts.col_offset] not in OPENING:
            return (f"return ({code[parts.col_offset :]})",)
        case [ast.Assert(msg=ast.expr() as words)]:
            return (f"{code[: words.col_offset]}({code[words.col_offset :]})",)
    return (code,)


def _lines(code: str, width: int) -> tuple[str, ...]:
    """Break a statement where the fewest brackets are open, and there as late as it fits."""
    breaks = tuple(_breaks(code))
    lines: list[str] = []
    begin = 0
    while (room := width - len(INDENT) * bool(lines)) < len(code) - begin:
        later = [each for each in breaks if begin < each[1] < len(code)]
        fitting = [each for each in later if each[1] - begin <= room]
        if not later:
            break
        _, end = min(fitting, key=lambda each: (each[0], -each[1])) if fitting else later[0]
        lines.append(code[begin:end].strip())
        begin = end
    lines.append(code[begin:].strip())
    return (lines[0], *(INDENT + line for line in lines[1:]))


def _breaks(code: str) -> Iterator[tuple[int, int]]:
    """Give how many brackets are open behind each round one and each comma, and its place."""
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type != tokenize.OP:
            continue
        depth += (token.string in OPENING) - (token.string in CLOSING)
        if depth and token.string in "(,":
            yield depth, token.end[1]
