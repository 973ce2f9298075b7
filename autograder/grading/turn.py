"""One run at a time on one class: a second waits, and then finds everything judged.

Two runs at once would judge twice and lay out the same notebooks over each other. The lock
is the kernel's own on the folder of the class, so it leaves no file and no killed run keeps it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def turn(folder: Path, waits: Callable[[], None]) -> Iterator[None]:
    """Hold the class in `folder`; call `waits` first when another run holds it, and wait for it.

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
        yield
    finally:
        os.close(held)
