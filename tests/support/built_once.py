"""What many tests begin with and none changes: made once a run, for all its processes."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

FOLDER = "ATTN_TESTS_FOLDER"  # `tests/conftest.py` makes it, and removes it when the run ends


def built_once(name: str, make: Callable[[Path], object]) -> Path:
    """Give the folder `name` of this run, filled by `make` when it is asked for the first time.

    `make` gets the empty folder. Whoever asks meanwhile, in this process or in another, waits.
    What lies there is for reading: a test that changes something copies it first.
    """
    run = Path(os.environ[FOLDER])
    folder, ready = run / name, run / f"{name}.ready"
    with (run / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            folder.mkdir()
            make(folder)
            ready.touch()
    return folder
