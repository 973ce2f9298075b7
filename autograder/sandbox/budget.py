"""The time a worker has for one question: processor time, so that a busy machine is fair.

Right code that is slow only because the machine is busy must not fail. Code that uses no
processor (it sleeps, or has stopped itself) must not be waited for without end. So the budget
counts processor time, and ends in any case after three times as much wall time. The kernel is
asked for the worker's processor time only after a wait, so quick answers cost nothing. What this
process computes on the worker's behalf is charged to the worker too.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_WALL = 3.0
_FIRST_LOOK = 0.05  # of the budget: what a worker uses before that is not counted
_SHORTEST_WAIT = 0.01


@dataclass
class Allowance:
    """What is left of what several workers may use together: seconds, and answers to questions.

    `importing` are seconds beyond those of a call in which code imports a library.
    """

    seconds: float
    questions: int = 0
    importing: float = 20.0


class Late(Exception):
    """The deadline has passed."""


class Budget:
    """A budget of `seconds` of processor time.

    `used` returns the seconds that a worker has used in its whole life, or None when it has ended.
    There are `importing` seconds more once the worker says that it imports a library.
    """

    def __init__(
        self, seconds: float, used: Callable[[], float | None], importing: float = 0.0
    ) -> None:
        self._seconds, self._used, self._importing = seconds, used, importing
        self.imports = False  # whether the worker has said so
        self._begun = time.monotonic()
        self._next_look = _FIRST_LOOK * seconds  # in seconds since the beginning, as we count
        self._before: float | None = None
        self._processor = 0.0
        self._on_our_side = 0.0  # processor time of this process, spent for the worker

    @property
    def spent(self) -> float:
        """The seconds to charge: the processor time, but at least a third of the wait."""
        processor = self._waited if self._before is None else self._processor
        return max(processor, self._waited / _WALL) + self._on_our_side

    def charge(self, allowance: Allowance) -> None:
        """Take what was spent from an allowance; what a library took to load is not the code's."""
        spent = self.spent
        beyond = max(0.0, spent - self._seconds) if self.imports else 0.0
        allowance.seconds -= spent - beyond
        allowance.importing -= beyond

    @property
    def _limit(self) -> float:
        return self._seconds + (max(0.0, self._importing) if self.imports else 0.0)

    def left(self) -> float:
        """Return how many seconds to wait before asking again; raise `Late` when none are left."""
        waited = self._waited
        if waited >= self._next_look:
            rest = min(self._look(), _WALL * self._limit - waited)
            if rest <= 0:
                raise Late
            # Often: an answer may lie there for which nobody was woken.
            rest = min(rest, _FIRST_LOOK * self._limit)
            self._next_look = waited + max(rest, _SHORTEST_WAIT)
        return self._next_look - waited

    def settle(self) -> None:
        """Look once more after an answer that was waited for, so that `spent` is exact."""
        if self._before is not None:
            self._look()

    def forgive(self, seconds: float) -> None:
        """Do not count `seconds` of the wait: they were ours."""
        self._begun += seconds

    @contextlib.contextmanager
    def ours(self) -> Iterator[None]:
        """Do not count the time spent in this block: the worker waits for us."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self.forgive(time.monotonic() - begun)

    @contextlib.contextmanager
    def charged(self) -> Iterator[None]:
        """Charge the processor time that this block uses, but not how long it takes."""
        begun = time.process_time()
        try:
            with self.ours():
                yield
        finally:
            seconds = time.process_time() - begun
            self._on_our_side += seconds
            self._next_look -= seconds

    @property
    def _waited(self) -> float:
        return time.monotonic() - self._begun

    def _look(self) -> float:
        """Return the processor time that is left."""
        with self.ours():
            used = self._used()
        if used is not None:
            if self._before is None:
                self._before = used
            self._processor = used - self._before
        return self._limit - self._processor - self._on_our_side
