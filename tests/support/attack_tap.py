"""What a grader receives, kept as it arrives, and the disguises a secret may arrive in."""

from __future__ import annotations

import base64
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from autograder.sandbox import zygote_process as channels
from autograder.sandbox import zygote_process as processes
from autograder.worker import wire

_LONG = 1000  # bytes, longer than any secret in any disguise


class Tap:
    """Keeps what the grader receives from workers and from the zygote.

    Of equal pieces in a row, as a flood of output is, the first two are kept: whatever stands in
    the flood, also from one piece into the next, stands in those.
    """

    def __init__(self) -> None:
        self._streams: dict[object, list[bytes]] = {}

    @contextmanager
    def listening(self) -> Iterator[Tap]:
        """Stand between the kernel and the grader: its sockets, and its reads of output."""
        with pytest.MonkeyPatch.context() as patch:
            for module in (channels, processes):
                patch.setattr(module, "socket", _Tapped(socket, socketpair=self._socketpair))
            patch.setattr(channels, "os", _Tapped(os, read=self._read))
            yield self

    def clear(self) -> None:
        """Forget what was received until now."""
        self._streams.clear()

    @property
    def received(self) -> bytes:
        """All of it, stream by stream."""
        return b"\n".join(map(b"".join, self._streams.values()))

    def keep(self, stream: object, data: bytes) -> bytes:
        """Keep and pass on what was received."""
        pieces = self._streams.setdefault(stream, [])
        if len(data) < _LONG or pieces[-2:] != [data, data]:
            pieces.append(data)
        return data

    def _read(self, descriptor: int, count: int) -> bytes:
        return self.keep(descriptor, os.read(descriptor, count))

    def _socketpair(self, *arguments: int) -> tuple[socket.socket, socket.socket]:
        near, far = socket.socketpair(*arguments)
        return _TappedSocket(self, near), far


class _Tapped:
    """A module of the standard library with one function exchanged."""

    def __init__(self, module: object, **exchanged: object) -> None:
        self._module = module
        vars(self).update(exchanged)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class _TappedSocket(socket.socket):
    def __init__(self, tap: Tap, near: socket.socket) -> None:
        super().__init__(near.family, near.type, near.proto, fileno=near.detach())
        self._tap = tap

    def recv(self, *arguments: int) -> bytes:
        return self._tap.keep(self, super().recv(*arguments))


def disguises(canary: str) -> tuple[tuple[str, bytes], ...]:
    """Return what to look for: each half of the canary, plain and in the ways to write bytes."""
    found: list[tuple[str, bytes]] = []
    for half in (canary[: len(canary) // 2], canary[len(canary) // 2 :]):
        plain = half.encode()
        numbers = np.frombuffer(plain, np.uint8)
        found += [
            ("plain", plain),
            ("upper case", plain.upper()),
            ("reversed", plain[::-1]),
            ("hexadecimal", plain.hex().encode()),
            ("hexadecimal, upper case", plain.hex().upper().encode()),
            ("UTF-16", half.encode("utf-16-le")),
            ("UTF-32", half.encode("utf-32-le")),
            ("a list of numbers", ", ".join(map(str, plain)).encode()),
            ("its own bytes", bytes.fromhex(half)),
            *((f"base64 at {shift}", _base64_inside(plain, shift)) for shift in range(3)),
        ]
        kinds = [kind for kind in wire.DTYPES if kind != "b1"]
        found += [
            (f"an array of {kind}", numbers.astype(wire.DTYPES[kind]).tobytes()) for kind in kinds
        ]
    return tuple(found)


def _base64_inside(plain: bytes, shift: int) -> bytes:
    """Return the part of base64 that does not depend on what stands around `plain`."""
    text = base64.b64encode(b"\0" * shift + plain)
    first = -(-shift * 4 // 3)
    return text[first + 1 : (shift + len(plain)) // 3 * 4]
