"""One run at a time on one class: a second waits, and then finds everything judged.

Two runs at once would judge twice and lay out the same notebooks over each other. The lock
is the kernel's own on the folder of the class, so it leaves no file and no killed run keeps it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from autograder.model.group_shared import following

WAITS = "another run is grading this class: waiting for it to finish"


@contextmanager
def class_lock(folder: Path, waits: Callable[[], None]) -> Iterator[None]:
    """Hold the class in `folder`; call `waits` first when another run holds it, and wait for it.

    What is made meanwhile can be used by all who share that folder.
    Raise OSError when the folder cannot be read or its file system has no locks.
    """
    if sys.platform == "win32":  # has no such lock, and no grading
        yield
        return
    import fcntl

    held = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waits()
            fcntl.flock(held, fcntl.LOCK_EX)
        with following(folder):
            yield
    finally:
        os.close(held)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end this process as an error does, so that nothing is left behind.

    Only in the main thread, and only where nobody else handles them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [getattr(signal, name) for name in names]
    ours = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: object) -> None:
    raise SystemExit(128 + number)
