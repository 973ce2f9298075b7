"""Several watched grader processes, and the work handed out to them.

A hand-in that exceeds a bound loses only the rest of its own verdict: the process is killed, a new
one takes over the rest of its batch, and what was judged before is kept. A process that ends
for no reason of ours, or gets no processor time, is no verdict on anybody: its hand-in is tried
once more, alone.
"""

from __future__ import annotations

import select
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from types import TracebackType
from typing import Any

from autograder.errors import KitError
from autograder.grading.watched_process import (
    Bounds,
    Message,
    Preparation,
    WatchedProcess,
    Work,
    usable_cores,
)
from autograder.sandbox.measurement import demand_preconditions
from autograder.values.value_file import to_send

# Items that wait for a process: each process gets those that lie together.
#
# Neighbors have something in common, such as a seed of their inputs, and a process keeps what it
# has computed for one item. So it goes on where it was, and a new one begins in the middle of the
# longest run that is left.


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


TICK = 0.25  # seconds between two looks at the bounds
# So many hand-ins are judged by one process before another one has started; so long does work wait
# before another is started all the same, in seconds.
WORTH_A_START = 12
PATIENCE = 10.0
MOST_TRIES = 2
MOST_FALSE_STARTS = 3


class Cause(Enum):
    """Why an item of work has no result."""

    TIME = "time"  # of the processor
    DELAY = "delay"  # too long by the clock, and without the processor time that would explain it
    MEMORY = "memory"
    CRASH = "crash"  # a fault within the process, again when it was tried alone
    ENDED = "ended"  # from outside, or nobody knows

    @property
    def ours(self) -> bool:
        """Whether it says nothing about the item: then it is tried again, and nobody's fault."""
        return self in (Cause.DELAY, Cause.ENDED)


@dataclass(frozen=True)
class Loss:
    """What is known about an item without a result; `parts` were handed over before."""

    cause: Cause
    detail: str
    parts: tuple[Any, ...] = ()


@dataclass
class _Batch:
    """Items that one process works on: their places, and which one it works on now.

    `parts` are what it has of that one's result. `memory` says how much it had used when it had no
    more.
    """

    places: list[int]
    position: int | None = None
    parts: list[Any] = field(default_factory=list)
    memory: str = ""
    done: set[int] = field(default_factory=set)


