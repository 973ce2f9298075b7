"""What the probe tries from inside a worker; loaded there as if a student had written it.

Each attempt returns "done" when it succeeds, otherwise the name of the error. So
the host can compare every denial with a control that must succeed.
"""

from __future__ import annotations

import ctypes
import os
import resource
import socket
import sys
import threading
from collections.abc import Callable

import numpy as np

MEGABYTE = 1 << 20
PR_GET_SECCOMP = 21
CLONE_FILES = 0x400


def attempt(action: Callable[[], object]) -> str:
    """Return "done", or the name of the error that `action` raises."""
    try:
        action()
    except (OSError, MemoryError, RuntimeError) as error:
        return type(error).__name__
    return "done"


def read(path: str) -> str:
    """Try to read a file, or to list a folder."""

    def action() -> None:
        if os.path.isdir(path):
            os.listdir(path)
        else:
            with open(path, "rb") as file:
                file.read(1)

    return attempt(action)


def read_module(name: str) -> str:
    """Try to read the file that a module was loaded from, as a later import would."""
    return read(str(sys.modules[name].__file__))


def connect(port: int) -> str:
    """Try to reach the host's listener."""

    def action() -> None:
        socket.create_connection(("127.0.0.1", port), 1.0).close()

    return attempt(action)


def signal(pid: int) -> str:
    """Try to signal a process, or this one when `pid` is 0."""
    return attempt(lambda: os.kill(pid or os.getpid(), 0))


def fork() -> str:
    """Try to make a process."""

    def action() -> None:
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)

    return attempt(action)


def thread() -> str:
    """Try to make a thread, which is allowed."""

    def action() -> None:
        started = threading.Thread(target=int)
        started.start()
        started.join()

    return attempt(action)


def call_unshare() -> str:
    """Try a system call that no exercise needs, in its most harmless form."""

    def action() -> None:
        if ctypes.CDLL(None).unshare(CLONE_FILES) != 0:
            raise OSError

    return attempt(action)


def allocate(megabytes: int) -> str:
    """Try to get that much memory."""
    return attempt(lambda: np.empty(megabytes * MEGABYTE, np.uint8))


def limited() -> bool:
    """Return whether processor time and file sizes have limits."""
    limits = (resource.RLIMIT_CPU, resource.RLIMIT_FSIZE)
    return all(resource.getrlimit(what)[1] != resource.RLIM_INFINITY for what in limits)


def filtered() -> bool:
    """Return whether the kernel says that a filter is in force."""
    return bool(ctypes.CDLL(None).prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2)


def spin() -> None:
    """Never end."""
    while True:
        pass


def flood() -> None:
    """Print without end."""
    while True:
        print("x" * MEGABYTE, flush=True)
