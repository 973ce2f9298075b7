"""The processes below one, or in a folder, as /proc tells."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 30  # seconds: a machine may be busy


def descendants(pid: int) -> list[int]:
    """Return the processes below `pid`, by the parents that /proc names."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended meanwhile
                continue
            parents[int(entry.name)] = int(fields[1])
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def working_in(folder: Path) -> dict[int, str]:
    """Return the processes whose current folder is `folder` or below it, with their commands.

    Where there is no /proc, none are found.
    """
    found = {}
    for entry in Path("/proc").glob("*"):
        if entry.name.isdigit():
            try:
                if (entry / "cwd").readlink().is_relative_to(folder.resolve()):
                    words = (entry / "cmdline").read_text(errors="replace").split("\0")
                    found[int(entry.name)] = " ".join(words)
            except OSError:  # it has ended meanwhile, or is somebody else's
                continue
    return found


def wait_for(happened: Callable[[], object], said: str, patience: float = PATIENCE) -> None:
    """Wait until something has happened; fail with what is `said` after so many seconds."""
    end = time.monotonic() + patience
    while not happened():
        assert time.monotonic() < end, said
        time.sleep(0.01)


def left_in(folder: Path) -> dict[int, str]:
    """As `working_in`, after some time to end: none, unless one never does."""
    end = time.monotonic() + PATIENCE
    while (found := working_in(folder)) and time.monotonic() < end:
        time.sleep(0.02)
    return found
