"""Frames on the worker's end of the channel, read and written whole.

The host is not woken for each of them: a bell is rung when there is nothing to do but wait for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
from collections.abc import Iterable
from typing import Any

from autograder.worker import arrays, wire
from autograder.worker.call import Call, EarlierCall, LayerCall, StandIn
from autograder.worker.wire import FrameBuffer

_CHUNK = 1 << 16
_decoded = json.JSONDecoder().raw_decode


class HostGone(Exception):
    """The host has closed the channel."""


class HostChannel:
    """The channel to the host at `descriptor`, and the `bell` that wakes it, a pipe."""

    def __init__(self, descriptor: int, bell: int) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, fileno=descriptor)
        self._bell = bell
        self._incoming = FrameBuffer()
        self._room = select.poll()
        self._room.register(descriptor, select.POLLOUT)

    def receive(self) -> tuple[dict[str, Any], wire.Payload]:
        """Wait for one frame; raise `HostGone` when there will be none."""
        while (frame := self._incoming.take()) is None:
            self._incoming.add(self._part())
        head, payload = frame
        # Nobody forges what the host writes, so it need not be read as strictly as what it reads,
        # and nothing follows: not to look for more takes a third less time.
        header: dict[str, Any] = _decoded(head.decode())[0]
        return header, wire.Payload(payload)

    def send(self, header: dict[str, Any], payload: list[bytes]) -> None:
        """Send one frame; raise `WireError`, with nothing sent, when it is over the caps."""
        self.send_encoded(wire.to_json(header), payload)

    def send_encoded(self, head: bytes, payload: list[bytes]) -> None:
        """Send one frame whose header is written already; raise as `send`."""
        rest = memoryview(wire.frame_of(head, payload))
        while rest:
            try:
                rest = rest[self._socket.send(rest, socket.MSG_DONTWAIT) :]
            except BlockingIOError:  # there is room when the host has read
                self.ring()
                self._room.poll()

    def _part(self) -> bytes:
        """Return what has come; wait for it where nothing has."""
        try:
            part = self._socket.recv(_CHUNK, socket.MSG_DONTWAIT)
        except BlockingIOError:
            self.ring()
            part = self._socket.recv(_CHUNK)
        if not part:
            raise HostGone
        return part

    def ring(self) -> None:
        """Wake the host, to read what was sent."""
        with contextlib.suppress(BlockingIOError):  # it is full of rings that nobody has heard yet
            os.write(self._bell, b"\n")


def read_call(header: dict[str, Any], payload: wire.Payload, library: str) -> Call:
    """Return the call that a frame of the host asks for."""
    dtype, generators = header["dtype"], arrays.Generators()

    def inward(facts: Any) -> Any:
        value = wire.decode(facts, payload)
        return arrays.to_library(value, library, dtype, generators)

    def values(name: str) -> list[Any]:
        return list(map(inward, header.get(name, ())))

    def named(name: str) -> dict[str, Any]:
        return {key: inward(facts) for key, facts in header.get(name, {}).items()}

    # In the order in which the host wrote the arrays.
    arguments, keywords = values("arguments"), named("keywords")
    method_arguments, attributes = values("method_arguments"), named("attributes")
    backward = values("backward")
    return Call(
        arguments=arguments,
        keywords=keywords,
        method=header["method"],
        method_arguments=method_arguments,
        attributes=attributes,
        read=header.get("read", []),
        before=header.get("before", []),
        calls=header["calls"],
        dtype=dtype,
        backward=backward[0] if backward else None,
        layouts=header.get("layouts", []),
        earlier=[EarlierCall.of(each) for each in values("earlier")],
        recording=header["recording"],
    )


def read_stand_ins(header: dict[str, Any], payload: wire.Payload) -> dict[int, StandIn]:
    """Return what answers some calls, by their number, as a frame of the host says after a call."""
    return {
        number: StandIn(way, wire.decode(value, payload), tuple(order))
        for number, way, value, order in header["stand_ins"]
    }


def written_calls(calls: Iterable[LayerCall], parts: list[bytes]) -> list[dict[str, Any]]:
    """Return calls as JSON; the bytes of their arrays are appended to `parts`."""
    return [
        {
            "step": call.step,
            "names": [name[: wire.NAME] for name in call.names],
            "arguments": [wire.encode(value, parts) for value in call.arguments],
            "result": wire.encode(call.result, parts),
            "line": call.line,
            "answered": call.answered,
            "bound": call.bound,
            "file": call.file[: wire.NAME],
        }
        for call in calls
    ]
