"""Notices when a learner's file is saved, however the editor does it.

Editors write in place, or write another file and rename it; JupyterLab saves notebooks. All that
counts is that the file with that name has changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from watchfiles import Change, watch

from autograder.learning.own_work import WORK

STEP = 15  # milliseconds without a change before the changes are reported
DEBOUNCE = 200  # milliseconds of constant changes before they are reported anyway


class Saves:
    """A context in which a thread calls `saved` with each work file that was saved."""

    def __init__(self, folders: Sequence[Path], saved: Callable[[Path], None]) -> None:
        self._folders = {folder.resolve(): folder for folder in folders}
        self._saved = saved
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Saves:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        changes = watch(
            *self._folders,
            watch_filter=_is_work,
            step=STEP,
            debounce=DEBOUNCE,
            stop_event=self._stop,
            recursive=False,
            raise_interrupt=False,
        )
        for change in changes:
            for path in sorted({Path(path) for _, path in change}):
                if path.parent in self._folders:
                    self._saved(self._folders[path.parent] / path.name)


def _is_work(change: Change, path: str) -> bool:
    name = Path(path).name
    return name.endswith(WORK) and not name.startswith(".")
