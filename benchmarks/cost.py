"""What a command costs, with all that it starts: seconds on the clock and of the processor."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peak_memory import PeakMemory
from benchmarks.stock_course import environment

ROOT = Path(__file__).parents[1]
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock, and of the processor, of a command with all that it starts."""

    wall: float
    processor: float

    def per_hand_in(self, small: Cost, hand_ins: int) -> Cost:
        """Return the cost of one of the `hand_ins` by which this class is larger than `small`.

        Raises ValueError when it is no larger, or when the difference is lost in the noise.
        """
        if hand_ins <= 0:
            raise ValueError("the large class is no larger than the small one")
        wall, processor = self.wall - small.wall, self.processor - small.processor
        if min(wall, processor) <= 0:
            raise ValueError("the large class took no longer than the small one: take more")
        return Cost(wall / hand_ins, processor / hand_ins)

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.wall + other.wall, self.processor + other.processor)


def adopt_orphans() -> None:
    """Become the parent of processes that lose theirs, so that what they use is counted.

    Raises OSError where the system refuses.
    """
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no process can be adopted here")


def cost_of(
    command: list[str],
    folder: Path,
    memory: PeakMemory | None = None,
    *,
    endings: tuple[int, ...] = (0,),
    path: tuple[Path, ...] = (ROOT,),
) -> Cost:
    """Run a command in `folder` to its end, and count what its orphans have used as well.

    `adopt_orphans` has been called, and no other child of this process is there. `memory` watches
    it. `path` is where Python looks first: the kit beside this file, wherever another is installed.
    When the command ends with none of the codes in `endings`, RuntimeError is raised with the end
    of what it printed.
    """
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environ = environment() | {"PYTHONPATH": os.pathsep.join(map(str, path))}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output, env=environ)
        with memory.watching(process.pid) if memory else nullcontext():
            ended = process.wait()
        wall = time.perf_counter() - begun
        if ended not in endings:
            output.seek(0)
            raise RuntimeError(output.read().decode(errors="replace")[-2000:])
    _reap()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, used)


def module(name: str, *words: str) -> list[str]:
    """Return the command that runs a module with this Python."""
    return [sys.executable, "-m", name, *words]


def _reap() -> None:
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return