class GraderPool:
    """As many grader processes as are named, kept until the end. A context manager.

    By default, as many as are worth their start, and at most one per core. Where there is one for
    every core, each has one for itself.
    """

    def __init__(self, processes: int | None = None) -> None:
        demand_preconditions()
        self._cores = usable_cores()
        self.processes = processes or len(self._cores)
        self._named = processes is not None
        self._idle: list[WatchedProcess] = []
        self._busy: dict[WatchedProcess, _Batch] = {}
        self._false_starts = 0

    def __enter__(self) -> GraderPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def begin(self, items: int, preparation: Preparation | None = None) -> None:
        """Start as many processes as are worth it, and have each do the `preparation`.

        They are ready when they are given work.
        """
        most = self._worthwhile(items)
        for _ in range(most - len(self._idle) - len(self._busy)):
            self._idle.append(WatchedProcess(self._core(most)))
            if preparation:
                self._idle[-1].prepare(preparation)

    def dismiss(self) -> None:
        """Have every process end, and do not wait for it: there is no more work."""
        for process in (*self._idle, *self._busy):
            process.kill()

    def close(self) -> None:
        """End every process."""
        self.dismiss()
        for process in (*self._idle, *self._busy):
            process.end()
        self._idle.clear()
        self._busy.clear()

    def run(
        self,
        work: Work,
        items: Sequence[Any],
        bounds: Bounds,
        *,
        result: Callable[[int, Any], None],
        lost: Callable[[int, Loss], None],
        batch: int = 1,
    ) -> None:
        """Have `work` done on every item, at most `batch` of them at a time.

        `result` is called with an item's place and result, `lost` when there is none; each place
        is named once. Raises `KitError` when the work itself cannot be done, or no process starts.
        """
        waiting = WaitingItems(len(items))
        tries: Counter[int] = Counter()
        impatient = time.monotonic() + PATIENCE
        while waiting or self._busy:
            late = time.monotonic() > impatient
            most = self.processes if late else self._worthwhile(len(items))
            while waiting and (self._idle or (len(self._busy) < most and self._start(most))):
                process = self._idle.pop()
                places = waiting.take(process, _share(len(waiting), batch, most))
                self._give(process, work, items, bounds, places)
            for process in self._ready():
                self._listen(process, result)
            for process in list(self._busy):
                if over := self._over(process):
                    for left in reversed(self._ended(process, over, result, tries, lost)):
                        waiting.put_back(left)

    def _worthwhile(self, items: int) -> int:
        """Return how many processes should work on `items` at first."""
        return min(self.processes, items if self._named else -(-items // WORTH_A_START))

    def _core(self, most: int) -> int | None:
        """Return a core that no process has for itself, if `most` of them are one for each core.

        With fewer, two commands could take the same core while others have nothing to do.
        """
        if most != len(self._cores):
            return None
        taken = {process.core for process in (*self._idle, *self._busy)}
        return next((core for core in self._cores if core not in taken), None)

    def _start(self, most: int) -> bool:
        """Start one more process of `most`; return False if none can be, and others are at work."""
        try:
            self._idle.append(WatchedProcess(self._core(most)))
        except (KitError, OSError):
            if not self._busy:
                raise
            self._go_on_with_these()
            return False
        return True

    def _go_on_with_these(self) -> None:
        self.processes = len(self._busy) + len(self._idle)

    def _give(
        self,
        process: WatchedProcess,
        work: Work,
        items: Sequence[Any],
        bounds: Bounds,
        places: list[int],
    ) -> None:
        self._busy[process] = _Batch(places)
        try:
            process.give(work, [to_send(items, place) for place in places], bounds)
        except OSError:
            return  # it has ended, which the next look will show

    def _ready(self) -> list[WatchedProcess]:
        # Not `connection.wait`: it sets up a selector each time, for each short piece of work.
        owners = {end: each for each in self._busy for end in (each.line.fileno(), each.sentinel)}
        waiting = select.poll()
        for end in owners:
            waiting.register(end, select.POLLIN)
        return list(dict.fromkeys(owners[end] for end, _ in waiting.poll(TICK * 1000)))

    def _listen(self, process: WatchedProcess, result: Callable[[int, Any], None]) -> None:
        """Take in all that a process has said."""
        batch = self._busy[process]
        try:
            while process in self._busy and process.has_said():
                self._take(process, batch, process.line.recv(), result)
        except (EOFError, OSError):
            return  # it has ended, which its exit code shows

    def _take(
        self,
        process: WatchedProcess,
        batch: _Batch,
        message: Message,
        result: Callable[[int, Any], None],
    ) -> None:
        match message.kind:
            case "begin":
                self._false_starts = 0
                batch.position = message.number
                batch.parts.clear()
                process.begin()
            case "part":
                batch.parts.append(message.value)
            case "done":
                batch.done.add(message.number)
                batch.position = None
                result(batch.places[message.number], message.value)
            case "memory":
                batch.memory = message.value
            case "failed":
                raise message.value
            case "finished":
                del self._busy[process]
                self._idle.append(process)

    def _over(self, process: WatchedProcess) -> Loss | None:
        """Return why a process cannot go on with its batch, None when it can."""
        if self._busy[process].position is not None:
            if used := process.overused():
                return Loss(Cause.TIME, used)
            if late := process.overdue():
                return Loss(Cause.DELAY, late)
        return Loss(Cause.ENDED, process.ending) if process.ending else None

    def _ended(
        self,
        process: WatchedProcess,
        over: Loss,
        result: Callable[[int, Any], None],
        tries: Counter[int],
        lost: Callable[[int, Loss], None],
    ) -> list[list[int]]:
        """End a process that cannot go on; return the batches that are still to be done."""
        batch, ending = self._busy[process], process.ending
        position = batch.position
        process.stop()
        # What it has said until now counts: it may have gone on after the look at the clock.
        self._listen(process, result)
        on = batch.position
        parts = () if on is None else tuple(batch.parts)
        process.end()
        if self._busy.pop(process, None) is None:
            self._idle.remove(process)  # it has finished
            return []
        if batch.memory:
            return self._settled(batch, Loss(Cause.MEMORY, batch.memory, parts), tries, lost)
        if ending:
            cause = Cause.CRASH if process.crashed else Cause.ENDED
            return self._settled(batch, Loss(cause, ending, parts), tries, lost)
        if on != position:  # it was not this item that took too long
            return _left(batch)
        return self._settled(batch, replace(over, parts=parts), tries, lost)

    def _settled(
        self,
        batch: _Batch,
        loss: Loss,
        tries: Counter[int],
        lost: Callable[[int, Loss], None],
    ) -> list[list[int]]:
        """Report the item that is lost; return the batches that are still to be done."""
        if batch.position is None:
            self._false_starts += 1
            if self._false_starts >= MOST_FALSE_STARTS and (self._busy or self._idle):
                self._go_on_with_these()
            elif self._false_starts >= MOST_FALSE_STARTS:
                raise KitError(
                    f"grader processes exit before they start working ({loss.detail})",
                    place=sys.executable,
                    cure="read the output above, and what `attn doctor` says about this machine",
                )
            return _left(batch)
        place = batch.places[batch.position]
        rest = _left(batch, but=place)
        tries[place] += 1
        again = (loss.cause.ours or loss.cause is Cause.CRASH) and tries[place] < MOST_TRIES
        if again:
            return [[place], *rest]
        lost(place, loss)
        return rest


def _left(batch: _Batch, but: int | None = None) -> list[list[int]]:
    """Return what is still to be done of a batch, as at most one, `but` for one place."""
    left = [place for n, place in enumerate(batch.places) if n not in batch.done and place != but]
    return [left] if left else []


def _share(left: int, most: int, processes: int) -> int:
    """Return how many of the items that are `left` one process is given, at most `most`.

    With several processes the last batches are smaller, so that none works on when the others are
    done.
    """
    return max(1, min(most, left if processes == 1 else left // (2 * processes)))
