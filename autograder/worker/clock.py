"""The processor time of another process, which the kernel counts (Linux)."""

from __future__ import annotations

import time


def processor_seconds(pid: int) -> float:
    """Return the processor time of all threads of a process; raise OSError when it has ended."""
    return time.clock_gettime(processor_clock(pid))


def processor_clock(pid: int) -> int:
    """Return the clock of all threads of a process, as clock_getcpuclockid(3) numbers it."""
    return (~pid << 3) | 2
