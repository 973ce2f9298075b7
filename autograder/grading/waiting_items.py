"""Items that wait for a process: each process gets those that lie together.

Neighbors have something in common, such as a seed of their inputs, and a process keeps what it has
computed for one item. So it goes on where it was, and a new one begins in the middle of the longest
run that is left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence


class WaitingItems:
    """The places of `count` items, of which each is taken once, and those that are put back."""

    def __init__(self, count: int) -> None:
        self._runs = [range(count)] if count else []
        self._put_back: deque[list[int]] = deque()
        self._next: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return sum(map(len, self._runs)) + sum(map(len, self._put_back))

    def take(self, owner: Hashable, most: int) -> list[int]:
        """Return up to `most` (1 or more) places for a process; empty when none waits.

        What was put back comes first, as it was put back.
        """
        if not self._runs and not self._put_back:
            return []
        places = self._put_back.popleft() if self._put_back else self._taken(owner, most)
        self._next[owner] = places[-1] + 1
        return places

    def put_back(self, places: Sequence[int]) -> None:
        """Have some places taken once more, before all others."""
        if places:
            self._put_back.appendleft(list(places))

    def _taken(self, owner: Hashable, most: int) -> list[int]:
        run = self._run_for(owner, most)
        self._runs.remove(run)
        places, rest = run[:most], run[most:]
        if rest:
            self._runs.append(rest)
        return list(places)

    def _run_for(self, owner: Hashable, most: int) -> range:
        """Return the run that a process goes on with, after dividing one if it comes to help."""
        for run in self._runs:
            if run.start == self._next.get(owner):
                return run
        longest = max(self._runs, key=len)
        if len(longest) <= most or longest.start not in self._next.values():
            return longest
        self._runs.remove(longest)
        middle = len(longest) // 2
        self._runs += [longest[:middle], longest[middle:]]
        return longest[middle:]
