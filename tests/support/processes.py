"""The processes below one, or in a folder, as /proc tells."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path

PATIENCE = 30  # seconds: a machine may be busy


def children_of_all() -> dict[int, list[int]]:
    """Return every process that has children, with them, by the parents that /proc names."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended meanwhile
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    return children


def descendants(pid: int, children: Mapping[int, list[int]] | None = None) -> list[int]:
    """Return the processes below `pid`, and `pid`; now, or when the `children` were looked up."""
    children = children_of_all() if children is None else children
    found = [pid]
    for one in found:
        found += children.get(one, ())
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


def kill(pid: int, patience: float = PATIENCE) -> None:
    """Kill a process, and wait until it and those below it, which die with it, have ended."""
    family = descendants(pid)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: all(map(_has_ended, family)), f"of {family}, some go on", patience)


def _has_ended(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"


def left_in(folder: Path) -> dict[int, str]:
    """As `working_in`, after some time to end: none, unless one never does."""
    end = time.monotonic() + PATIENCE
    while (found := working_in(folder)) and time.monotonic() < end:
        time.sleep(0.02)
    return found
