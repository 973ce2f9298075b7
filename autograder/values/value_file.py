"""Values of ours in a temporary file: put in one by one, and read again one by one.

The first process cannot hold everything about a large class. The file has no name, so nobody else
can write into it, and it is gone with the process that made it, however that ends.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import tempfile
from array import array
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, partial
from pathlib import Path
from types import UnionType
from typing import Any, Generic, TypeVar, cast, get_args, get_origin, get_type_hints, overload

from autograder.errors import KitError
from autograder.values.files import read_small

# A sequence whose items are made when they are asked for, and not kept.

Each = TypeVar("Each")


class LazySequence(Sequence[Each], Generic[Each]):
    """`length` items; `make` returns the one at a place, anew each time.

    `pack` returns what another process receives as that item; see `to_send`.
    """

    def __init__(
        self, length: int, make: Callable[[int], Each], pack: Callable[[int], Any] | None = None
    ) -> None:
        self._places, self._make = range(length), make
        self._pack = pack or make

    @classmethod
    def picked(cls, items: Sequence[Each], places: Sequence[int]) -> LazySequence[Each]:
        """Return those of `items` that are at `places`, in that order."""
        return cls(
            len(places),
            lambda number: items[places[number]],
            lambda number: to_send(items, places[number]),
        )

    def packed(self, place: int) -> Any:
        """Return what another process receives as the item at a place."""
        return self._pack(self._places[place])

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> Each: ...

    @overload
    def __getitem__(self, place: slice) -> LazySequence[Each]: ...

    def __getitem__(self, place: int | slice) -> Each | LazySequence[Each]:
        if isinstance(place, slice):
            return LazySequence.picked(self, self._places[place])
        return self._make(self._places[place])


def to_send(items: Sequence[Any], place: int) -> Any:
    """Return what another process receives as the item at a place.

    An item that is stored as bytes is sent as it is stored, and need not be read here for that.
    """
    packed = getattr(items, "packed", None)
    return packed(place) if packed else items[place]


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

    def __exit__(self, *error: object) -> None:
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


# Values as JSON, and what JSON has read as values again.


def indented_json(value: object, left_out: Collection[str] = (), indent: int | None = 2) -> str:
    """Return `value` as JSON; a dataclass is an object, without the fields named in `left_out`.

    Text is not escaped into ASCII. Raises TypeError for what JSON has no form for.
    """

    def written(each: Any) -> dict[str, Any]:
        names = _names(cast(Hashable, type(each)))
        return {name: getattr(each, name) for name in names if name not in left_out}

    return json.dumps(value, indent=indent, ensure_ascii=False, default=written)


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


Read = TypeVar("Read")


def read_as(kind: type[Read], facts: Mapping[str, Any]) -> Read:
    """Return the dataclass `kind` from its fields as JSON has them: lists, texts, objects.

    A tuple of several things has to hold things of one kind. Numbers and texts are taken as they
    are, and an array is made of lists. Raises KeyError, TypeError or ValueError where the fields
    are others.
    """
    readers = _readers(cast(Hashable, kind))
    read = {name: reader(facts[name]) for name, reader in readers if name in facts}
    return kind(**{**facts, **read})


def read_noted(
    path: Path, most_bytes: int, make: Callable[[Any], Read], fault: str, cure: str
) -> Read | None:
    """Return what `make` makes of the JSON that the kit noted at `path`; None without a file.

    Raises `KitError`, with `fault` and `cure`, where it is something else, and as `read_small`.
    """
    try:
        return make(json.loads(read_small(path, most_bytes).decode("utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise KitError(fault, place=str(path), cure=cure) from error


@cache
def _readers(kind: Any) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    """Return what makes a value of what JSON has, for each field where that is not the same."""
    found = ((name, _reader(declared)) for name, declared in get_type_hints(kind).items())
    return tuple((name, reader) for name, reader in found if reader)


def _reader(declared: Any) -> Callable[[Any], Any] | None:
    inner = _reader(get_args(declared)[0]) if get_args(declared) else None
    if get_origin(declared) is UnionType:  # with None
        return inner and (lambda facts: None if facts is None else inner(facts))
    if get_origin(declared) is tuple:
        return (lambda facts: tuple(map(inner, facts))) if inner else tuple
    if not isinstance(declared, type):
        return None
    if dataclasses.is_dataclass(declared):
        return partial(read_as, declared)
    if declared.__name__ == "ndarray":
        from numpy import asarray  # whoever declares one has it

        return asarray
    return declared if issubclass(declared, Enum) else None
