"""Output that can fail without stopping the command.

A reader may go away (`attn grade … | head`), and a disk may be full. Neither is a reason to leave
a class without its results.
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
    """A stream that survives a broken output: everything written after that is dropped.

    `fault` is the error that broke it, or None.
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
        """The file descriptor of the stream behind this one; raises OSError when it has none."""
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
        """Flush the stream, unless there was a fault."""
        if self.fault is None:
            try:
                self._stream.flush()
            except OSError as error:
                self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self.fault = error
        # Python would try to write the rest of the stream's buffer when it ends.
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


@contextmanager
def lasting_output() -> Iterator[None]:
    """Keep the work in the body going even if printing fails.

    Raise `KitError` after all the work is done if not everything could be printed.
    """
    if sys.stdout is None:  # a program without a console
        yield
        return
    with LastingStream(sys.stdout) as stream, redirect_stdout(cast(TextIO, stream)):
        yield
    if stream.fault:
        raise KitError(
            f"not all of the output could be shown: {stream.fault.strerror}",
            place="standard output",
            cure="look at the results, which were written anyway, or run the same command again "
            "in a terminal",
        )
