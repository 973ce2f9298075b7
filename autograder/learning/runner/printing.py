"""What the learner's code prints while it is checked: kept apart, and not without end."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator

KEPT = 4000  # characters that are shown; the rest is counted


class TooMuchPrinted(BaseException):
    """The code printed more than a submission may; not an `Exception`, so that few catch it."""


class Printed(io.TextIOBase):
    """A text stream that keeps the beginning and raises `TooMuchPrinted` past `most` characters."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[str] = []
        self._written = 0

    def writable(self) -> bool:
        """True: it is there to be written to."""
        return True

    def write(self, text: str) -> int:
        """Keep what fits."""
        if self._written < KEPT:
            self._parts.append(text[: KEPT - self._written])
        self._written += len(text)
        if self._written > self._most:
            raise TooMuchPrinted
        return len(text)

    @property
    def text(self) -> str:
        """What was printed, and how much of it is left out."""
        left = self._written - KEPT
        rest = f"\n… and {left} more characters" if left > 0 else ""
        return "".join(self._parts) + rest


@contextlib.contextmanager
def printed(most: int) -> Iterator[Printed]:
    """Take what the body prints to stdout and stderr; at most `most` characters."""
    stream = Printed(most)
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        yield stream
