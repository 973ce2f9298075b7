"""The zygote's line to the host, and what it needs to know about itself.

One message is one packet of JSON, so that a message is never read in part.
"""

from __future__ import annotations

import json
import os
import socket
from typing import Any

_LONGEST = 1 << 18  # a plan holds the whole import path
_MOST_DESCRIPTORS = 3


class Control:
    """The control socket, the only thing that the zygote has from the host."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)

    def fileno(self) -> int:
        """Return the descriptor, for polling."""
        return self._socket.fileno()

    def hear(self) -> tuple[dict[str, Any], list[int]]:
        """Return the next message with its descriptors; raise EOFError when the host is gone."""
        message, descriptors, _, _ = socket.recv_fds(self._socket, _LONGEST, _MOST_DESCRIPTORS)
        if not message:
            raise EOFError
        facts: dict[str, Any] = json.loads(message)
        return facts, descriptors

    def tell(self, **facts: Any) -> None:
        """Send one message."""
        self._socket.sendall(json.dumps(facts).encode())

    def close(self) -> None:
        """Close this process's copy of the socket."""
        self._socket.close()


class ProcessStats:
    """The files of /proc that are needed, opened while it is still there; workers close them."""

    def __init__(self) -> None:
        self._size = os.open("/proc/self/statm", os.O_RDONLY)
        self._threads = os.open("/proc/self/task", os.O_RDONLY | os.O_DIRECTORY)
        self._maps = os.open("/proc/self/maps", os.O_RDONLY)

    def address_space(self) -> int:
        """Return this process's address space, in bytes."""
        return int(os.pread(self._size, 200, 0).split()[0]) * os.sysconf("SC_PAGE_SIZE")

    def threads(self) -> int:
        """Return how many threads this process has."""
        return len(os.listdir(self._threads))

    def writable(self) -> list[tuple[int, int]]:
        """Return where this process's own memory begins and ends, region by region."""
        with open(self._maps, encoding="utf-8", errors="replace", closefd=False) as lines:
            regions = [line.split()[:2] for line in lines]
        places = [place.split("-") for place, rights in regions if rights == "rw-p"]
        return [(int(start, 16), int(end, 16)) for start, end in places]
