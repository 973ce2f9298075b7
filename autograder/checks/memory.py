"""What is kept from one hand-in to the next: seeds, inputs, answers, what has passed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from operator import is_
from typing import Any

import pytest

from autograder.checks.marks import marks_of
from autograder.judging.diagnosis import Candidate
from autograder.values.request import KnownReplies, Reply, Request, Returned

# Replies that have passed a check before, on inputs that hand-ins share.

_MOST_KEPT = 4  # ways to round: right steps differ in nothing else


class PassingReplies:
    """What one check asks on inputs that hand-ins share, and replies that have passed it.

    Whoever replies with the same bytes passes again: they need neither be read nor judged.
    `requests` are None until the check has been run.
    """

    def __init__(self) -> None:
        self.requests: tuple[Request, ...] | None = None
        self._kept: list[tuple[Returned, ...]] = []  # the last one that was met comes first
        self._known: list[dict[bytes, Returned]] = []

    def known(self, number: int) -> KnownReplies:
        """Return the replies to the question `number` that need not be read again."""
        return self._known[number] if self._known else {}

    def hold(self, replies: Sequence[Reply]) -> bool:
        """Say whether these replies, of those that are `known`, have passed together."""
        for place, kept in enumerate(self._kept):
            if len(kept) == len(replies) and all(map(is_, kept, replies)):
                self._kept.insert(0, self._kept.pop(place))
                return True
        return False

    def keep(self, replies: Sequence[Reply]) -> None:
        """Keep replies that have passed; of many, those that are met again."""
        passed = tuple(reply for reply in replies if isinstance(reply, Returned) and reply.encoded)
        if len(passed) != len(self.requests or ()):
            return
        self._kept = [passed, *self._kept][:_MOST_KEPT]
        columns = zip(*self._kept, strict=True)
        self._known = [{reply.encoded: reply for reply in column} for column in columns]


# Stands for the inputs that sizes are tried with while checks are collected; no seed is negative.
COLLECTING = -1


@dataclass(frozen=True)
class Memory:
    """The reference's answers by the keys of their requests, what was drawn, and what passed.

    `singles` and `pairs` are what one known mistake, or two, give. `passing` holds what passed a
    check, by its place among all checks.
    """

    expected: dict[bytes, Reply] = field(default_factory=dict)
    singles: dict[bytes, tuple[Candidate, ...]] = field(default_factory=dict)
    pairs: dict[bytes, tuple[Candidate, ...]] = field(default_factory=dict)
    drawn: dict[Hashable, Any] = field(default_factory=dict)
    passing: dict[int, PassingReplies] = field(default_factory=dict)


class Memories:
    """A memory of the inputs of one hand-in, and one for each seed that many hand-ins share."""

    def __init__(self) -> None:
        self._shared: dict[int, Memory] = {}
        self.forget_hand_in()

    def forget_hand_in(self) -> None:
        """Forget what belongs to one hand-in only."""
        self.own = self.now = Memory()

    def use(self, shared: int | None) -> None:
        """Use the memory of the seed `shared` from now on, or that of the hand-in."""
        self.now = self.own if shared is None else self._shared.setdefault(shared, Memory())

    def clear(self) -> None:
        """Forget everything."""
        self._shared.clear()
        self.forget_hand_in()


# The seeds that hidden inputs are drawn from: a hand-in's own, and one that hand-ins share.


@dataclass(frozen=True)
class InputSeeds:
    """Where hidden inputs are drawn from; None stands for the exercise's own seed.

    Those of the author's checks are drawn from `own`, of one hand-in. Those of the standing checks,
    and of an author's check that is run again with other sizes, are drawn from `shared`, which
    hand-ins share, so that they are computed once. None: from `own`, too. From `common`, one for
    a whole class, come the inputs by which equal mistakes are told; None: nobody wants to know.
    """

    own: int | None = None
    shared: int | None = None
    common: int | None = None

    def of(self, item: pytest.Item) -> int | None:
        """Return the seed of a check's inputs."""
        shared = self.shared_by(item)
        return self.own if shared is None else shared

    def shared_by(self, item: pytest.Item) -> int | None:
        """Return the seed of a check's inputs if hand-ins share them, and None if not."""
        return self.shared if marks_of(item).shares_inputs else None


OWN_SEEDS = InputSeeds()
