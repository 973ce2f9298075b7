"""The lines of a course's `attn.toml` that say what there are points for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from autograder.errors import KitError
from autograder.model.marking import MarkingRules


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
