"""A sequence whose items are made when they are asked for, and not kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

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
