"""What the marks of a check say: its step, its title."""

from __future__ import annotations

import pytest

_STEP = pytest.StashKey[str | None]()
_NEEDS_ONLY_OURS = pytest.StashKey[bool]()


def step_of(item: pytest.Item) -> str | None:
    """Return the step that a check is marked with."""
    if _STEP not in item.stash:  # to look for it takes long
        mark = item.get_closest_marker("step")
        item.stash[_STEP] = mark.args[0] if mark and mark.args else None
    return item.stash[_STEP]


def title_of(item: pytest.Item) -> str:
    """Return a check's title: the first line of its docstring, else its name in words."""
    words = (getattr(getattr(item, "obj", None), "__doc__", "") or "").strip().split("\n")[0]
    return words or item.name.removeprefix("test_").replace("_", " ")


# What changes how pytest runs a test.
_CHANGING = ("skip", "skipif", "xfail", "usefixtures")


def needs_only_ours(item: pytest.Function) -> bool:
    """Say whether a check can be called with our own fixtures and its parameters alone.

    Not if its file has fixtures or set-up of its own, or a mark changes how it is run.
    """
    if _NEEDS_ONLY_OURS not in item.stash:
        item.stash[_NEEDS_ONLY_OURS] = _needs_only_ours(item)
    return item.stash[_NEEDS_ONLY_OURS]


def _needs_only_ours(item: pytest.Function) -> bool:
    if item.cls is not None or any(mark.name in _CHANGING for mark in item.iter_markers()):
        return False
    # The fixtures of a file carry its name; ours, and direct parameters, carry none.
    known = item._fixtureinfo.name2fixturedefs
    names = [name for name in item.fixturenames if name != "request"]
    return all(name in known and not known[name][-1].baseid for name in names)
