"""What the host holds of the sandbox: the zygote as a process, and its end of each worker.

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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from autograder.values.exercise import Limits
from autograder.values.request import ExceptionReport, Failed
from autograder.values.this_machine import ONE_THREAD
from autograder.values.verdict import Outcome
from autograder.worker import wire
from autograder.worker.control import PACKAGE, Plan
from autograder.worker.wire import FrameBuffer

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


# The host's end of a worker: frames and output, never waited for past a deadline.
#
# Reads and writes do not block, since a worker may refuse on purpose to read or to write. What it
# prints is read at the same time, so that a full pipe never holds up an answer; only the first
# part of it is kept.
#
# Being woken for every answer costs both sides more than most answers do. So the host is woken by
# a bell, which a worker rings when it has nothing left to do. It also looks when the time of a
# question may be over, and when the worker has ended: what was answered until then is there.

# The time a worker has for one question: processor time, so that a busy machine is fair.
#
# Right code that is slow only because the machine is busy must not fail. Code that uses no
# processor (it sleeps, or has stopped itself) must not be waited for without end. So the budget
# counts processor time, and ends in any case after three times as much wall time. The kernel is
# asked for the worker's processor time only after a wait, so quick answers cost nothing. What
# this process computes on the worker's behalf is charged to the worker too.

_WALL = 3.0
_FIRST_LOOK = 0.05  # of the budget: what a worker uses before that is not counted
_SHORTEST_WAIT = 0.01


@dataclass
class Allowance:
    """What is left of what several workers may use together: seconds, and answers to questions.

    `importing` are seconds beyond those of a call in which code imports a library.
    """

    seconds: float
    questions: int = 0
    importing: float = 20.0


class Late(Exception):
    """The deadline has passed."""


class Budget:
    """A budget of `seconds` of processor time.

    `used` returns the seconds that a worker has used in its whole life, or None when it has ended.
    There are `importing` seconds more once the worker says that it imports a library.
    """

    def __init__(
        self, seconds: float, used: Callable[[], float | None], importing: float = 0.0
    ) -> None:
        self._seconds, self._used, self._importing = seconds, used, importing
        self.imports = False  # whether the worker has said so
        self._begun = time.monotonic()
        self._next_look = _FIRST_LOOK * seconds  # in seconds since the beginning, as we count
        self._before: float | None = None
        self._processor = 0.0
        self._on_our_side = 0.0  # processor time of this process, spent for the worker

    @property
    def spent(self) -> float:
        """The seconds to charge: the processor time, but at least a third of the wait."""
        processor = self._waited if self._before is None else self._processor
        return max(processor, self._waited / _WALL) + self._on_our_side

    def charge(self, allowance: Allowance) -> None:
        """Take what was spent from an allowance; what a library took to load is not the code's."""
        spent = self.spent
        beyond = max(0.0, spent - self._seconds) if self.imports else 0.0
        allowance.seconds -= spent - beyond
        allowance.importing -= beyond

    @property
    def _limit(self) -> float:
        return self._seconds + (max(0.0, self._importing) if self.imports else 0.0)

    def left(self) -> float:
        """Return how many seconds to wait before asking again; raise `Late` when none are left."""
        waited = self._waited
        if waited >= self._next_look:
            rest = min(self._look(), _WALL * self._limit - waited)
            if rest <= 0:
                raise Late
            # Often: an answer may lie there for which nobody was woken.
            rest = min(rest, _FIRST_LOOK * self._limit)
            self._next_look = waited + max(rest, _SHORTEST_WAIT)
        return self._next_look - waited

    def settle(self) -> None:
        """Look once more after an answer that was waited for, so that `spent` is exact."""
        if self._before is not None:
            self._look()

    def forgive(self, seconds: float) -> None:
        """Do not count `seconds` of the wait: they were ours."""
        self._begun += seconds

    @contextlib.contextmanager
    def ours(self) -> Iterator[None]:
        """Do not count the time spent in this block: the worker waits for us."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self.forgive(time.monotonic() - begun)

    @contextlib.contextmanager
    def charged(self) -> Iterator[None]:
        """Charge the processor time that this block uses, but not how long it takes."""
        begun = time.process_time()
        try:
            with self.ours():
                yield
        finally:
            seconds = time.process_time() - begun
            self._on_our_side += seconds
            self._next_look -= seconds

    @property
    def _waited(self) -> float:
        return time.monotonic() - self._begun

    def _look(self) -> float:
        """Return the processor time that is left."""
        with self.ours():
            used = self._used()
        if used is not None:
            if self._before is None:
                self._before = used
            self._processor = used - self._before
        return self._limit - self._processor - self._on_our_side


_CHUNK = 1 << 16
_FLOOD = 32 << 20

Deadline = float | Budget  # on the monotonic clock, or a worker's own time


class Closed(Exception):
    """The worker's end is closed: it has ended, or has closed it."""


class Flooded(Exception):
    """The worker has printed more than anyone will read."""


