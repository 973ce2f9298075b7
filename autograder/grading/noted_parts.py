"""What a grader process has of a result that is not complete yet, in memory that its starter reads.

Nearly every result is completed, and then its parts are in it. So nobody is told of a part: only
when the process has ended without the result, its starter looks at what was noted.
"""

from __future__ import annotations

import io
import os
import pickle
import tempfile
from collections.abc import Iterator
from multiprocessing import reduction
from struct import Struct
from typing import Any

MOST_BYTES = 16_000_000  # of one item, as of a verdict in the journal; later parts are left out
_HEAD = Struct("=qq")  # which item it is, and where its last part ends


class NotedParts:
    """The parts of the item that is worked on, in a file without a name.

    One process writes, and the one that made the file reads when the writer has ended. So nothing
    is read while it is written; what a writer had not finished is not there.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self._file = _new_file() if descriptor is None else descriptor
        self._number, self._end = 0, _HEAD.size

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to a process that is being started, with the open file."""
        return _received, (reduction.DupFd(self._file),)

    def begin(self, number: int) -> None:
        """Forget what was noted: from now on it is about item `number`."""
        self._number, self._end = number, _HEAD.size
        self._write_head()

    def add(self, part: Any) -> None:
        """Note a part of that item, whatever becomes of this process."""
        content = pickle.dumps(part, pickle.HIGHEST_PROTOCOL)
        if self._end + len(content) > MOST_BYTES:
            return
        if os.pwrite(self._file, content, self._end) != len(content):
            raise MemoryError("no memory is left for a part of a result")
        self._end += len(content)
        self._write_head()

    def of(self, number: int) -> tuple[Any, ...]:
        """Return what was noted about item `number`; nothing if it was about another one."""
        head = os.pread(self._file, _HEAD.size, 0)
        about, end = _HEAD.unpack(head) if head else (number, _HEAD.size)
        if about != number:
            return ()
        return tuple(_read(os.pread(self._file, end - _HEAD.size, _HEAD.size)))

    def close(self) -> None:
        """Give the memory back; a second time, nothing is done."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def _write_head(self) -> None:
        os.pwrite(self._file, _HEAD.pack(self._number, self._end), 0)


def _new_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("parts")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _received(descriptor: Any) -> NotedParts:
    file: int = descriptor.detach()
    os.set_inheritable(file, False)  # as it came: nothing that this process starts has a use for it
    return NotedParts(file)


def _read(content: bytes) -> Iterator[Any]:
    stream = io.BytesIO(content)
    while stream.tell() < len(content):
        yield pickle.load(stream)
