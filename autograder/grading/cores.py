"""The processor cores that grader processes share, or have for themselves.

A grader process and its worker take turns: one asks, the other answers. On one core, the next one
goes on at once, with what is still in the core's cache; to wake another core takes longer.
"""

from __future__ import annotations

import os
from contextlib import suppress


def usable_cores() -> tuple[int, ...]:
    """Return the numbers of the cores that this process may run on, at least one."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def keep_to(core: int) -> None:
    """Have this process run on one core only, and all that it will start, where a system can."""
    if hasattr(os, "sched_setaffinity"):
        with suppress(OSError):  # the core has been taken away: any other does, a little slower
            os.sched_setaffinity(0, {core})
