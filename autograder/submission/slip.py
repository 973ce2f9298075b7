"""A slip of writing: what is wrong in a step's text, and how its owner is told.

A slip is read from the syntax tree, and nothing is run for it. It is told only where a check saw
what it would cause. So a student with right results never reads about one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from autograder.model.sanitize import LONGEST_NAME, clean_line
from autograder.model.signature import Definition
from autograder.model.verdict import CheckVerdict, Finding, Outcome, StepVerdict
from autograder.submission.cells import DefinitionNode
from autograder.submission.syntax_tree import methods_of, own_nodes


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


@dataclass(frozen=True)
class WrittenStep:
    """One step as it is written: its definition, and the one that was handed out (or None).

    `text` is the cell that holds it. In a `notebook`, lines are counted by cell.
    """

    name: str
    node: DefinitionNode
    given: DefinitionNode | None
    text: str
    notebook: bool

    def line(self, node: ast.AST) -> str:
        """Name the line where a node begins, such as "line 5"."""
        return line_words(node, self.notebook)

    def own_nodes(self, function: Definition) -> tuple[ast.AST, ...]:
        """Return the nodes of one of its functions; see `own_nodes`, which is asked only once."""
        if function not in self._walked:
            self._walked[function] = own_nodes(function)
        return self._walked[function]

    @cached_property
    def _walked(self) -> dict[Definition, tuple[ast.AST, ...]]:
        return {}

    @property
    def functions(self) -> Iterator[tuple[str, Definition]]:
        """The functions of the step that were handed out, each with its name in words."""
        if isinstance(self.node, Definition):
            yield self.name, self.node
            return
        known = methods_of(self.given) if isinstance(self.given, ast.ClassDef) else {}
        for name, method in methods_of(self.node).items():
            if name in known:
                yield f"{self.name}.{name}", method


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
