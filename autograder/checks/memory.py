"""What was drawn and computed for the inputs of one seed, so that it need not be done again."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from autograder.judging.diagnosis import Candidate
from autograder.model.request import Reply


@dataclass(frozen=True)
class Memory:
    """The reference's answers by the keys of their requests, and what was drawn.

    `singles` and `pairs` hold what one known mistake, or two, give for a request.
    """

    expected: dict[bytes, Reply] = field(default_factory=dict)
    drawn: dict[Hashable, Any] = field(default_factory=dict)
    singles: dict[bytes, tuple[Candidate, ...]] = field(default_factory=dict)
    pairs: dict[bytes, tuple[Candidate, ...]] = field(default_factory=dict)

    def clear(self) -> None:
        """Forget everything."""
        for each in (self.expected, self.drawn, self.singles, self.pairs):
            each.clear()


# Stands for the inputs that sizes are tried with while checks are collected; no seed is negative.
COLLECTING = -1


class Memories:
    """One memory for the inputs of a hand-in, and one for each seed that many hand-ins share."""

    def __init__(self) -> None:
        self.undrawn: dict[bytes, Reply] = {}  # for requests that hold nothing drawn
        self.own = Memory()
        self._shared: dict[int, Memory] = {}
        self.now = self.own

    def use(self, shared: int | None) -> None:
        """Use the memory of the seed `shared` from now on, or that of the hand-in."""
        self.now = self.own if shared is None else self._shared.setdefault(shared, Memory())

    def clear(self) -> None:
        """Forget everything."""
        self.undrawn.clear()
        self.own.clear()
        self._shared.clear()
        self.now = self.own
