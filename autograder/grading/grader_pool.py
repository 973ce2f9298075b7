"""Several watched grader processes, the work handed out to them, the sandbox they begin with.

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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from autograder.errors import KitError
from autograder.grading.class_task import ClassTask, GradingOptions
from autograder.grading.watched_process import (
    Bounds,
    Message,
    Preparation,
    WatchedProcess,
    Work,
    WorkProgress,
    usable_cores,
)
from autograder.sandbox.measurement import demand_preconditions
from autograder.values.exercise import Exercise, read_exercise
from autograder.values.value_file import to_send


class WaitingItems:
    """The places of `count` items, of which each is taken once, and those that are put back.

    An item may be tried `most_tries` times.
    """

    def __init__(self, count: int, most_tries: int = 1) -> None:
        self._new = range(count)
        self._put_back: deque[list[int]] = deque()
        self._once_more: deque[int] = deque()
        self._tries: Counter[int] = Counter()
        self._most_tries = most_tries

    def __len__(self) -> int:
        return sum(map(len, (self._new, self._once_more, *self._put_back)))

    def take(self, most: int) -> list[int]:
        """Return up to `most` (1 or more) places; empty when none waits.

        What was put back comes first, as it was put back, and what is tried again last, alone.
        """
        if self._put_back:
            return self._put_back.popleft()
        if self._new:
            places, self._new = self._new[:most], self._new[most:]
            return list(places)
        return [self._once_more.popleft()] if self._once_more else []

    def put_back(self, places: Sequence[int]) -> None:
        """Have some places taken once more, before all others: nobody worked on them."""
        if places:
            self._put_back.appendleft(list(places))

    def try_again(self, place: int) -> bool:
        """Have a place taken once more; return False when it was tried too often for that."""
        self._tries[place] += 1
        again = self._tries[place] < self._most_tries
        if again:
            self._once_more.append(place)
        return again


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


# The place of an item, and what came of it: what the work has made of it, or a `Loss`.
PlacedResult = tuple[int, Any]


class Pool(Protocol):
    """Where work is done on items: grader processes of this machine, or other machines."""

    @property
    def processes(self) -> int:
        """How many items are worked on at once."""

    def results(
        self, work: Any, items: Sequence[Any], bounds: Bounds, batch: int = 1
    ) -> Iterator[PlacedResult]:
        """Have `work` done on every item, at most `batch` of them at a time.

        Yields the place and the result of each item as it is known, a `Loss` when there is none.
        Raises `KitError` when the work itself cannot be done, or nobody is there to do it.
        """


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

    @property
    def left(self) -> list[int]:
        """The places that are not done."""
        return [place for number, place in enumerate(self.places) if number not in self.done]


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

    def __exit__(self, *error: object) -> None:
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

    def results(
        self, work: Work, items: Sequence[Any], bounds: Bounds, batch: int = 1
    ) -> Iterator[PlacedResult]:
        """Have `work` done on every item, at most `batch` of them at a time; see `Pool.results`."""
        waiting = WaitingItems(len(items), MOST_TRIES)
        impatient = time.monotonic() + PATIENCE
        while waiting or self._busy:
            late = time.monotonic() > impatient
            most = self.processes if late else self._worthwhile(len(items))
            while waiting and (self._idle or (len(self._busy) < most and self._start(most))):
                process = self._idle.pop()
                places = waiting.take(_share(len(waiting), batch, most))
                self._give(process, work, items, bounds, places)
            for process in self._ready():
                yield from self._heard(process)
            for process in list(self._busy):
                if over := self._over(process):
                    yield from self._ended(process, over, waiting)

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

    def _heard(self, process: WatchedProcess) -> Iterator[PlacedResult]:
        """Take in all that a process has said; give what it has done."""
        batch = self._busy[process]
        try:
            while process in self._busy and process.has_said():
                message = process.line.recv()
                self._note(process, batch, message)
                if message.kind == "done":
                    yield batch.places[message.number], message.value
        except (EOFError, OSError):
            return  # it has ended, which its exit code shows

    def _note(self, process: WatchedProcess, batch: _Batch, message: Message) -> None:
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
        self, process: WatchedProcess, over: Loss, waiting: WaitingItems
    ) -> Iterator[PlacedResult]:
        """End a process that cannot go on; what is left of its batch waits again."""
        batch, ending = self._busy[process], process.ending
        position = batch.position
        process.stop()
        # What it has said until now counts: it may have gone on after the look at the clock.
        yield from self._heard(process)
        process.end()
        if self._busy.pop(process, None) is None:
            self._idle.remove(process)  # it has finished
            return
        if batch.memory:
            over = Loss(Cause.MEMORY, batch.memory)
        elif ending:
            over = Loss(Cause.CRASH if process.crashed else Cause.ENDED, ending)
        elif batch.position != position:  # it was not this item that took too long
            waiting.put_back(batch.left)
            return
        yield from self._settled(batch, over, waiting)

    def _settled(self, batch: _Batch, loss: Loss, waiting: WaitingItems) -> Iterator[PlacedResult]:
        """Have what is left done by others, and the item that was worked on once more, or lost."""
        left = batch.left
        if batch.position is None:
            self._note_false_start(loss)
        else:
            place = batch.places[batch.position]
            left.remove(place)
            again = loss.cause.ours or loss.cause is Cause.CRASH
            if not (again and waiting.try_again(place)):
                yield place, replace(loss, parts=tuple(batch.parts))
        waiting.put_back(left)

    def _note_false_start(self, loss: Loss) -> None:
        self._false_starts += 1
        if self._false_starts < MOST_FALSE_STARTS:
            return
        if not (self._busy or self._idle):
            raise KitError(
                f"grader processes exit before they start working ({loss.detail})",
                place=sys.executable,
                cure="read the output above, and what `attn doctor` says about this machine",
            )
        self._go_on_with_these()


def _share(left: int, most: int, processes: int) -> int:
    """Return how many of the items that are `left` one process is given, at most `most`.

    With several processes the last batches are smaller, so that none works on when the others are
    done.
    """
    return max(1, min(most, left if processes == 1 else left // (2 * processes)))


# Starting and measuring the sandbox of an exercise before there is anything to judge.


@dataclass(frozen=True)
class SandboxStart:
    """The first work of a grader process that will judge by the exercise in `folder`.

    Its items are None. All hand-ins lie in `graded`, where this is known.
    """

    folder: Path
    allow_process: bool
    graded: Path | None = None

    def prepare(self) -> None:
        """Begin the sandbox, and import here what judging needs while the library loads there."""
        from autograder.grading.batch import begun_sandbox

        exercise = read_exercise(self.folder)
        begun_sandbox(exercise, self.allow_process, self.graded)
        import_module("autograder.grading.batch")  # with pytest, which only graders need
        import_module(exercise.library)

    def __call__(self, items: Sequence[None], progress: WorkProgress) -> None:
        """Do it; raise `KitError` when the sandbox falls short of the demand."""
        from autograder.grading.batch import begun_sandbox, entered_sandbox

        exercise = _with_a_library(read_exercise(self.folder))
        entered_sandbox(begun_sandbox(exercise, self.allow_process, self.graded))
        for number in range(len(items)):
            progress.done(None, number)


def sandbox_start(task: ClassTask, options: GradingOptions) -> SandboxStart:
    """Return how the sandbox is started that `task` is judged in."""
    return SandboxStart(task.exercise.folder.absolute(), options.allow_process, task.graded)


def _with_a_library(exercise: Exercise) -> Exercise:
    """Return the exercise, with NumPy where its own library cannot be imported in this process.

    What isolates does not depend on the library, and judging says best what is missing.
    """
    try:
        import_module(exercise.library)
    except Exception:  # a library may raise anything
        return replace(exercise, library="numpy")
    return exercise


# Grader processes that start while the starter still imports what it needs itself.


def give_head_start(task: ClassTask, pool: GraderPool, options: GradingOptions) -> None:
    """Start the grader processes that `task` needs.

    Where there are no results yet, they also prepare to judge; otherwise, perhaps nobody will be.
    """
    if sys.platform != "linux":
        return
    judged_here = options.cluster is None and not task.output.exists()
    preparation = sandbox_start(task, options).prepare if judged_here else None
    pool.begin(len(task.hand_ins), preparation)
