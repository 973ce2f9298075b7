"""Values of ours in a temporary file: put in one by one, and read again one by one.

The first process cannot hold everything about a large class. The file has no name, so nobody else
can write into it, and it is gone with the process that made it, however that ends.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar, overload

from autograder.errors import KitError
from autograder.model.lazy_sequence import LazySequence

Stored = TypeVar("Stored")
_PREFIX = ".values-"  # where a file system has no files without a name, for a moment


@dataclass(frozen=True)
class Packed:
    """A value as bytes of ours; a process that it is sent to receives the value."""

    content: bytes

    def __reduce__(self) -> tuple[Any, ...]:
        """Arrive as the value."""
        return pickle.loads, (self.content,)


class ValueFile:
    """A temporary file of values in `folder` (default: where temporary files go).

    A context manager: when it ends, the values are gone. Threads may read at the same time.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._place = folder or Path(tempfile.gettempdir())
        try:
            self._file = tempfile.TemporaryFile(  # noqa: SIM115 - closed in `__exit__`
                prefix=_PREFIX, dir=self._place, buffering=0
            )
        except OSError as error:
            raise self._unusable(error) from error
        self._end = 0

    def __enter__(self) -> ValueFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def put(self, value: Any) -> tuple[int, int]:
        """Put a value into the file; return where it begins and its size. Raises `KitError`."""
        content = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        begin, written = self._end, 0
        try:
            while written < len(content):  # a full disk may take a part of it first
                rest = content[written:]
                written += os.pwrite(self._file.fileno(), rest, begin + written)
        except OSError as error:
            raise self._unusable(error) from error
        self._end += len(content)
        return begin, len(content)

    def get(self, begin: int, size: int) -> Any:
        """Return a copy of the value that `put` has put there. Raises `KitError`."""
        return pickle.loads(self.packed(begin, size).content)

    def packed(self, begin: int, size: int) -> Packed:
        """Return the value that `put` has put there as it lies there. Raises `KitError`."""
        try:
            return Packed(os.pread(self._file.fileno(), size, begin))
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError) -> KitError:
        return KitError(
            f"what is read and judged cannot be put aside: {error.strerror}",
            place=str(self._place),
            cure="free some disk space, or give yourself the right to write there; then run the "
            "same command again: what was judged is kept",
        )


class StoredSequence(Sequence[Stored], Generic[Stored]):
    """`length` values in a `file`, each set once; whoever asks for one gets a copy of it."""

    def __init__(self, file: ValueFile, length: int) -> None:
        self._file = file
        self._begins, self._sizes = (array("q", bytes(8 * length)) for _ in range(2))

    def __len__(self) -> int:
        return len(self._begins)

    def __setitem__(self, place: int, value: Stored) -> None:
        self._begins[place], self._sizes[place] = self._file.put(value)

    def packed(self, place: int) -> Packed:
        """Return the value at a place as it lies in the file."""
        return self._file.packed(self._begins[place], self._sizes[place])

    @overload
    def __getitem__(self, place: int) -> Stored: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Stored]: ...

    def __getitem__(self, place: int | slice) -> Stored | Sequence[Stored]:
        if isinstance(place, slice):
            return LazySequence.picked(self, range(len(self))[place])
        value: Stored = self._file.get(self._begins[place], self._sizes[place])
        return value
