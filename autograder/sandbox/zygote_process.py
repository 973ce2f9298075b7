"""The zygote as a process of the host: start it, order forks and kills, hear how workers end.

It is exec'ed with nothing from the host but one socket and a short environment.
What it says is checked, and it is killed when it says nothing in time. It is the
first process of its namespace, so no worker outlives it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from autograder.values.exercise import Limits
from autograder.values.request import ExceptionReport, Failed
from autograder.values.this_machine import ONE_THREAD
from autograder.values.verdict import Outcome
from autograder.worker.plan import PACKAGE, Plan

# How a worker ended, judged by what the host itself observed.
#
# The worker's own word counts for nothing here. The wait status and the memory and time used come
# from the kernel through the zygote; the host itself sees the deadline and the closed channel.

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


_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
    "LANG": "C.UTF-8",
    "HOME": "/box",
    "USER": "student",
    "PYTHONHASHSEED": "0",
    "PYTHONIOENCODING": "utf-8:backslashreplace",
    **ONE_THREAD,
    "MALLOC_ARENA_MAX": "2",
}
_LIBRARY_PATH = "LD_LIBRARY_PATH"
_MESSAGE = 1 << 16
_MOST_HEARD = 1000  # messages that are kept for later
# It never waits for a worker, so a longer silence than this cannot come from a busy machine.
_TO_START, _TO_FORK, _TO_CONFIRM = 120.0, 20.0, 10.0

Facts = dict[str, Any]


def _library_path(readable: Iterable[str]) -> dict[str, str]:
    """Return the library path that a cluster's `module load` sets, as far as workers see it."""
    named = os.environ.get(_LIBRARY_PATH, "").split(os.pathsep)
    visible = tuple(os.path.realpath(place) for place in readable)
    kept = [
        place
        for place in filter(os.path.isabs, named)
        if any(Path(os.path.realpath(place)).is_relative_to(each) for each in visible)
    ]
    return {_LIBRARY_PATH: os.pathsep.join(kept)} if kept else {}


class ZygoteDied(Exception):
    """The zygote has ended, or does not answer in time, or answers nonsense."""


class ZygoteProcess:
    """A zygote that is starting, and then running."""

    def __init__(self, plan: Plan) -> None:
        self._control, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._heard: list[Facts] = []
        self._errors = os.memfd_create("errors")  # what it says while it starts
        self.errors = ""
        with far:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-s",
                    "-P",
                    "-B",
                    "-u",
                    str(PACKAGE / "worker/__main__.py"),
                    str(far.fileno()),
                ],
                env=_ENVIRONMENT | _library_path(plan.readable),
                pass_fds=[far.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                cwd="/",
                start_new_session=True,
            )
        self.alive = True
        with contextlib.suppress(OSError):  # it has ended, so there will be no greeting
            self._control.send(json.dumps(asdict(plan)).encode())

    @cached_property
    def greeting(self) -> Facts:
        """The first thing it says: `ready`, `refused` or `failed`. Waits; raises `ZygoteDied`."""
        try:
            return self._hear(lambda facts: True, _TO_START)
        except (ZygoteDied, OSError) as error:
            self.close()
            said = self.errors.rpartition("\n")[2]
            raise ZygoteDied(str(error) if said in str(error) else f"{error}: {said}") from None

    @property
    def pid(self) -> int:
        """The host's pid of the process that was started."""
        return self._process.pid

    def fork(self, seed: int, descriptors: tuple[int, ...]) -> int:
        """Have a worker forked with `descriptors`; return its pid in the zygote's namespace."""
        self._say({"fork": seed}, descriptors)
        worker = self._hear(lambda facts: "forked" in facts, _TO_FORK)["forked"]
        return self._number(worker)

    def wait(self, worker: int, seconds: float) -> Ending | None:
        """Return how `worker` ended, or None when it is still alive after `seconds`."""
        try:
            facts = self._hear(lambda facts: facts.get("ended") == worker, seconds)
        except TimeoutError:
            return None
        status, kilobytes, milliseconds = (
            self._number(facts.get(name)) for name in ("status", "kilobytes", "milliseconds")
        )
        if status >= 1 << 16 or not (os.WIFEXITED(status) or os.WIFSIGNALED(status)):
            self.close()
            raise ZygoteDied(
                "the zygote is confused: it says that a worker ended that is still alive"
            )
        return Ending(status, kilobytes, milliseconds, killed_by_us=False)

    def used(self, worker: int) -> float | None:
        """Return the processor time that `worker` has used, in seconds; None when it has ended."""
        self._say({"used": worker})
        try:
            facts = self._hear(lambda facts: facts.get("used") == worker, _TO_CONFIRM)
        except TimeoutError as error:
            self.close()
            raise ZygoteDied(str(error)) from None
        used = facts.get("microseconds")
        return None if used is None else self._number(used) / 1e6

    def kill(self, worker: int) -> Ending:
        """Have `worker` killed and return how it ended; without an answer, kill the zygote."""
        self._say({"kill": worker})
        ending = self.wait(worker, _TO_CONFIRM)
        if ending is None:
            self.close()
            raise ZygoteDied("the end of a worker was not confirmed")
        return Ending(ending.status, ending.kilobytes, ending.milliseconds, killed_by_us=True)

    def close(self) -> None:
        """End the zygote and every worker with it; a second call does nothing."""
        if self.alive:
            self.alive = False
            self._control.close()
            self._process.kill()
            self._process.wait()
            said = os.pread(self._errors, _MESSAGE, 0)
            self.errors = said[-500:].decode("utf-8", "replace").strip()
            os.close(self._errors)

    def _say(self, facts: Facts, descriptors: tuple[int, ...] = ()) -> None:
        if not self.alive:
            raise ZygoteDied("the zygote has ended")
        try:
            socket.send_fds(self._control, [json.dumps(facts).encode()], list(descriptors))
        except OSError as error:
            self.close()
            raise ZygoteDied(f"the zygote takes no orders: {error}") from None

    def _hear(self, wanted: Callable[[Facts], bool], seconds: float) -> Facts:
        """Return the first message that is wanted, and keep the others for later."""
        deadline = time.monotonic() + seconds
        while True:
            for facts in self._heard:
                if wanted(facts):
                    self._heard.remove(facts)
                    return facts
            if len(self._heard) >= _MOST_HEARD:
                self.close()
                raise ZygoteDied("the zygote is confused: it says things that nobody waits for")
            self._heard.append(self._next(deadline))

    def _next(self, deadline: float) -> Facts:
        if not self.alive:
            raise ZygoteDied("the zygote has ended")
        waiting = select.poll()
        waiting.register(self._control, select.POLLIN)
        if not waiting.poll(1000 * max(0.0, deadline - time.monotonic())):
            raise TimeoutError("the zygote does not answer")
        try:
            message = self._control.recv(_MESSAGE)
            facts = json.loads(message) if message else None
        except (OSError, ValueError, RecursionError) as error:
            message, facts = str(error).encode(), None
        if type(facts) is not dict:
            self.close()
            said = f": {self.errors.splitlines()[-1]}" if self.errors else ""
            raise ZygoteDied("the zygote is confused" if message else f"the zygote has ended{said}")
        return facts

    def _number(self, value: Any) -> int:
        if type(value) is not int or not 0 <= value < 1 << 62:
            self.close()
            raise ZygoteDied("the zygote is confused: a number was expected")
        return value
