"""A submission's code, run as far as it can be, with its own errors reported where they matter.

Code beside the steps (a plot, a training loop, a file that is not here) is left out where it
keeps the steps from being defined. A name is missing because it was never written, or because
the cell that should define it did not run; the student learns which.
"""

from __future__ import annotations

import ast
import builtins
import re
import symtable
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from autograder.judging.explanation import cause, missing_name
from autograder.sandbox import SandboxedStudent, Zygote
from autograder.sandbox.exchange import AnswerOfReference
from autograder.submission.cells import UNREADABLE, DefinitionNode, lines_of, names_anywhere, parsed
from autograder.submission.file_text import is_notebook
from autograder.submission.missing_import import (
    bound_names,
    definitions_of,
    given_imports,
    missing_imports,
    packages_of,
    remarks_on_imports,
    statements,
    without_absent,
)
from autograder.submission.reading import Submission
from autograder.submission.syntax_tree import called_name, names_of_statements, nodes_in
from autograder.values.exercise import Exercise, given_text
from autograder.values.request import (
    ExceptionReport,
    Failed,
    KnownReplies,
    Reply,
    Request,
    Sighting,
    Watched,
)
from autograder.values.verdict import Outcome
from autograder.worker.call import StandIn

# Whether the code of a step may call another step: read from its text, and nothing is run.
#
# It cannot where all that it names is known to be something else: what Python or a library
# brings, constants, and functions and classes of which the same is true. In most doubts, it may.
# A way that is not seen costs its owner no points: after a wrong step, what fails is judged with
# right answers.

MOST_STATEMENTS = 500
_MOST_NODES = 5_000  # of a statement: Python's table takes time as the square of them
_BUILTINS = frozenset(dir(builtins))
# Libraries that hold no steps, and through which none can be reached without naming it.
_LIBRARIES = frozenset(
    "numpy torch math typing jaxtyping functools itertools collections dataclasses "
    "__future__".split()
)
# With these anywhere, a text reaches what it does not name.
_REACHING = frozenset(
    "eval exec compile globals locals vars getattr setattr attrgetter methodcaller import_module "
    "modules inspect gc __import__ __builtins__ __dict__ __globals__ __setattr__ __getattribute__ "
    "_getframe".split()
)
_OWN_METHODS = frozenset(("__init__",))  # that a class may call by name
# What a value may be made of, so that it holds nothing that is not named in it.
_PLAIN_VALUE = (
    *(ast.Name, ast.Constant, ast.Attribute, ast.Tuple, ast.UnaryOp, ast.BinOp),
    *(ast.expr_context, ast.unaryop, ast.operator),
)


# A statement at the left margin, and its text.
_Statement = tuple[ast.stmt, str]


@dataclass(frozen=True)
class _Statements:
    """The statements of a text by each name that they may bind, and the names that are changed.

    touched: names of which a method is called, or an attribute or an item is set. stored: of these,
    only the latter.
    """

    binding: dict[str, list[_Statement]]
    touched: frozenset[str]
    stored: frozenset[str]
    named: dict[str, frozenset[str] | None]  # through each name that was looked at so far


def may_call(cells: Sequence[str], step: str, others: Collection[str]) -> bool:
    """Say whether the definition of `step` in `cells` may lead to a call of one of `others`.

    So may text that is not Python or is very long, and a step that it does not define.
    """
    statements = _statements(tuple(cells))
    if statements is None or step not in statements.binding:
        return True
    seen, waiting = set[str](), {step}
    while waiting:
        name = waiting.pop()
        if name in others:
            return True
        seen.add(name)
        if name not in statements.named:
            statements.named[name] = _named_through(name, statements)
        named = statements.named[name]
        if named is None:
            return True
        waiting |= named - seen
    return False


def names_reached(cells: Sequence[str], step: str) -> frozenset[str]:
    """Return the names in the definition of `step`, and in those of functions that it names.

    Where a text is not Python or very long, none.
    """
    named: dict[str, frozenset[str]] = {}
    for tree in filter(None, map(parsed, cells)):
        for node, names in zip(tree.body[:MOST_STATEMENTS], names_of_statements(tree)):
            if isinstance(node, DefinitionNode):
                named[node.name] = names.named
    reached, waiting = set[str](), {step}
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting |= named.get(name, frozenset()) - reached
    return frozenset(reached)


