"""Signals to `attn watch`: Ctrl-C, the end of the terminal, another size."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import Protocol

from autograder.learning.terminal.keys import END_OF_INPUT


class Signalled(Protocol):
    """What signals are turned into."""

    def press(self, key: str) -> None:
        """Note that a key was pressed."""

    def redraw(self) -> None:
        """Draw again."""


class Signals:
    """A context in which signals become events; Ctrl-C quits like q.

    An exception raised by a handler would be lost if Python were just running a destructor. So only
    the second request to end raises one, in case nobody handles events any more.
    """

    def __init__(self, watcher: Signalled) -> None:
        self._watcher = watcher
        self._leaving = False
        self._before: dict[int, signal._HANDLER] = {}

    def __enter__(self) -> None:
        for name in ("SIGWINCH", "SIGCONT"):
            self._take(name, lambda number, frame: self._watcher.redraw())
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            self._take(name, self._leave)

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, name: str, handler: Callable[[int, FrameType | None], None]) -> None:
        number = getattr(signal, name, None)  # Windows has only a few of them
        if number is not None:
            self._before[number] = signal.signal(number, handler)

    def _leave(self, number: int, frame: FrameType | None) -> None:
        if self._leaving:
            raise KeyboardInterrupt
        self._leaving = True
        self._watcher.press(END_OF_INPUT)
