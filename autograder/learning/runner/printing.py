"""Collects what the learner's code prints while it is checked, up to a limit."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator

KEPT = 4000  # characters that are shown; the rest is only counted


class TooMuchPrinted(BaseException):
    """The code printed more than is allowed. Not an `Exception`, so that code rarely catches it."""


class Printed(io.TextIOBase):
    """A text stream that keeps the beginning; past `most` characters it raises `TooMuchPrinted`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[str] = []
        self._written = 0

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, text: str) -> int:
        """Keep the part of `text` that fits; raise `TooMuchPrinted` past the limit."""
        if self._written < KEPT:
            self._parts.append(text[: KEPT - self._written])
        self._written += len(text)
        if self._written > self._most:
            raise TooMuchPrinted
        return len(text)

    @property
    def text(self) -> str:
        """What was printed, and how much of it was left out."""
        left = self._written - KEPT
        rest = f"\n… and {left} more characters" if left > 0 else ""
        return "".join(self._parts) + rest


@contextlib.contextmanager
def printed(most: int) -> Iterator[Printed]:
    """Collect what the body prints to stdout and stderr, at most `most` characters."""
    stream = Printed(most)
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        yield stream
