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

import os
import select
import socket
import time
from typing import Any

from autograder.protocol import wire
from autograder.protocol.frame_buffer import FrameBuffer
from autograder.sandbox.budget import Budget
from autograder.sandbox.budget import Late as Late

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
