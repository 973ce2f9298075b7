"""What the marks of a check say: its step, its title."""

from __future__ import annotations

import pytest


def step_of(item: pytest.Item) -> str | None:
    """Return the step that a check is marked with."""
    mark = item.get_closest_marker("step")
    return mark.args[0] if mark and mark.args else None


def title_of(item: pytest.Item) -> str:
    """Return a check's title: the first line of its docstring, else its name in words."""
    words = (getattr(getattr(item, "obj", None), "__doc__", "") or "").strip().split("\n")[0]
    return words or item.name.removeprefix("test_").replace("_", " ")
