"""Searching for cycles of objects less often: what grading makes is freed by counting."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_NEW_OBJECTS = 20_000


def collect_rarely() -> None:
    """Have this process search for cycles after 20,000 new objects, and not after 700."""
    gc.set_threshold(_NEW_OBJECTS)


@contextmanager
def collected_rarely() -> Iterator[None]:
    """Do so for a while. A class of verdicts is otherwise searched again and again."""
    before = gc.get_threshold()
    collect_rarely()
    try:
        yield
    finally:
        gc.set_threshold(*before)
