"""Sockets that nobody may reach: whoever comes is told the canary, and is remembered."""

from __future__ import annotations

import os
import secrets
import selectors
import socket
import threading
from contextlib import closing, suppress
from pathlib import Path
from typing import Any


class Listeners:
    """Sockets of all kinds that tell the canary to whoever connects, and remember who did."""

    def __init__(self, folder: Path, canary: bytes) -> None:
        self._canary = canary
        self.touched: list[str] = []
        self._selector = selectors.DefaultSelector()
        self._wake, far = socket.socketpair()
        self._far = far
        self._flushed = threading.Event()
        self.path = str(folder / "socket")
        self.abstract = f"attn-{secrets.token_hex(4)}"
        self._tcp = self._listen("TCP", socket.AF_INET, ("127.0.0.1", 0))
        self._udp = self._listen("UDP", socket.AF_INET, ("127.0.0.1", 0), socket.SOCK_DGRAM)
        self._listen("abstract socket", socket.AF_UNIX, f"\0{self.abstract}")
        self._listen("path socket", socket.AF_UNIX, self.path)
        os.chmod(self.path, 0o777)
        self._selector.register(far, selectors.EVENT_READ, "")
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._tcp.getsockname()[1])

    @property
    def udp_port(self) -> int:
        return int(self._udp.getsockname()[1])

    def flush(self) -> tuple[str, ...]:
        """Return which were touched, once all that has arrived until now is dealt with."""
        self._flushed.clear()
        self._wake.send(b"f")
        assert self._flushed.wait(60), "the listeners do not answer"
        touched = tuple(self.touched)
        self.touched.clear()
        return touched

    def close(self) -> None:
        self._wake.send(b"q")
        self._thread.join(60)
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._selector.close()
        self._wake.close()

    def _listen(
        self, name: str, family: int, address: Any, kind: int = socket.SOCK_STREAM
    ) -> socket.socket:
        one = socket.socket(family, kind)
        one.bind(address)
        one.setblocking(False)
        if kind == socket.SOCK_STREAM:
            one.listen()
        self._selector.register(one, selectors.EVENT_READ, name)
        return one

    def _serve(self) -> None:
        while True:
            # Those that are touched come before the wake-up call that arrived after them.
            ready = sorted(self._selector.select(), key=lambda each: each[0].data == "")
            for key, _ in ready:
                if key.data:
                    self._tell(key.data, key.fileobj)  # type: ignore[arg-type]
                elif self._far.recv(1) == b"q":
                    return
                else:
                    self._flushed.set()

    def _tell(self, name: str, listener: socket.socket) -> None:
        self.touched.append(name)
        with suppress(OSError):  # who connected may be gone again
            if listener.type == socket.SOCK_DGRAM:
                listener.sendto(self._canary, listener.recvfrom(4096)[1])
                return
            with closing(listener.accept()[0]) as one:
                one.sendall(self._canary)
