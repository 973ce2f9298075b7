"""A sequence whose items are made when they are asked for, and not kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, overload

Each = TypeVar("Each")


class LazySequence(Sequence[Each], Generic[Each]):
    """`length` items; `make` returns the one at a place, anew each time."""

    def __init__(self, length: int, make: Callable[[int], Each]) -> None:
        self._places, self._make = range(length), make

    @classmethod
    def picked(cls, items: Sequence[Each], places: Sequence[int]) -> LazySequence[Each]:
        """Return those of `items` that are at `places`, in that order."""
        return cls(len(places), lambda number: items[places[number]])

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
