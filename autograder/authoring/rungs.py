"""The two rungs of a step as data, and the file beside the solution that holds them.

The file is a part of the solution: it holds every line of it. So it lies in `solutions/`, and
students of a course do not get it.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from autograder.authoring.regions import Region, Solution
from autograder.errors import KitError
from autograder.submission.cells import lines_of
from autograder.values.exercise import Definition
from autograder.values.value_file import read_as

FILE = "rungs.json"
FORMAT_VERSION = 1
GAP = "____"
HERE = "### LINES"  # in a frame, before the name of a part


@dataclass(frozen=True)
class PuzzleLine:
    """One line to choose from, or not to choose.

    part: the function or method that it belongs to. text: with its indentation in there. place:
    the number of the line of the solution that it is, or that it stands in for. true: whether it is
    that line. mistake: the known mistake that a wrong line comes from, "" for exchanged names.
    """

    part: str
    text: str
    place: int
    true: bool = True
    mistake: str = ""


@dataclass(frozen=True)
class Rungs:
    """The rungs of a step.

    frame: the definition of the step, with a mark where the lines of each part belong. lines: in
    the order in which they are shown. gapped: the true line number `gap`, with `GAP` for an
    expression, and `filling` what belongs there; `gap` is None where there is nothing to leave out.
    """

    step: str
    frame: tuple[str, ...]
    lines: tuple[PuzzleLine, ...]
    gap: int | None = None
    gapped: str = ""
    filling: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts, in order."""
        return tuple(line.strip().removeprefix(HERE).strip() for line in self.frame if HERE in line)

    @property
    def true(self) -> tuple[PuzzleLine, ...]:
        """The lines of the solution, in order."""
        return tuple(
            sorted((line for line in self.lines if line.true), key=lambda each: each.place)
        )

    @property
    def wrong(self) -> tuple[PuzzleLine, ...]:
        """The lines that are wrong in their place."""
        return tuple(line for line in self.lines if not line.true)

    @property
    def task(self) -> str:
        """What to do with the lines, in words."""
        count, of, wrong = len(self.true), len(self.lines), len(self.wrong)
        lines = "One of these lines makes" if count == 1 else f"{count} of these {of} lines make"
        order = "" if count == 1 else " in the right order"
        others = "The other one is wrong." if wrong == 1 else f"The other {wrong} are wrong."
        return f"{lines} this step{order}. {others if wrong else ''}".rstrip()

    @property
    def gap_task(self) -> str:
        """What to do with the gap, in words."""
        return f"Here is the step with one expression left out, at {GAP}. What belongs there?"

    def with_wrong(self, wrong: PuzzleLine) -> tuple[PuzzleLine, ...]:
        """Return the lines of the solution, with a wrong line in its place."""
        return tuple(wrong if line.place == wrong.place else line for line in self.true)

    def with_gap(self) -> tuple[PuzzleLine, ...]:
        """Return the lines of the solution, one of them with its gap."""
        return tuple(
            PuzzleLine(line.part, self.gapped, line.place) if line.place == self.gap else line
            for line in self.true
        )

    def code(self, lines: Sequence[PuzzleLine]) -> str:
        """Return the definition of the step with these lines in it, in this order."""
        return "\n".join(text for text, _ in self._written(lines)) + "\n"

    def lines_of_code(self, lines: Sequence[PuzzleLine]) -> Mapping[int, PuzzleLine]:
        """Return which of these lines stands in which line (from 1) of their `code`."""
        rows = enumerate(self._written(lines), 1)
        return {number: line for number, (_, line) in rows if line}

    def _written(self, lines: Sequence[PuzzleLine]) -> Iterator[tuple[str, PuzzleLine | None]]:
        for row in self.frame:
            margin, mark, part = row.partition(HERE)
            chosen = [line for line in lines if line.part == part.strip()]
            if chosen:
                yield from ((margin + line.text, line) for line in chosen)
            else:  # without a line, a function would not be Python
                yield (f"{margin}pass" if mark else row), None


def write_rungs(exercise: str, rungs: Iterable[Rungs]) -> str:
    """Return the text of the file."""
    facts = {
        "format_version": FORMAT_VERSION,
        "exercise": exercise,
        "rungs": [asdict(each) for each in rungs],
    }
    return json.dumps(facts, indent=1, ensure_ascii=False) + "\n"


def read_rungs(file: Path) -> Mapping[str, Rungs]:
    """Return the rungs in `file` by the name of their step; raise `KitError` if it is not valid."""
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
        if facts["format_version"] != FORMAT_VERSION:
            raise ValueError(f"format_version is {facts['format_version']}")
        return {each["step"]: read_as(Rungs, each) for each in facts["rungs"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise KitError(
            f"the lines to sort cannot be read: {error}",
            place=str(file),
            cure="run `attn build`, or get the file again from where you got the solutions",
        ) from None


# The statements of a step of the reference, one by one, as lines to sort.
#
# Right and wrong lines are written by the same rules (those of `ast`), so that the way a line is
# written does not tell which it is.

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
