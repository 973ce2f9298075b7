"""`steps.toml`, the list of an instructor's own steps: read, and wrong entries told in words."""

from __future__ import annotations

import builtins
import keyword
import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from autograder.building.student_notebook import SETUP
from autograder.course.adjustment import MOST_POINTS, OWN_STEPS
from autograder.course.own_files import own_text
from autograder.errors import KitError
from autograder.model.exercise import CHECK_PREFIX, COMPARISONS, Exercise

STEPS, GRADING = "steps", "grading"
OF_SIZES = ("sizes", "public_sizes", "without")  # tables of [grading] in which steps need a line
_CURE = "write, below [[steps]]: name, title and points, and if you like hints and minutes"
_LONGEST_NAME = 50  # characters; a notebook gives 64 to the name of a cell


def read_own_steps(kit: Exercise, own: Path) -> dict[str, Any]:
    """Return what `steps.toml` says, with hints and minutes where the instructor wrote none.

    Raises `KitError` that says which entry cannot be used.
    """
    path = own / OWN_STEPS
    try:
        facts = tomllib.loads(own_text(path))
        steps = _steps(facts)
        _refuse_grading(kit, facts.get(GRADING, {}))
    except tomllib.TOMLDecodeError as error:
        raise KitError(
            f"{OWN_STEPS} cannot be used: it is not valid TOML: {error}",
            place=str(path),
            cure="correct that line",
        ) from None
    except ValueError as error:
        fact = f"{OWN_STEPS} cannot be used: {error}"
        raise KitError(fact, place=str(path), cure=_CURE) from None
    _refuse_names_used_twice(kit, [step["name"] for step in steps], path)
    return {**facts, STEPS: steps}


def _steps(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    _refuse_others(facts, (STEPS, GRADING), "the file")
    steps = facts.get(STEPS)
    if not isinstance(steps, list) or not steps or not all(isinstance(at, dict) for at in steps):
        raise ValueError("it has no [[steps]]")
    whole = [{"minutes": 10, "hints": [], **step} for step in steps]
    for number, step in enumerate(whole, 1):
        name = step.get("name")
        _refuse_entries(step, f"step {name}" if isinstance(name, str) else f"step {number}")
    return whole


def _refuse_entries(step: Mapping[str, Any], who: str) -> None:
    """Raise ValueError for a field that is missing, unknown, or of another kind."""
    for field in _FIELDS:
        if field not in step and field != "compare":
            raise ValueError(f"{who} has no {field}")
    _refuse_others(step, tuple(_FIELDS), who)
    for field, (fits, wanted) in _FIELDS.items():
        if field in step and not fits(step[field]):
            raise ValueError(f"the {field} of {who}: {step[field]!r} is not {wanted}")


def _refuse_others(table: Mapping[str, Any], known: Sequence[str], who: str) -> None:
    for key in table:
        if key not in known:
            raise ValueError(f"{who} has `{key}`; there may be: {', '.join(known)}")


def _refuse_grading(kit: Exercise, grading: object) -> None:
    """Raise ValueError for tables that cannot be used, and for other sizes of the kit's axes."""
    if not isinstance(grading, dict):
        raise ValueError("[grading] is not a table")
    _refuse_others(grading, OF_SIZES, "[grading]")
    for name, table in grading.items():
        if not isinstance(table, dict):
            raise ValueError(f"[grading.{name}] is not a table")
        there = getattr(kit.grading, name)
        for key, value in table.items():
            if key in there and there[key] != value:
                raise ValueError(f"[grading.{name}] has {key}, as the kit's exercise has")


def _refuse_names_used_twice(kit: Exercise, names: Sequence[str], path: Path) -> None:
    for name in names:
        if names.count(name) > 1 or name in [step.name for step in kit.steps]:
            raise KitError(
                f"there are two steps with the name {name}",
                place=str(path),
                cure="give your step another name; the kit's own are: "
                + ", ".join(step.name for step in kit.steps),
            )


def _is_name(value: object) -> bool:
    """Whether a function and cells of the notebook can have that name, without any harm."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", value):
        return False
    taken = keyword.iskeyword(value) or hasattr(builtins, value) or value == SETUP
    return not (taken or value.startswith(CHECK_PREFIX) or len(value) > _LONGEST_NAME)


def _is_line(value: object) -> bool:
    return isinstance(value, str) and value.isprintable() and bool(value.strip())


def _are_points(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and 0 <= value <= MOST_POINTS


def _are_minutes(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


_FIELDS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "name": (
        _is_name,
        "a name that a step can have: plain letters, digits and _, such as attention_entropy; "
        "not Python's own names, and none like check_softmax or setup",
    ),
    "title": (_is_line, "a line of text"),
    "points": (_are_points, f"a number from 0 (a bonus) to {MOST_POINTS:g}"),
    "minutes": (_are_minutes, "a whole number"),
    "hints": (_are_texts, 'a list of texts, such as ["What is it for one token?"]'),
    "compare": (COMPARISONS.__contains__, f"one of: {', '.join(COMPARISONS)}"),
}
