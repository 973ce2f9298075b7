"""The checks of a step as a person counts them: each once, in however many ways it was asked."""

from __future__ import annotations

from collections.abc import Iterable

from autograder.model.verdict import CheckVerdict, telling


def told_once(checks: Iterable[CheckVerdict]) -> tuple[CheckVerdict, ...]:
    """Return one verdict for each check, in order: of several, the one that is to be read first."""
    asked: dict[tuple[str, str], list[CheckVerdict]] = {}
    for check in checks:
        asked.setdefault((check.name, check.title), []).append(check)
    return tuple(each[telling([check.finding for check in each]) or 0] for each in asked.values())
