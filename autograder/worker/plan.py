"""What the host asks of the zygote, and what the zygote found that it can do.

The plan crosses the control socket as JSON before the zygote isolates itself.
It holds nothing secret: paths, limits, and where a canary lies that no worker
may be able to read.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin")
# Read by NumPy and PyTorch while they choose code for the processor; nothing secret in them.
PROCESSOR = ("/proc/cpuinfo", "/sys/devices/system/cpu")
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
BOX = "/box"
_OF_A_PREFIX = ("bin", "lib", "lib64", "share", "pyvenv.cfg")


@dataclass(frozen=True)
class Plan:
    """One zygote: its library, its limits (megabytes, seconds), its layers.

    `uid` is the throw-away user that workers become (0: they keep the host's).
    `without` names layers to leave out, to show what each of them is for. `as_root` accepts
    workers that stay root, where the interpreter is reached by nobody else: code that is trusted.
    """

    library: str
    memory_megabytes: int
    cpu_seconds: int
    canary: str
    uid: int
    without: tuple[str, ...]
    as_root: bool = False


@dataclass(frozen=True)
class Layers:
    """What this machine gives: the Landlock version (0: none) and the assembled filter."""

    namespaces: bool
    landlock: int
    seccomp: bytes | None
    bounded: bool


def readable() -> tuple[str, ...]:
    """Return what a worker may read: the interpreter, the system's libraries, our worker files.

    Never the folder that holds the package, nor a whole environment folder: the
    solutions may lie beside the one, or inside the other.
    """
    prefixes = (sys.base_prefix, sys.base_exec_prefix, sys.prefix)
    interpreter = (os.path.join(prefix, part) for prefix in prefixes for part in _OF_A_PREFIX)
    ours = (str(PACKAGE / name) for name in ("worker", "wire.py", "__init__.py"))
    return tuple(dict.fromkeys(filter(os.path.exists, (*SYSTEM, *interpreter, *ours))))
