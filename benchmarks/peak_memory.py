"""The most memory that a command holds, with all that it starts; shared pages count once.

It is read from /proc a few times a second: the proportional set size of every process. A short peak
between two looks is missed, except that of the command's first process, which the kernel keeps.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

PROC = Path("/proc")
_MEGABYTE = 1024  # in kilobytes, as /proc counts
_GONE = (FileNotFoundError, ProcessLookupError)


class PeakMemory:
    """What a command has held at most, in megabytes.

    `together` counts all of its processes, `first` is the resident size of the one that was
    started. `unreadable` counts the looks at a process that this user may not look into.
    """

    def __init__(self, seconds: float = 0.5) -> None:
        self._seconds = seconds
        self.together = self.first = 0.0
        self.looks = self.unreadable = 0

    @contextmanager
    def watching(self, pid: int) -> Iterator[None]:
        """Look at a process, and at all below this one, until the block ends."""
        ended = threading.Event()
        failures: list[Exception] = []

        def watch() -> None:
            try:
                while not ended.wait(self._seconds):
                    self._look(pid)
            except Exception as failure:  # told where the block ends
                failures.append(failure)

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
        if failures:
            raise failures[0]

    def _look(self, pid: int) -> None:
        held = 0
        for each in below(os.getpid(), parents()):
            try:
                held += kilobytes(PROC / str(each) / "smaps_rollup", "Pss:")
            except PermissionError:
                self.unreadable += 1
            except _GONE:
                continue
        try:
            first = kilobytes(PROC / str(pid) / "status", "VmHWM:")
        except _GONE:
            first = 0
        self.looks += 1
        self.first = max(self.first, first / _MEGABYTE)
        self.together = max(self.together, held / _MEGABYTE)


def kilobytes(file: Path, name: str) -> int:
    """Return the number behind a name in a file of /proc; 0 when the process is ending."""
    lines = file.read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(name))


def memory() -> float:
    """Return the memory of this process now, in MB."""
    return kilobytes(PROC / "self" / "status", "VmRSS:") / 1024


def parents() -> dict[int, int]:
    """Return the parent of every process there is."""
    found = {}
    for folder in PROC.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            facts = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        except _GONE:
            continue
        found[int(folder.name)] = int(facts.rpartition(")")[2].split()[1])
    return found


def below(pid: int, parents: dict[int, int]) -> Iterable[int]:
    """Return all processes that `pid` has started, directly or not."""
    found = {pid}
    while more := {each for each, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}
