"""What the host tells the zygote, and which layers the zygote finds on the machine.

The plan crosses the control socket as JSON before the zygote isolates itself.
It holds nothing secret: paths, limits, and the path of a canary that no worker
may be able to read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
