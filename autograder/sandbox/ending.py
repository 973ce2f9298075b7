"""How a worker ended, judged by what the host itself observed.

The worker's own word counts for nothing here. The wait status and the memory and
time used come from the kernel through the zygote; the host itself sees the
deadline and the closed channel.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

from autograder.model.exercise import Limits
from autograder.model.request import ExceptionReport, Failed
from autograder.model.verdict import Outcome

_MEMORY_ERRORS = ("MemoryError", "_ArrayMemoryError", "OutOfMemoryError")
_MEMORY_TEXTS = ("can't allocate memory", "could not create a primitive", "Unable to allocate")
_NEAR = 0.9
_FROM_OUTSIDE = (
    signal.SIGKILL,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGXCPU,
)


@dataclass(frozen=True)
class Ending:
    """A worker's end as the kernel saw it; `killed_by_us` when the host had it killed."""

    status: int
    kilobytes: int
    milliseconds: int
    killed_by_us: bool


@dataclass(frozen=True)
class Killed(Failed):
    """Ended by a signal that somebody else may have sent: the kernel short of memory, an operator.

    The code may also have sent it itself, so the second time it counts as the code's own end.
    """


def cpu_seconds(limits: Limits) -> int:
    """Return the processor time one worker may use, in whole seconds."""
    return int(limits.seconds_per_submission) + 1


def judge(ending: Ending, limits: Limits) -> Failed:
    """Return what it means that a worker ended when nobody asked it to."""
    code = os.waitstatus_to_exitcode(ending.status)
    if ending.killed_by_us:
        return Failed(Outcome.CRASHED, "It closed the connection to the grader.")
    if code >= 0:
        return Failed(Outcome.CRASHED, f"The process ended with exit code {code}.")
    at_its_time = ending.milliseconds >= _NEAR * 1000 * cpu_seconds(limits)
    if code in (-signal.SIGXCPU, -signal.SIGKILL) and at_its_time:
        return Failed(Outcome.TIMED_OUT)
    if code == -signal.SIGKILL and ending.kilobytes >= _NEAR * 1024 * limits.memory_megabytes:
        return Failed(Outcome.OUT_OF_MEMORY)
    ended = Killed if -code in _FROM_OUTSIDE else Failed
    return ended(Outcome.CRASHED, f"The process was ended by {_name(-code)}.")


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal, which a student's code can send to itself
        return f"signal {number}"


def is_memory_error(report: ExceptionReport) -> bool:
    """Return whether an exception says, in any library's words, that memory ran out."""
    if report.type_name in _MEMORY_ERRORS:
        return True
    return any(text in report.message for text in _MEMORY_TEXTS)
