"""Where a command prints, such that what it does never depends on who reads it.

A reader may go away (`attn grade … | head`), a disk may be full, and a terminal may know no
letter beyond ASCII. None of these is a reason to leave a class without its results.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TextIO, cast

from autograder.errors import KitError


class LastingStream(io.TextIOBase):
    """A stream that goes on after its end has broken: what is written then goes nowhere.

    `fault` is what broke it, or None.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self.fault: OSError | None = None

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream behind this one."""
        return self._stream.encoding or "utf-8"

    def isatty(self) -> bool:
        """Whether the stream behind this one is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """The descriptor of the stream behind this one; raises OSError when it has none."""
        return self._stream.fileno()

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, text: str) -> int:
        """Write `text`, or nothing after a fault; return its length in characters."""
        if self.fault is None:
            try:
                self._stream.write(text)
            except OSError as error:
                self._give_up(error)
        return len(text)

    def flush(self) -> None:
        """Hand on what was written, unless there was a fault."""
        if self.fault is None:
            try:
                self._stream.flush()
            except OSError as error:
                self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self.fault = error
        # What is left in the stream's buffer would be tried again, as Python ends.
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


@contextmanager
def lasting_output() -> Iterator[None]:
    """Let nothing that is printed meanwhile stop the work.

    Raise `KitError` at the end, when all is done, if not everything could be printed.
    """
    if sys.stdout is None:  # a program without a console
        yield
        return
    with LastingStream(sys.stdout) as stream, redirect_stdout(cast(TextIO, stream)):
        yield
    if stream.fault:
        raise KitError(
            f"what was printed could not all be shown: {stream.fault.strerror}",
            place="standard output",
            cure="look into the results, which are written all the same, or run the same command "
            "again with its output on a terminal",
        )


def print_any_character() -> None:
    """Let a character that an encoding lacks be printed as its escape, such as `\\u2713`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
