"""The process that started this one, which can be killed while this one works."""

from __future__ import annotations

import errno
import multiprocessing
import os
import threading
from collections.abc import Callable
from multiprocessing.connection import wait

from autograder.model.machine_fault import limit_reached


def end_with_parent(last: Callable[[], object] | None = None) -> None:
    """End this process when its parent is killed; it would work, or wait, on otherwise.

    `last` is what to do before. For a process of `multiprocessing`. Raises `KitError` when this
    user may have no thread more.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        try:
            if last is not None:
                last()
        finally:
            os._exit(1)

    thread = threading.Thread(target=watch, name="end with parent", daemon=True)
    try:
        thread.start()
    except RuntimeError as error:  # Python keeps no number of it; there is one reason only
        refused = OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        raise limit_reached(refused) or error from error
