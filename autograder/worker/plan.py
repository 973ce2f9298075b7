"""What the host asks of the zygote, and what the zygote found that it can do.

The plan crosses the control socket as JSON before the zygote isolates itself.
It holds nothing secret: paths, limits, and where a canary lies that no worker
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
# What a worker says about a limit of the host's that is lower than what a submission is promised.
TOO_LOW = "is lower than the"
_OF_A_PREFIX = ("bin", "lib", "lib64", "share", "pyvenv.cfg")


@dataclass(frozen=True)
class Plan:
    """One zygote: its library, its limits (megabytes, seconds), its layers.

    `uid` is the throw-away user that workers become (0: they keep the host's).
    `without` names layers to leave out, to show what each of them is for. `as_root` accepts
    workers that stay root, where the interpreter is reached by nobody else: code that is trusted.
    `import_path` is where modules are looked for, in this order (empty: where the interpreter
    looks by itself), `linked` what links in it lead to; workers may read both.
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
        """Return the plan that crossed the socket as JSON, which has lists for tuples."""
        lists = ("without", "import_path", "linked")
        return cls(**{**facts, **{name: tuple(facts[name]) for name in lists}})

    @property
    def readable(self) -> tuple[str, ...]:
        """What a worker of this plan may read."""
        return readable((*self.import_path, *self.linked))


@dataclass(frozen=True)
class Layers:
    """What this machine gives: the Landlock version (0: none) and the assembled filter."""

    namespaces: bool
    landlock: int
    seccomp: bytes | None
    bounded: bool


def readable(packages: Iterable[str] = ()) -> tuple[str, ...]:
    """Return what a worker may read: the interpreter, the system's libraries, our worker files.

    Never the folder that holds the package, nor a whole environment folder: the
    solutions may lie beside the one, or inside the other. `packages` are chosen by the host.
    """
    prefixes = (sys.base_prefix, sys.base_exec_prefix, sys.prefix)
    interpreter = (os.path.join(prefix, part) for prefix in prefixes for part in _OF_A_PREFIX)
    ours = (str(PACKAGE / name) for name in ("worker", "protocol", "__init__.py"))
    return tuple(dict.fromkeys(filter(os.path.exists, (*SYSTEM, *interpreter, *ours, *packages))))
