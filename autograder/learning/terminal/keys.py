"""Single keys from a terminal, without Enter, on Linux, macOS and Windows.

The terminal is left as it was found, however the watch ends.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

ESCAPE = "\x1b"  # begins an arrow key and the like: none of ours
END_OF_INPUT = "\x04"


class Keyboard:
    """While it is entered, `press` gets every key as one character, from a thread."""

    def __init__(self, press: Callable[[str], None]) -> None:
        self._press = press
        self._before: Any = None
        read = self._read_windows if sys.platform == "win32" else self._read
        self._thread = threading.Thread(target=read, daemon=True)

    def __enter__(self) -> Keyboard:
        self.take()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if sys.platform != "win32" and self._before is not None:
            import termios

            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._before)

    def take(self) -> None:
        """Let keys come one by one; needed again after the process was suspended."""
        if sys.platform != "win32":
            import termios
            import tty

            if self._before is None:
                self._before = termios.tcgetattr(sys.stdin.fileno())
            # Not raw: Ctrl-C stays what it is, and a new line begins at the left.
            tty.setcbreak(sys.stdin.fileno())

    def _read(self) -> None:
        while data := os.read(sys.stdin.fileno(), 64).decode("utf-8", "replace"):
            if not data.startswith(ESCAPE):
                for key in data:
                    self._press(key)
        self._press(END_OF_INPUT)

    def _read_windows(self) -> None:
        if sys.platform == "win32":
            import msvcrt

            while True:
                key = msvcrt.getwch()
                if key in "\x00\xe0":  # the first half of an arrow key and the like
                    msvcrt.getwch()
                else:
                    self._press(key)
