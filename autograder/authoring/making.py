"""Makes the rungs of an exercise from its reference and its known mistakes.

A wrong line is offered only if a worked example refuses it in its place: then `attn check` refuses
it, too. `attn verify` proves the same with the hidden checks.
"""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
import random
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from autograder.authoring.mutated_step import TreePlace, node_at, places, with_node
from autograder.authoring.probing import defined, quiet_run
from autograder.authoring.regions import Solution, read_solution
from autograder.authoring.rungs import (
    FILE,
    GAP,
    INDENT,
    NoRungs,
    PuzzleLine,
    ReferenceStep,
    Rungs,
    StatementLine,
    plain,
    read_names,
    reference_step,
    stored,
    write_rungs,
    written,
)
from autograder.checks.reference import Reference, read_reference
from autograder.judging.examples import Example, examples_in
from autograder.judging.expectation import judge
from autograder.judging.inprocess import InProcess
from autograder.judging.time_limit import StillRunning, still_running
from autograder.submission.syntax_tree import is_text
from autograder.values.exercise import EXAMPLES, Definition, generated
from autograder.values.verdict import Finding, Outcome

# The expression that the last rung leaves out: where a known mistake differs from the solution.


def gapped(rungs: Rungs, step: ReferenceStep, wrong: Iterable[PuzzleLine]) -> Rungs:
    """Return the rungs with a gap in the line where it differs from the first wrong line so fit.

    Where none is, the gap is the last argument or operand of the last line that has one. A list
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
            return _with_gap(rungs, own, way)
    for own in reversed(step.statements):
        for way in _last_operand(own.node):
            return _with_gap(rungs, own, way)
    return rungs


def _difference(own: ast.stmt, other: ast.stmt) -> TreePlace:
    """Return the way to the smallest expression in which two trees differ."""
    found: TreePlace = ()
    for place, node in places(own):  # the outer ones come first
        is_next = place[:-1] == found and isinstance(node, ast.expr)
        if is_next and _differ_only_at(place, own, other):
            found = place
    return found


def _differ_only_at(place: TreePlace, own: ast.stmt, other: ast.stmt) -> bool:
    try:
        changed = with_node(own, place, node_at(other, place))
    except (AttributeError, IndexError, TypeError):  # the other has no such place
        return False
    return ast.dump(changed) == ast.dump(other)


def _last_operand(statement: ast.stmt) -> Iterator[TreePlace]:
    match statement:
        case ast.Return(value=ast.expr() as value) | ast.Assign(value=value):
            match value:
                case ast.Call(args=[*_, _] as arguments):
                    yield (("value", None), ("args", len(arguments) - 1))
                case ast.BinOp():
                    yield (("value", None), ("right", None))


def _with_gap(rungs: Rungs, own: StatementLine, way: TreePlace) -> Rungs:
    changed = with_node(own.node, way, ast.Name(GAP, ast.Load()))
    text = INDENT * own.depth + written(changed)
    filling = plain(ast.unparse(node_at(own.node, way)))
    return replace(rungs, gap=own.line.place, gapped=text, filling=filling)


# Wrong lines for a step, taken from its known mistakes, or made by exchanging two names.
#
# A line fits in place of one of the reference if it returns as that does, or gives the same names
# a value, and reads only names that the step has. Whether it is wrong there is not decided here.

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
    body = [each for each in reference.body if not is_text(each)]
    match body:
        case [ast.Return(value=ast.expr() as value)]:
            return value
    return None


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


MOST_WRONG = 3
# Errors of a line that does not belong here at all: it teaches nothing.
STRAY = ("AttributeError", "NameError", "TypeError", "UnboundLocalError", "RecursionError")
ENOUGH = 2  # wrong lines: with fewer from mistakes, names are exchanged


@dataclass(frozen=True)
class MadeRungs:
    """The rungs of an exercise, and a sentence for each step that gets none."""

    exercise: str
    rungs: tuple[Rungs, ...]
    without: tuple[str, ...]

    @property
    def files(self) -> dict[str, str]:
        """The file that is generated for the solution, by its name."""
        return {FILE: write_rungs(self.exercise, self.rungs)}


def made_rungs(folder: Path, examples: bytes) -> MadeRungs:
    """Return the rungs of the exercise in `folder`, whose file of worked examples is `examples`.

    They are a help that a step can do without: one whose lines cannot be sorted gets none.
    """
    return rungs_of(read_reference(folder), examples_in(examples))


def stale_rungs(folder: Path, assignments: Path) -> tuple[str, ...]:
    """Return a sentence if the rungs of the solution are missing or differ."""
    name = folder.resolve().name
    if not (assignments / name / EXAMPLES).is_file():
        return ()  # which is said of the worked examples
    file = generated(folder, FILE)
    there = file.read_text(encoding="utf-8") if file.is_file() else None
    examples = (assignments / name / EXAMPLES).read_bytes()
    same = there == made_rungs(folder, examples).files[FILE]
    return () if same else (f"{name}/{FILE} {'is missing' if there is None else 'differs'}",)


def rungs_of(reference: Reference, examples: Sequence[Example]) -> MadeRungs:
    """Return the rungs of every step that can have some."""
    exercise, solution = reference.exercise, read_solution(reference.exercise)
    made, without = list[Rungs](), list[str]()
    for step in exercise.steps:
        try:
            made.append(_Maker(reference, solution, step.name, examples).made())
        except NoRungs as reason:
            without.append(f"no lines to sort for {step.name}: {reason}")
    rungs = tuple(each for each in made if len(each.lines) > 1)
    return MadeRungs(exercise.name, rungs, tuple(without))


@dataclass(frozen=True)
class _Maker:
    """One step, and the worked examples that decide which of its lines are wrong."""

    reference: Reference
    solution: Solution
    name: str
    examples: Sequence[Example]

    def made(self) -> Rungs:
        step = reference_step(self.solution, self.name)
        true = tuple(each.line for each in step.statements)
        bare = Rungs(self.name, step.frame, true)
        finding = self._finding(bare.code(bare.true))
        if finding:
            raise NoRungs(f"put together from its own lines, it is refused. {finding.fact}")
        wrong = self._wrong(step, bare)
        # A learner sees every line of a part before those of the next.
        shown = sorted(
            _mixed([*true, *wrong], self.name), key=lambda each: bare.parts.index(each.part)
        )
        return gapped(replace(bare, lines=tuple(shown)), step, wrong)

    def _wrong(self, step: ReferenceStep, bare: Rungs) -> tuple[PuzzleLine, ...]:
        mistakes = (
            (known.name, known.wrong)
            for known in self.reference.misconceptions
            if known.step == self.name
        )
        later = {step.name for step in self.reference.exercise.steps} - set(
            self.reference.exercise.before(self.name)
        )
        known = lines_of_mistakes(step, mistakes, vars(self.reference.module).keys() - later)
        chosen = _spread(self._refused(bare, known), MOST_WRONG)
        if len(chosen) < ENOUGH:
            exchanged = self._refused(bare, lines_with_exchanged_names(step))
            chosen += _spread(exchanged, ENOUGH - len(chosen), chosen)
        return tuple(chosen)

    def _refused(self, bare: Rungs, lines: Iterable[PuzzleLine]) -> list[PuzzleLine]:
        """Return the lines that an example refuses: first those that run, and look most alike."""
        seen = {line.text for line in bare.lines}
        found = []
        for line in lines:
            if line.text in seen:
                continue
            seen.add(line.text)
            finding = self._finding(bare.code(bare.with_wrong(line)))
            if finding and not _teaches_nothing(finding):
                runs = finding.outcome is Outcome.WRONG_VALUES
                own = bare.true[line.place].text
                alike = SequenceMatcher(None, own, line.text, autojunk=False).ratio()
                found.append((not runs, -alike, line.text, line))
        return [line for *_, line in sorted(found, key=lambda each: each[:3])]

    def _finding(self, code: str) -> Finding | None:
        """Return what the first example says against this code of the step, None if none does."""
        exercise = self.reference.exercise
        library, seconds = exercise.library, exercise.limits.seconds_per_call
        try:
            with quiet_run(library, seconds):
                names = defined(vars(self.reference.module), code)
                respondent = InProcess(names, library)
                for example in self.examples:
                    if example.step == self.name:
                        reply = respondent.ask(example.request)
                        finding = judge(example.expectation, example.request, reply, (), False)
                        if finding:
                            return finding
        except StillRunning as error:
            return still_running(self.name, error.seconds)
        return None


def _teaches_nothing(finding: Finding) -> bool:
    """Say whether a line does not belong here at all, or would keep a learner waiting."""
    stray = any(name in finding.fact for name in STRAY)
    return finding.outcome is Outcome.TIMED_OUT or (finding.outcome is Outcome.RAISED and stray)


def _spread(
    lines: Sequence[PuzzleLine], most: int, taken: Sequence[PuzzleLine] = ()
) -> list[PuzzleLine]:
    """Return at most so many lines, as far as possible for different places."""
    return [line for line, _ in zip(_by_turns(lines, [each.place for each in taken]), range(most))]


def _by_turns(lines: Sequence[PuzzleLine], taken: list[int]) -> Iterator[PuzzleLine]:
    left = list(lines)
    while left:
        least = min(taken.count(line.place) for line in left)
        line = next(each for each in left if taken.count(each.place) == least)
        left.remove(line)
        taken.append(line.place)
        yield line


def _mixed(lines: Sequence[PuzzleLine], seed: str) -> list[PuzzleLine]:
    """Return the lines in an order that depends on nothing but `seed`."""
    mixed = list(lines)
    random.Random(seed).shuffle(mixed)
    return mixed
