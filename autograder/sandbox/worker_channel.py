"""The host's end of a worker: frames and output, never waited for past a deadline.

Reads and writes do not block, since a worker may refuse on purpose to read or
to write. What it prints is read at the same time, so that a full pipe never
holds up an answer; only the first part of it is kept.

Being woken for every answer costs both sides more than most answers do. So the
host is woken by a bell, which a worker rings when it has nothing left to do. It
also looks when the time of a question may be over, and when the worker has ended:
what was answered until then is there.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from autograder.worker import wire
from autograder.worker.wire import FrameBuffer

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
