"""Parameters of a step by the names that its stub gives them.

A check knows the arguments of a call only by their numbers; the text of the exercise has the names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from autograder.model.signature import Definition
from autograder.model.verdict import CheckVerdict, Finding, StepVerdict
from autograder.submission.cells import parsed
from autograder.submission.definitions import DefinitionNode, top_level
from autograder.submission.slip import methods_of, parameters_of

CONSTRUCTOR = "__init__"
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
    tree = parsed(given)
    node = {each.name: each for each in top_level(tree)}.get(step) if tree else None
    made = methods_of(node).get(CONSTRUCTOR) if isinstance(node, ast.ClassDef) else None
    called, constructor = _names(called_function(node)), _names(made)

    def name(found: re.Match[str]) -> str:
        names, place = (constructor if found[2] else called), int(found[1]) - 1
        return f"`{names[place]}`{found[2] or ''}" if place < len(names) else found[0]

    return tuple(_renamed(check, lambda text: _NUMBERED.sub(name, text)) for check in checks)


def step_by_parameter_name(step: StepVerdict, given: str) -> StepVerdict:
    """Return the verdict on a step with the names of its parameters, as `by_parameter_name`."""
    return replace(step, checks=by_parameter_name(step.checks, step.name, given))


def _names(function: Definition | None) -> list[str]:
    return [each for each in parameters_of(function) if each != "self"] if function else []


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
