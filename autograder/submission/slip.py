"""A slip of writing: what is wrong in a step's text, and how its owner is told.

A slip is read from the syntax tree, and nothing is run for it. It is told only where a check saw
what it would cause. So a student with right results never reads about one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from autograder.submission.cells import DefinitionNode, definitions_in, top_level
from autograder.submission.syntax_tree import (
    methods_of,
    names_bound_in,
    names_of_statements,
    own_nodes,
    parameters_of,
)
from autograder.values.exercise import Definition
from autograder.values.sanitize import LONGEST_NAME, clean_line
from autograder.values.verdict import CheckVerdict, Finding, Outcome, StepVerdict

CONSTRUCTOR = "__init__"


@dataclass(frozen=True)
class Slip:
    """A slip in a step: told where a check ended in one of `outcomes` and says what `seen` matches.

    `seen` is a regular expression for what the check says. Without `fact`, the check's own words
    stay, and only `look` is new; `beside` says that the check's own stays before it. `becomes` is
    the outcome that it really is. With `all_right`, it is the cause only where no step before is
    wrong.
    """

    outcomes: tuple[Outcome, ...]
    seen: str
    fact: str
    look: str = ""
    becomes: Outcome | None = None
    all_right: bool = False
    beside: bool = False

    def explains(self, finding: Finding, wrong: Collection[str]) -> bool:
        """Whether it causes what a check saw, where the steps `wrong` are wrong by themselves."""
        if self.all_right and wrong:
            return False
        seen = "\n".join((finding.message, *finding.details))
        return finding.outcome in self.outcomes and re.search(self.seen, seen) is not None


def line_words(node: ast.AST, notebook: bool) -> str:
    """Name the line where a node begins; a student counts a notebook's lines by cell."""
    number = getattr(node, "lineno", 0)
    return f"line {number} of its cell" if notebook else f"line {number}"


def capitalized(words: str) -> str:
    """Return `words` with a capital letter at the beginning."""
    return words[:1].upper() + words[1:]


def quoted(name: str) -> str:
    """Return a name of the student's as it is shown."""
    return f"`{clean_line(name, LONGEST_NAME)}`"


# What is known around a step, and around a function of it, where a slip is looked for.


@dataclass(frozen=True)
class WholeCode:
    """What the code of a submission as a whole makes known, cell by cell.

    cells: every readable cell, with its tree. given: the definitions that were handed out. steps:
    the names of all steps. live: whether it runs in the kernel of a notebook, which knows what ran
    there before. absent: the names from modules that are not there in class, with the module.
    """

    cells: Sequence[tuple[ast.Module, str]]
    given: Mapping[str, DefinitionNode]
    steps: Sequence[str]
    library: str
    notebook: bool
    live: bool
    absent: Mapping[str, str]

    @cached_property
    def definitions(self) -> Mapping[str, tuple[DefinitionNode, str]]:
        """The functions and classes at the left margin, each with the text of its cell."""
        return {node.name: (node, text) for tree, text in self.cells for node in top_level(tree)}

    @cached_property
    def bound(self) -> Sequence[tuple[ast.stmt, frozenset[str]]]:
        """Every statement at the left margin, with the names that it sets or takes."""
        return [
            # Of a large statement, only these names are told.
            (node, names.bound if names.whole else frozenset(names_bound_in(node)))
            for tree, _ in self.cells
            for node, names in zip(tree.body, names_of_statements(tree), strict=True)
        ]

    @cached_property
    def statements(self) -> Mapping[str, ast.stmt]:
        """The names that are known outside functions, each with the last statement that sets it."""
        return {
            name: node
            for node, bound in self.bound
            for name in ([node.name] if isinstance(node, DefinitionNode) else bound)
        }

    @cached_property
    def functions(self) -> Mapping[str, frozenset[str]]:
        """The names that are known only inside each function."""
        return {
            node.name: bound - {node.name}
            for node, bound in self.bound
            if isinstance(node, DefinitionNode)
        }

    @cached_property
    def imported(self) -> frozenset[str]:
        """The names of modules, and of what is from them."""
        kinds = (ast.Import, ast.ImportFrom)
        return frozenset().union(*(names for node, names in self.bound if isinstance(node, kinds)))


