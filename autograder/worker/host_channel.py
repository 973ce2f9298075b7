"""Frames on the worker's end of the channel, read and written whole."""

from __future__ import annotations

import os
from typing import Any

from autograder.protocol import wire

_LEAST, _MOST = 1 << 16, 1 << 20


class HostGone(Exception):
    """The host has closed the channel."""


def receive(descriptor: int) -> tuple[dict[str, Any], wire.Payload]:
    """Wait for one frame; raise `HostGone` when there will be none."""
    data = _fill(descriptor, bytearray(), wire.PREFIX.size)
    head, size = wire.read_prefix(bytes(data[: wire.PREFIX.size]))
    middle = wire.PREFIX.size + head
    # The host sends one frame at a time, so nothing beyond this one is read.
    data = _fill(descriptor, data, middle + size)
    header = wire.read_header(bytes(data[wire.PREFIX.size : middle]))
    return header, wire.Payload(bytes(data[middle:]))


def send(descriptor: int, header: dict[str, Any], payload: list[bytes]) -> None:
    """Send one frame; raise `WireError`, with nothing sent, when it is over the caps."""
    rest = memoryview(wire.frame(header, payload))
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _fill(descriptor: int, data: bytearray, count: int) -> bytearray:
    while len(data) < count:
        part = os.read(descriptor, min(max(_LEAST, count - len(data)), _MOST))
        if not part:
            raise HostGone
        data += part
    return data
