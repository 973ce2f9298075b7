"""Frames on the worker's end of the channel, read and written whole."""

from __future__ import annotations

import json
import os
from typing import Any

from autograder.protocol import wire

_MOST = 1 << 20


class HostGone(Exception):
    """The host has closed the channel."""


def receive(descriptor: int) -> tuple[dict[str, Any], wire.Payload]:
    """Wait for one frame; raise `HostGone` when there will be none."""
    # The next frame may follow at once, so no byte beyond this one is read.
    head, size = wire.read_prefix(_exactly(descriptor, wire.PREFIX.size))
    data = _exactly(descriptor, head + size)
    # Nobody forges what the host writes, so it need not be read as strictly as what it reads.
    header: dict[str, Any] = json.loads(data[:head])
    return header, wire.Payload(data[head:])


def send(descriptor: int, header: dict[str, Any], payload: list[bytes]) -> None:
    """Send one frame; raise `WireError`, with nothing sent, when it is over the caps."""
    rest = memoryview(wire.frame(header, payload))
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _exactly(descriptor: int, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        part = os.read(descriptor, min(count - len(data), _MOST))
        if not part:
            raise HostGone
        data += part
    return bytes(data)
