"""What the marks of a check say: its step, its title."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeVar

import pytest

from autograder.judging.conditions import LONG_AXES, STANDING
from autograder.judging.tokens import Tokens

Item = TypeVar("Item", bound=pytest.Item)
BY_HAND = "by_hand"
SHOWN_BY_LAYER = f"{LONG_AXES}_alone"
_STEP = pytest.StashKey[str | None]()
_NEEDS_ONLY_OURS = pytest.StashKey[bool]()
_ONLY_TELLS = pytest.StashKey[bool]()
_SHARES_INPUTS = pytest.StashKey[bool]()
_PROPERTIES = pytest.StashKey[tuple[str, ...]]()


def step_of(item: pytest.Item) -> str | None:
    """Return the step that a check is marked with."""
    try:
        return item.stash[_STEP]
    except KeyError:  # to look for it takes long
        mark = item.get_closest_marker("step")
        return item.stash.setdefault(_STEP, mark.args[0] if mark and mark.args else None)


def title_of(item: pytest.Item) -> str:
    """Return a check's title: the first line of its docstring, else its name in words."""
    words = (getattr(getattr(item, "obj", None), "__doc__", "") or "").strip().split("\n")[0]
    return words or item.name.removeprefix("test_").replace("_", " ")


def tokens_of(item: pytest.Item) -> Tokens | None:
    """Return the names of the tokens of an example that the text works by hand."""
    mark = item.get_closest_marker(BY_HAND)
    return Tokens(tuple(mark.kwargs["tokens"]), mark.kwargs["followed"]) if mark else None


def shares_inputs(item: pytest.Item) -> bool:
    """Say whether hand-ins may share the inputs of a check.

    Those are the standing checks, an author's check that is run with further parameters, and those
    that `let_share_inputs` names.
    """
    try:
        return item.stash[_SHARES_INPUTS]
    except KeyError:
        numbers = _numbers_of_parameters(item) if isinstance(item, pytest.Function) else ()
        shares = item.name.startswith(STANDING) or any(numbers)
        return item.stash.setdefault(_SHARES_INPUTS, shares)


def let_share_inputs(item: pytest.Item) -> None:
    """Have hand-ins share the inputs of a check: another one of its step has inputs of its own."""
    item.stash[_SHARES_INPUTS] = True


def by_purpose(items: Sequence[Item]) -> tuple[list[Item], list[Item], list[Item]]:
    """Return the checks of one step that decide first, those that only tell, the standing ones."""
    standing = [item for item in items if item.name.startswith(STANDING)]
    telling = [item for item in items if only_tells(item)]
    own = [item for item in items if item not in standing and item not in telling]
    return own, telling, standing


def only_tells(item: pytest.Item) -> bool:
    """Say whether a check is run only where its step fails, to tell by which mistake.

    It asks with further sizes what standing checks ask with other ones.
    """
    return item.stash.get(_ONLY_TELLS, False)


def let_only_tell(item: pytest.Item) -> None:
    """Have a check run only where its step fails."""
    item.stash[_ONLY_TELLS] = True


def is_shown_by_layer(item: pytest.Item) -> bool:
    """Say whether a check asks a function what a layer that is right has shown already."""
    return item.name == f"{STANDING}{SHOWN_BY_LAYER}"


def properties_of(item: pytest.Item) -> tuple[str, ...]:
    """Return what a standing check holds its step to, as an author switches it off."""
    return item.stash.get(_PROPERTIES, ())


def let_hold(item: pytest.Item, properties: tuple[str, ...]) -> None:
    """Say what a standing check holds its step to."""
    item.stash[_PROPERTIES] = properties


def is_run_again(item: pytest.Item) -> bool:
    """Say whether a check is run once more, with further sizes and no other parameters."""
    numbers = item.callspec.indices if hasattr(item, "callspec") else {}
    return set(numbers) == {"draw"} and bool(numbers["draw"])


def _numbers_of_parameters(item: pytest.Function) -> Collection[int]:
    """Return for each parameter of a check which of its values it is run with, counted from 0."""
    return item.callspec.indices.values() if hasattr(item, "callspec") else ()


# What changes how pytest runs a test.
_CHANGING = ("skip", "skipif", "xfail", "usefixtures")


def needs_only_ours(item: pytest.Function) -> bool:
    """Say whether a check can be called with our own fixtures and its parameters alone.

    Not if its file has fixtures or set-up of its own, or a mark changes how it is run.
    """
    try:
        return item.stash[_NEEDS_ONLY_OURS]
    except KeyError:
        return item.stash.setdefault(_NEEDS_ONLY_OURS, _needs_only_ours(item))


def _needs_only_ours(item: pytest.Function) -> bool:
    if item.cls is not None or any(mark.name in _CHANGING for mark in item.iter_markers()):
        return False
    # The fixtures of a file carry its name; ours, and direct parameters, carry none.
    known = item._fixtureinfo.name2fixturedefs
    names = [name for name in item.fixturenames if name != "request"]
    return all(name in known and not known[name][-1].baseid for name in names)
