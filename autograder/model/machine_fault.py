"""Faults of the machine, in words: what it refuses, where that is, and what to do about it.

No command can foresee a full disk, a limit that somebody has set, or a missing package, and none
of them deserves a traceback.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from importlib import metadata
from pathlib import Path

from autograder.errors import KitError

_FULL = "free some space on that disk, and run the same command again"
_CLOSED = "work in a folder that you may write to, or change the permissions there"
_CURES = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EROFS: _CLOSED,
    errno.EACCES: _CLOSED,
    errno.EPERM: _CLOSED,
    errno.EIO: "check that disk: it cannot be read or written",
    errno.EFBIG: "allow larger files (`ulimit -f unlimited`), and run the same command again",
}
# The limits of a process belong to no file: where each one is set, and how to raise it.
TOO_FEW_FILES = (
    "the limit on open files of this process (`ulimit -n`)",
    "raise it (`ulimit -n 1024`; for a container, start it with `--ulimit nofile=1024`)",
)
_LIMITS = {
    errno.EMFILE: TOO_FEW_FILES,
    errno.ENFILE: (
        "the limit on open files of this machine (sysctl fs.file-max)",
        "close programs that hold many files open, and run the same command again",
    ),
    errno.EAGAIN: (
        "the limit on processes and threads of this user (`ulimit -u`, or the container's)",
        "raise it, end some of your other processes, or grade in fewer (`--processes 1`)",
    ),
    errno.ENOMEM: (
        "the memory of this machine, or the limit of this process (`ulimit -v`)",
        "free memory or raise the limit, or grade in fewer processes (`--processes 1`)",
    ),
}
_OF_A_LIMIT = ("failed to map segment", "cannot allocate memory", "Cannot allocate memory")


def fault_of(error: BaseException) -> KitError | None:
    """Return the fault of the machine behind `error`, or None when the fault may be ours."""
    if isinstance(error, ImportError):
        return _not_importable(error)
    if isinstance(error, MemoryError):
        place, cure = _LIMITS[errno.ENOMEM]
        return KitError("there is no memory left", place=place, cure=cure)
    if isinstance(error, OSError) and error.errno is not None:
        return _refused(error, error.errno)
    return None


def limit_reached(error: OSError) -> KitError | None:
    """Return the error about a limit of this process or user, or None when there is none."""
    if error.errno not in _LIMITS:
        return None
    place, cure = _LIMITS[error.errno]
    return KitError(f"{error.strerror}", place=place, cure=cure)


def limit_named_in(words: str) -> KitError | None:
    """Return the error about the limit that the last words of another process name, or None."""
    reached = (number for number in _LIMITS if os.strerror(number) in words)
    return next((limit_reached(OSError(number, os.strerror(number))) for number in reached), None)


def _refused(error: OSError, number: int) -> KitError | None:
    if limit := limit_reached(error):
        return limit
    if number == errno.ENOENT and str(error.filename).startswith("/proc/"):
        return no_proc()
    if number in _CURES:
        place = str(error.filename or _current_folder())
        return KitError(f"{error.strerror}", place=place, cure=_CURES[number])
    return None


def no_proc() -> KitError:
    """Return the error about a machine without /proc."""
    return KitError(
        "there is no /proc, which the kit needs to limit and watch processes",
        place="/proc",
        cure="mount it (`mount -t proc proc /proc`), or start the container with one",
    )


def _not_importable(error: ImportError) -> KitError | None:
    if any(words in str(error) for words in _OF_A_LIMIT):
        return fault_of(MemoryError())
    name = (error.name or "").partition(".")[0]
    if not name or name == __name__.partition(".")[0]:
        return None
    if name.lstrip("_") in sys.stdlib_module_names or name in sys.stdlib_module_names:
        return KitError(
            f"this Python was built without {name}, a part of its standard library",
            place=sys.executable,
            cure="use a complete Python (the system's own, or build it with the headers of the "
            "library that is missing), and install the kit for it",
        )
    if not isinstance(error, ModuleNotFoundError):
        return KitError(
            f"{name} is installed but cannot be imported: {_first_line(error)}",
            place=str(error.path or sys.prefix),
            cure=f"reinstall it (`{sys.executable} -m pip install --force-reinstall {name}`)",
        )
    return KitError(
        f"{name} is not installed for this Python, but this command needs it",
        place=sys.executable,
        cure=f"install it: `{sys.executable} -m pip install {requirement_of(name)}`",
    )


def requirement_of(name: str) -> str:
    """Return what to type after `pip install` for a package: in the version that the kit needs.

    The kit itself is in no index of packages, so its extras cannot be installed by name.
    """
    try:
        needed = metadata.requires("attention-kit") or ()
    except metadata.PackageNotFoundError:
        needed = ()
    own = re.compile(rf"{re.escape(name).replace('_', '[-_]')}\b(?![-_.\[])[^;]*", re.IGNORECASE)
    found = [match[0].strip() for match in map(own.match, needed) if match]
    return f"'{found[0]}'" if found else name


def _first_line(error: ImportError) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), "").strip()[:300]


def _current_folder() -> str:
    try:
        return str(Path.cwd())
    except OSError:
        return "the current folder, which no longer exists"