class Channel:
    """One worker's socket, bell and output pipe. `kept_bytes` of the output are kept."""

    def __init__(self, kept_bytes: int) -> None:
        self._socket, self._far_socket = socket.socketpair()
        self._pipe, self._far_pipe = os.pipe()
        # A pipe, since its two ends have nothing in common that a worker could set for both.
        self._bell, self._far_bell = os.pipe()
        self._socket.setblocking(False)
        for each in (self._socket, self._far_socket):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 << 20)
        for end in (self._pipe, self._bell, self._far_bell):
            os.set_blocking(end, False)
        self._kept_bytes = kept_bytes
        self._kept = bytearray()
        self._incoming = FrameBuffer()
        self._outgoing = bytearray()  # to be sent as soon as there is room
        self._printed = 0
        self._pipe_open, self._bell_open, self._broken = True, True, False

    @property
    def far_ends(self) -> tuple[int, int, int]:
        """The descriptors that the worker gets: channel, output and bell."""
        return self._far_socket.fileno(), self._far_pipe, self._far_bell

    @property
    def output(self) -> bytes:
        """What was printed until now, as far as it is kept."""
        self._drain()
        return bytes(self._kept)

    def hand_over(self) -> None:
        """Close our copies of the worker's ends, so that its end can be seen."""
        self._far_socket.close()
        os.close(self._far_pipe)
        os.close(self._far_bell)

    def send(self, data: bytes, deadline: Deadline) -> None:
        """Send `data`; raise `Late`, `Closed` or `Flooded`."""
        self._outgoing += data
        while self._outgoing:
            self._wait(deadline)
        if self._broken:
            raise Closed

    def send_soon(self, data: bytes) -> None:
        """Have `data` sent without waiting; what finds no room is sent while answers are read."""
        self._outgoing += data

    def receive(self, deadline: Deadline) -> tuple[dict[str, Any], wire.Payload]:
        """Return the next frame; raise `Late`, `Closed`, `Flooded` or `WireError`."""
        return wire.read_frame(*self.receive_unread(deadline))

    def receive_unread(self, deadline: Deadline) -> tuple[bytes, bytes]:
        """Return header and payload of the next frame as they came; raise as `receive`."""
        while (frame := self._incoming.take()) is None or self._is_notice(frame[0], deadline):
            if frame is None and not self._take_in():
                self._wait(deadline)
        return frame

    def _is_notice(self, head: bytes, deadline: Deadline) -> bool:
        """Say whether a frame only says that a library is imported, which takes time."""
        if head != wire.IMPORTING:
            return False
        if not isinstance(deadline, Budget) or deadline.imports:
            raise wire.WireError("a library is imported twice")
        deadline.imports = True
        return True

    def close(self) -> None:
        """Read what is left of the output, and close socket and pipe."""
        self._drain()
        self._pipe_open = False
        self._socket.close()
        os.close(self._pipe)
        os.close(self._bell)

    def _take_in(self) -> bool:
        """Receive what has come, or a part of it; return whether it was anything."""
        try:
            part = self._socket.recv(_CHUNK)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            raise Closed from None
        if not part:
            raise Closed
        self._incoming.add(part)
        return True

    def _wait(self, deadline: Deadline) -> None:
        """Wait for the bell, for an end, or for room to send; send and read output meanwhile."""
        waiting = select.poll()
        ours = self._socket.fileno()
        # Of the socket, its end is told in any case.
        waiting.register(ours, select.POLLOUT * bool(self._outgoing))
        if self._bell_open:
            waiting.register(self._bell, select.POLLIN)
        if self._pipe_open:
            waiting.register(self._pipe, select.POLLIN)
        seen = dict(_polled(waiting, deadline))
        if self._bell in seen:
            self._bell_open = bool(os.read(self._bell, _CHUNK))
        if self._pipe in seen:
            self._read_output()
            if self._printed > _FLOOD:
                raise Flooded
        if self._outgoing and ours in seen:
            self._push()

    def _push(self) -> None:
        """Send what there is room for."""
        try:
            del self._outgoing[: self._socket.send(self._outgoing)]
        except BlockingIOError:
            pass
        except (BrokenPipeError, ConnectionResetError):
            self._outgoing.clear()  # what came before the end can still be read
            self._broken = True

    def _read_output(self) -> bool:
        """Read one piece of output; return whether there may be more."""
        try:
            part = os.read(self._pipe, _CHUNK)
        except BlockingIOError:
            return False
        self._pipe_open = bool(part)
        self._printed += len(part)
        self._kept += part[: max(0, self._kept_bytes - len(self._kept))]
        return bool(part)

    def _drain(self) -> None:
        while self._pipe_open and self._printed <= _FLOOD and self._read_output():
            pass


def _polled(waiting: select.poll, deadline: Deadline) -> list[tuple[int, int]]:
    """Return the events until the deadline; raise `Late` when it has passed."""
    if isinstance(deadline, Budget):
        left = deadline.left()
        begun = time.monotonic()
        events = waiting.poll(1000 * left)
        # When the wait was longer than asked for, it was this process that could not run.
        deadline.forgive(max(0.0, time.monotonic() - begun - left))
        return events
    left = deadline - time.monotonic()
    if left <= 0:
        raise Late
    return waiting.poll(1000 * left)
