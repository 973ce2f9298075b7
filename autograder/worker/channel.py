"""Frames on the worker's end of the channel, read and written whole."""

from __future__ import annotations

import os
from typing import Any

from autograder import wire

_CHUNK = 1 << 20


class Ended(Exception):
    """The host has closed the channel."""


def receive(descriptor: int) -> tuple[dict[str, Any], wire.Payload]:
    """Wait for one frame; raise `Ended` when there will be none."""
    head, size = wire.read_prefix(_exactly(descriptor, wire.PREFIX.size))
    header = wire.read_header(_exactly(descriptor, head))
    return header, wire.Payload(_exactly(descriptor, size))


def send(descriptor: int, header: dict[str, Any], payload: list[bytes]) -> None:
    """Send one frame; raise `WireError`, with nothing sent, when it is over the caps."""
    rest = memoryview(wire.frame(header, payload))
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _exactly(descriptor: int, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        part = os.read(descriptor, min(count - len(data), _CHUNK))
        if not part:
            raise Ended
        data += part
    return bytes(data)