@lru_cache(maxsize=1)  # a hand-in's wrong steps are asked about in turn
def _statements(cells: tuple[str, ...]) -> _Statements | None:
    """Return the statements of `cells`; None where they say too little about what they call."""
    trees = [parsed(cell) for cell in cells]
    if not all(trees) or sum(len(tree.body) for tree in trees if tree) > MOST_STATEMENTS:
        return None
    binding: dict[str, list[_Statement]] = {}
    touched, stored = set[str](), set[str]()
    for cell, tree in zip(cells, trees):
        lines = cell.split("\n")
        assert tree
        for node, names in zip(tree.body, names_of_statements(tree), strict=True):
            if not names.whole or not _REACHING.isdisjoint(names.mentioned):
                return None
            first, last = lines_of(node)
            statement = node, "\n".join(lines[first - 1 : last])
            own = {node.name} if isinstance(node, DefinitionNode) else names.bound
            for name in own | names.shared:
                binding.setdefault(name, []).append(statement)
            touched |= names.touched
            stored |= names.stored
    return _Statements(binding, frozenset(touched), frozenset(stored), {})


def _named_through(name: str, statements: _Statements) -> frozenset[str] | None:
    """Return the names that whatever binds `name` mentions; None where it may be anything."""
    found = statements.binding.get(name)
    if found is None:
        return frozenset() if name in _BUILTINS else None
    if all(_is_of_a_library(node) for node, _ in found):
        return None if name in statements.stored else frozenset()
    if name in statements.touched:
        return None
    named = frozenset[str]()
    for node, text in found:
        names = _named_in(text) if _is_plain(node, name, statements.stored) else None
        if names is None:
            return None
        named |= names
    return named