@dataclass(frozen=True)
class WrittenStep:
    """One step as it is written, or one function of it, with what was handed out in its place.

    name: in words, such as "Layer.forward". text: the cell that holds the step.
    """

    name: str
    node: DefinitionNode
    given: DefinitionNode | None
    text: str
    code: WholeCode

    @cached_property
    def functions(self) -> Sequence[WrittenStep]:
        """The functions of the step that were handed out: itself, if it is one."""
        if isinstance(self.node, Definition):
            return [self]
        known = methods_of(self.given)
        return [
            replace(self, name=f"{self.name}.{name}", node=method, given=known[name])
            for name, method in methods_of(self.node).items()
            if name in known
        ]

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """What belongs to the function itself, and to none within it."""
        return own_nodes(self.node)

    @property
    def constructs(self) -> bool:
        """Whether it is the method that makes an object, and gives nothing back."""
        return self.node.name == CONSTRUCTOR

    def line(self, node: ast.AST) -> str:
        """Name the line where a node begins, such as "line 5"."""
        return line_words(node, self.code.notebook)

    def place(self, node: ast.AST) -> str:
        """Name the line where a node begins, at the beginning of a sentence."""
        return capitalized(self.line(node))


# A node that shows a slip, and the words for what is told of it.
Sight = tuple[ast.AST, Mapping[str, str]]


@dataclass(frozen=True)
class SlipRule:
    """A slip that a function shows at some places: where they are, and what is told of each.

    The blanks of the texts are filled with the words that `find` gives for a place, with its `Line`
    (such as "Line 5"), and with the names of `step` and `function`.
    """

    find: Callable[[WrittenStep], Iterable[Sight]]
    outcomes: tuple[Outcome, ...]
    seen: str
    fact: str
    look: str
    becomes: Outcome | None = None
    beside: bool = False

    def __call__(self, function: WrittenStep) -> Iterator[Slip]:
        """Yield the slip for every place in a function."""
        for node, found in self.find(function):
            step = function.name.split(".")[0]
            words = {"Line": function.place(node), "step": step, "function": function.name, **found}
            seen = self.seen.format(**{name: re.escape(word) for name, word in words.items()})
            told = (self.fact.format(**words), self.look.format(**words))
            yield Slip(self.outcomes, seen, *told, becomes=self.becomes, beside=self.beside)


# How a slip is told in place of what a check saw.


def explained(
    checks: Iterable[CheckVerdict], slips: Sequence[Slip], wrong: Collection[str] = ()
) -> tuple[CheckVerdict, ...]:
    """Return the verdicts of a step's checks, with every finding told by the slip behind it.

    `wrong` are the steps that are known to be wrong by themselves.
    """
    return tuple(_explained(check, slips, wrong) for check in checks)


def explained_step(
    step: StepVerdict, slips: Mapping[str, Sequence[Slip]], wrong: Collection[str] = ()
) -> StepVerdict:
    """Return the verdict on a step with its slips told; `slips` are those of all steps.

    `wrong` are the steps that may be wrong by themselves: none in class, where a step is judged
    with right answers of the steps before it.
    """
    checks = explained(step.checks, slips.get(step.name, ()), wrong)
    failed = next((check for check in checks if not check.passes), None)
    outcome = failed.outcome if failed and checks != step.checks else step.outcome
    return replace(step, checks=checks, outcome=outcome)


def _explained(check: CheckVerdict, slips: Sequence[Slip], wrong: Collection[str]) -> CheckVerdict:
    finding = check.finding
    slip = next((slip for slip in slips if finding and slip.explains(finding, wrong)), None)
    if finding is None or slip is None:
        return check
    if not slip.fact:
        before = finding.look if slip.beside else ""
        told = replace(finding, look=f"{before} {slip.look}".strip())
    else:
        outcome = slip.becomes or finding.outcome
        bare = f"{finding.fact} {finding.look}".strip()
        details = finding.details if slip.becomes else (*finding.details, bare)
        told = Finding(outcome, slip.fact, finding.right, slip.look, details=details)
    return CheckVerdict.of(check.name, check.title, told)


# Parameters of a step by the names that its stub gives them.
#
# A check knows the arguments of a call only by their numbers; the text of the exercise has the
# names.

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
    node = definitions_in(given).get(step)
    called = arguments_of(called_function(node))
    constructor = arguments_of(methods_of(node).get(CONSTRUCTOR))

    def name(found: re.Match[str]) -> str:
        names, place = (constructor if found[2] else called), int(found[1]) - 1
        return f"`{names[place]}`{found[2] or ''}" if place < len(names) else found[0]

    return tuple(_renamed(check, lambda text: _NUMBERED.sub(name, text)) for check in checks)


def step_by_parameter_name(step: StepVerdict, given: str) -> StepVerdict:
    """Return the verdict on a step with the names of its parameters, as `by_parameter_name`."""
    return replace(step, checks=by_parameter_name(step.checks, step.name, given))


def arguments_of(function: Definition | None) -> list[str]:
    """Return the names of a function's parameters, without that of the object itself."""
    return [each for each in parameters_of(function) if each != "self"]


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
