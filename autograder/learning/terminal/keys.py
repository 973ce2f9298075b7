"""Reads single keys from a terminal, without Enter, on Linux, macOS and Windows.

However the watch ends, the terminal is restored.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

ESCAPE = "\x1b"
# Arrow keys and the like, which are not used. Some have digits in them, and digits are keys.
SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|[^\[O])")
BEGUN = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|O)\Z")  # the rest comes with the next read
END_OF_INPUT = "\x04"


class Keyboard:
    """A context in which a thread calls `press` with every key, as one character."""

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
        """Make the terminal send single keys; call this again after the process was suspended."""
        if sys.platform != "win32":
            import termios
            import tty

            if self._before is None:
                self._before = termios.tcgetattr(sys.stdin.fileno())
            # Not raw mode: Ctrl-C still works, and a new line begins at the left.
            tty.setcbreak(sys.stdin.fileno())

    def _read(self) -> None:
        begun = ""
        while data := os.read(sys.stdin.fileno(), 64).decode("utf-8", "replace"):
            keys, begun = single_keys(begun + data)
            for key in keys:
                self._press(key)
        self._press(END_OF_INPUT)

    def _read_windows(self) -> None:
        if sys.platform == "win32":
            import msvcrt

            while True:
                key = msvcrt.getwch()
                if key in "\x00\xe0":  # the first half of an arrow key or the like
                    msvcrt.getwch()
                else:
                    self._press(key)


def single_keys(text: str) -> tuple[str, str]:
    """Return the keys in what a terminal sent, and the beginning of a sequence at its end."""
    keys = SEQUENCE.sub("", text)
    begun = BEGUN.search(keys)
    rest = begun[0] if begun else ""
    return keys.removesuffix(rest).replace(ESCAPE, ""), rest