def _is_of_a_library(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return not node.level and (node.module or "").split(".")[0] in _LIBRARIES
    if isinstance(node, ast.Import):
        return all(each.name.split(".")[0] in _LIBRARIES for each in node.names)
    return False


def _is_plain(node: ast.stmt, name: str, stored: frozenset[str]) -> bool:
    """Whether a statement binds `name` to what calls nothing that is not named in it.

    An attribute could hold anything if one of its name is set anywhere, but for an object's own.
    """
    inside = nodes_in(node, _MOST_NODES)
    if len(inside) == _MOST_NODES:
        return False
    if isinstance(node, DefinitionNode):
        if node.name != name:  # it sets a global name
            return False
        imports = [each for each in inside if isinstance(each, ast.Import | ast.ImportFrom)]
        attributes = [each for each in inside if isinstance(each, ast.Attribute)]
        special = {each.attr for each in attributes if each.attr.startswith("__")}
        others = {each.attr for each in attributes if called_name(each) != f"self.{each.attr}"}
        only_libraries = all(map(_is_of_a_library, imports))
        return only_libraries and special <= _OWN_METHODS and others.isdisjoint(stored)
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    value = [] if isinstance(node.value, ast.Lambda) else nodes_in(node.value)
    return all(isinstance(each, _PLAIN_VALUE) for each in value)


@lru_cache(maxsize=64)
def _named_in(text: str) -> frozenset[str] | None:
    """Return the names outside a statement that it uses, as Python itself finds them."""
    try:
        whole = symtable.symtable(text, "step", "exec")
    except UNREADABLE:
        return None
    found = set[str]()
    tables = [whole]
    for table in tables:  # it grows meanwhile
        tables += table.get_children()
        # Outside functions, a name that is set later is looked up outside until then.
        of_function = table.get_type() == "function"
        found |= {
            symbol.get_name()
            for symbol in table.get_symbols()
            if symbol.is_global() or (symbol.is_referenced() and not of_function)
        }
    return frozenset(found)


_MOST_LOADS = 4
_MOST_REMARKS = 3
_OWN_PLACE = re.compile(r" \((?:cell \d+, )?line \d+\)$")  # a syntax error's; it is said anyway
# 1024, 2 ** 10 and 1 << 10.
_LARGE_SIZE = re.compile(
    r"(?<![\w.])([1-9]\d{2,6}|[1-9]\d?_\d{3})(?![\w.])|(\*\*|<<)\s*([6-9]|[12]\d)\b"
)
# What code that does not finish does; for other outcomes, there is no reason to leave it out.
_ENDLESS = {
    Outcome.TIMED_OUT: "takes longer than a submission may",
    Outcome.OUTPUT_LIMIT: "prints more than a submission may",
    Outcome.OUT_OF_MEMORY: "asks for more memory than a submission may use",
    Outcome.CRASHED: "ends the Python process",
}


class Loaded:
    """A `Respondent` over the code of one submission. A context manager."""

    def __init__(
        self,
        zygote: Zygote,
        submission: Submission,
        exercise: Exercise,
        *,
        seed: int,
        answer: AnswerOfReference | None = None,
    ) -> None:
        self._zygote, self._seed = zygote, seed
        self._answer = answer
        self._exercise = exercise
        self._notebook = is_notebook(submission.path)
        given = given_text(exercise.folder)
        self._packages = packages_of(exercise.library, given)
        self._drawing = tuple(step.name for step in exercise.steps if step.random)
        cells, remarks = without_absent(submission.cells, exercise.library, given)
        imports = missing_imports(cells, exercise.library, given)
        self._put_back = (*remarks, *remarks_on_imports(imports, cells))
        self._cells = ("\n".join(imports), *cells) if imports else cells
        self._remarks: list[str] = []
        self._not_defined: dict[str, ExceptionReport] = {}
        self._student = self._started()

    def __enter__(self) -> Loaded:
        try:
            self._load()
        except BaseException:  # nobody else would close it
            self._student.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._student.close()

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer `request`; see `Respondent`."""
        return self._explained(request, self._student.ask(request, leaning_on))

    def ask_all(
        self,
        requests: Sequence[Request],
        known: Sequence[KnownReplies | None],
        leaning_on: tuple[str, ...] = (),
    ) -> tuple[Reply, ...]:
        """Answer requests that are sent together; see `PipelinedRespondent`."""
        replies = self._student.ask_all(requests, known, leaning_on)
        return tuple(map(self._explained, requests, replies))

    def go_on_leaning(self, leaning_on: tuple[str, ...]) -> None:
        """Go on leaning where it was asked alone; see `ContinuingRespondent`."""
        self._student.go_on_leaning(leaning_on)

    def lean_afresh(self) -> bool:
        """Lean in a fresh process; see `ContinuingRespondent`."""
        return self._student.lean_afresh()

    def begin_afresh(self) -> None:
        """Be asked alone in a fresh process; see `ContinuingRespondent`."""
        self._student.begin_afresh()

    def may_call(self, step: str, others: Collection[str]) -> bool:
        """Say whether one step may call others; see `ReadableRespondent`."""
        return may_call(self._cells, step, others)

    def names_reached(self, step: str) -> Collection[str]:
        """Return the names that a step leads to; see `ReadableRespondent`."""
        return names_reached(self._cells, step)

    @property
    def cells(self) -> tuple[str, ...]:
        """The texts that were run; see `ReadableRespondent`."""
        return self._cells

    def may_fix_a_large_size(self) -> bool:
        """Say whether the text holds so large a number; see `ReadableRespondent`."""
        lines = (line.partition("#")[0] for cell in self._cells for line in cell.split("\n"))
        return any(map(_LARGE_SIZE.search, lines))

    def _explained(self, request: Request, reply: Reply) -> Reply:
        """Return a reply that says why what should be there is not, if that was seen."""
        if not isinstance(reply, Failed) or reply.outcome is not Outcome.NOT_WRITTEN:
            return reply
        report = self._not_defined.get(request.target)
        return replace(reply, outcome=Outcome.RAISED, exception=report) if report else reply

    def watch(
        self, request: Request, steps: Collection[str], stand_ins: Mapping[int, StandIn]
    ) -> Watched:
        """Answer `request` with the calls of `steps`; see `Watchable`."""
        seen = self._student.watch(request, steps, stand_ins)
        return replace(seen, reply=self._explained(request, seen.reply))

    def trace(self, request: Request) -> tuple[Sighting, ...]:
        """Return what the code computes on the way; see `Traceable`."""
        return self._student.trace(request)

    def remarks(self) -> tuple[str, ...]:
        """Say what raised or was left out while the cells were run."""
        remarks = tuple(dict.fromkeys(self._remarks))
        if len(remarks) <= _MOST_REMARKS:
            return (*self._put_back, *remarks)
        more = len(remarks) - _MOST_REMARKS
        lines = "line raises" if more == 1 else "lines raise"
        return (*self._put_back, *remarks[:_MOST_REMARKS], f"{more} more {lines} an error.")

    def _load(self) -> None:
        for _ in range(_MOST_LOADS):
            better = self._better()
            if better == self._cells:
                break
            self._cells = better
            self._student.close()
            self._student = self._started()
        if not self._failures:
            self._remarks.clear()  # it did not help: each step will say how it ended
        failures = self._failures
        self._not_defined = _failed_definitions(self._cells, failures)
        self._remark_on_failures(failures)

    def _started(self) -> SandboxedStudent:
        return SandboxedStudent(
            self._zygote,
            self._cells,
            packages=self._packages,
            drawing=self._drawing,
            seed=self._seed,
            answer=self._answer,
        )

    def _better(self) -> tuple[str, ...]:
        """Return cells of which more can run, or the same cells when nothing can be improved."""
        failures = self._failures
        if self._cells and not failures:
            return self._without_the_endless()
        if not any(failures):
            return self._cells
        cells = zip(self._cells, failures)
        cut = tuple(
            piece for cell, report in cells for piece in (statements(cell) if report else (cell,))
        )
        return cut if cut != self._cells else (*self._missing_imports(), *cut)

    def _missing_imports(self) -> tuple[str, ...]:
        """Return a cell with the imports that came with the stubs; without them no step runs."""
        failures = self._failures
        missed = [missing_name(report) if report else None for report in failures]
        first = next((number for number, name in enumerate(missed) if name), None)
        if first is None:
            return ()
        before = [cell for cell, report in zip(self._cells[:first], failures) if not report]
        imports = given_imports(self._cells, before, given_text(self._exercise.folder))
        if not any(name in bound_names(line) for name in missed for line in imports):
            return ()
        self._remarks += remarks_on_imports(imports, self._cells)
        return ("\n".join(imports),)

    def _without_the_endless(self) -> tuple[str, ...]:
        reply = self._student.ask(Request(self._exercise.steps[0].name, ()))
        if not isinstance(reply, Failed) or reply.outcome not in _ENDLESS:
            return self._cells
        rest = tuple(definitions_of(cell) for cell in self._cells)
        if rest != self._cells:
            self._remarks.append(
                f"Your code outside functions {_ENDLESS[reply.outcome]}. So it is left out, and "
                "what you define counts. Before you hand in, delete it or put it into a function."
            )
        return rest

    @property
    def _failures(self) -> tuple[ExceptionReport | None, ...]:
        """For each cell the exception it raised, or None; without line numbers in its message."""
        return tuple(
            report and replace(report, message=_OWN_PLACE.sub("", report.message))
            for report in self._student.load_failures
        )

    def _remark_on_failures(self, failures: Sequence[ExceptionReport | None]) -> None:
        """Remark on every error that does not follow from another; name each cause once."""
        failed = [(cell, report) for cell, report in zip(self._cells, failures) if report]
        unbound = {name for cell, _ in failed for name in bound_names(cell)}
        causes = {""}
        for _, report in failed:
            if missing_name(report) not in unbound:
                look = cause(report)
                self._remark_on(report, "" if look in causes else look)
                causes.add(look)

    def _remark_on(self, report: ExceptionReport, look: str) -> None:
        line = f"line {report.line} of its cell" if self._notebook else f"line {report.line}"
        place = f"`{report.code}` ({line})" if report.code else "one of your lines"
        message = f": {report.message}" if report.message else ""
        begin = "" if self._remarks else "Everything else that you define counts, but "
        words = f"{begin}{place} raises {report.type_name}{message}"
        words += "" if words.endswith((".", "?")) else "."
        self._remarks.append(f"{words} {look}".strip())


def _failed_definitions(
    cells: Sequence[str], failures: Sequence[ExceptionReport | None]
) -> dict[str, ExceptionReport]:
    """Return, by name, the exception of the first cell that defines it and did not run."""
    found: dict[str, ExceptionReport] = {}
    for cell, report in zip(cells, failures):
        if report:
            found = dict.fromkeys(names_anywhere(cell), report) | found
    return found
