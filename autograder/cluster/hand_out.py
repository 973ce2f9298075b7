"""Which hand-ins wait for a worker, and how often each was on one that did not finish.

A worker that ends is no verdict on anybody: what it had is handed out again, one by one, and after
all others, so that a hand-in that ends every worker is found and holds up nobody else.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterable

from autograder.grading.waiting_items import WaitingItems

# Workers that may end with a hand-in before it is given up. Machines that are taken away at any
# moment end workers through no fault of a hand-in, so it is many.
MOST_TRIES = 10


class HandOut:
    """The places of `count` hand-ins, in batches of at most `size`."""

    def __init__(self, count: int, size: int) -> None:
        self._size = size
        self._waiting = WaitingItems(count)
        self._once_more: deque[list[int]] = deque()
        self._unsettled = set(range(count))
        self._tries: Counter[int] = Counter()

    @property
    def over(self) -> bool:
        """Whether every hand-in is settled."""
        return not self._unsettled

    def next(self, worker: Hashable) -> list[int]:
        """Return the next batch for a worker; empty when none waits."""
        if places := self._waiting.take(worker, self._size):
            return places
        return self._once_more.popleft() if self._once_more else []

    def settle(self, place: int) -> bool:
        """Note that a hand-in has its result; return False when it had one before."""
        if place not in self._unsettled:
            return False
        self._unsettled.remove(place)
        return True

    def give_back(self, places: Iterable[int]) -> None:
        """Take back a batch that nobody worked on."""
        self._waiting.put_back([place for place in places if place in self._unsettled])

    def retry(self, places: Iterable[int]) -> list[int]:
        """Take back what was being worked on; return the places that were tried too often.

        Those are not handed out again, and not settled yet.
        """
        given_up = []
        for place in (each for each in places if each in self._unsettled):
            self._tries[place] += 1
            if self._tries[place] < MOST_TRIES:
                self._once_more.append([place])
            else:
                given_up.append(place)
        return given_up
