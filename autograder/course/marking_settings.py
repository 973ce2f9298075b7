"""The lines of a course's `attn.toml` that say what there are points for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from autograder.course.graded_attempts import BEST, LAST, LAST_COUNTS, AttemptRules
from autograder.errors import KitError
from autograder.model.marking import MarkingRules

ATTEMPTS = "attempts"


def read_rules(facts: Mapping[str, Any], path: Path) -> MarkingRules:
    """Return the rules in the facts of the file at `path`; raise `KitError` on any other value."""
    names = [each.name for each in fields(MarkingRules)]
    found = {name: facts[name] for name in names if name in facts}
    for name, value in found.items():
        if type(value) is not bool:
            raise KitError(
                f"{name} is neither true nor false", place=str(path), cure=f"write {name} = true"
            )
    return MarkingRules(**found)


def read_attempt_rules(facts: Mapping[str, Any], path: Path) -> AttemptRules:
    """Return which attempt counts by the facts of the file at `path`; raise `KitError` if unclear.

    They are in its table `[attempts]`: `counts` is "last" or "best", `most` a whole number.
    """
    table = facts.get(ATTEMPTS, {})
    if not isinstance(table, dict) or not set(table) <= {"counts", "most"}:
        raise _unclear("[attempts] has something else than counts and most", path)
    counts, most = table.get("counts", LAST), table.get("most")
    if counts not in (LAST, BEST):
        raise _unclear(f"counts is neither {LAST!r} nor {BEST!r}", path)
    if most is not None and (type(most) is not int or most < 1):
        raise _unclear("most is not a whole number from 1 on", path)
    return AttemptRules(counts, most) if table else LAST_COUNTS


def _unclear(fact: str, path: Path) -> KitError:
    cure = 'write, at the end of the file: [attempts], counts = "best", most = 3, a line each'
    return KitError(fact, place=str(path), cure=cure)
