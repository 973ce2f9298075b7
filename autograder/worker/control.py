"""The zygote's line to the host: what the host tells it, what it needs to know about itself.

One message is one packet of JSON, so that a message is never read in part.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
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


# What the host tells the zygote, and which layers the zygote finds on the machine.
#
# The plan crosses the control socket as JSON before the zygote isolates itself. It holds nothing
# secret: paths, limits, and the path of a canary that no worker may be able to read.

PACKAGE = Path(__file__).resolve().parents[1]
SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin")
# Read by NumPy and PyTorch while they choose code for the processor; nothing secret in them.
PROCESSOR = ("/proc/cpuinfo", "/sys/devices/system/cpu")
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
BOX = "/box"
OPEN_FILES, FILE_MEGABYTES = 64, 16  # what a submission may have open, and how large
# What a worker says about a limit of the host that is lower than what a submission is promised.
TOO_LOW = "is lower than the"
_OF_A_PREFIX = ("bin", "lib", "lib64", "share", "pyvenv.cfg")


@dataclass(frozen=True)
class Plan:
    """One zygote: its library, its limits (megabytes, seconds), its layers.

    `uid` is the throw-away user that workers become (0: they keep the host's).
    `without` names layers to leave out, to show what each of them is for. `as_root` accepts
    workers that stay root because only root can reach the interpreter; it is for trusted code.
    `import_path` lists where modules are looked for, in order (empty: the interpreter's own
    path), and `linked` the targets of links in it; workers may read both.
    """

    library: str
    memory_megabytes: int
    cpu_seconds: int
    canary: str
    uid: int
    without: tuple[str, ...]
    as_root: bool = False
    import_path: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()

    @classmethod
    def read(cls, facts: Mapping[str, Any]) -> Plan:
        """Return the plan that crossed the socket as JSON, where tuples became lists."""
        lists = ("without", "import_path", "linked")
        return cls(**{**facts, **{name: tuple(facts[name]) for name in lists}})

    @property
    def readable(self) -> tuple[str, ...]:
        """What a worker of this plan may read."""
        return readable((*self.import_path, *self.linked))


@dataclass(frozen=True)
class Layers:
    """The layers of this machine: the Landlock version (0: none), the assembled filter."""

    namespaces: bool
    landlock: int
    seccomp: bytes | None
    bounded: bool


def readable(packages: Iterable[str] = ()) -> tuple[str, ...]:
    """Return what a worker may read: the interpreter, the system's libraries, our worker files.

    Never the folder that holds the package, where the solutions may lie too, nor a whole
    environment folder, which may hold them. The host chooses `packages`.
    """
    prefixes = (sys.base_prefix, sys.base_exec_prefix, sys.prefix)
    interpreter = (os.path.join(prefix, part) for prefix in prefixes for part in _OF_A_PREFIX)
    ours = (str(PACKAGE / name) for name in ("worker", "__init__.py"))
    return tuple(dict.fromkeys(filter(os.path.exists, (*SYSTEM, *interpreter, *ours, *packages))))


# The processor time of another process, which the kernel counts (Linux).


def processor_seconds(pid: int) -> float:
    """Return the processor time of all threads of a process; raise OSError when it has ended."""
    return time.clock_gettime(processor_clock(pid))


def processor_clock(pid: int) -> int:
    """Return the clock of all threads of a process, as clock_getcpuclockid(3) numbers it."""
    return (~pid << 3) | 2
