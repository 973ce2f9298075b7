"""One grader process as its starter sees it: given work, listened to, and bounded from outside.

It runs only our code, but on what was handed in. A regular expression, a parser or a comparison
may take forever on text that was made to slow it down. So the starter looks at its processor
time and the clock, and the kernel limits its memory; neither depends on the code that runs.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import pickle
import select
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from autograder.errors import KitError
from autograder.sandbox.access import remove_canaries
from autograder.values.this_machine import end_with_parent, fault_of, safe_for_a_new_process
from autograder.worker.control import processor_seconds

# The processor cores that grader processes share, or have for themselves.
#
# A grader process and its worker take turns: one asks, the other answers. On one core, the next
# one goes on at once, with what is still in the core's cache; to wake another core takes longer.


def usable_cores() -> tuple[int, ...]:
    """Return the numbers of the cores that this process may run on, at least one."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def keep_to(core: int) -> None:
    """Have this process run on one core only, and all that it will start, where a system can."""
    if hasattr(os, "sched_setaffinity"):
        with suppress(OSError):  # the core has been taken away: any other does, a little slower
            os.sched_setaffinity(0, {core})


MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Bounds:
    """What one hand-in may use of the grader itself, apart from what its own code uses.

    `seconds` of processor time and `wall_seconds` on the clock of a grader process, `megabytes`
    of memory on top of what that process holds when it begins. On the clock, time passes also
    while the machine does other things: only the processor time says that a hand-in takes too much.
    """

    seconds: float
    wall_seconds: float
    megabytes: int = 2048


@dataclass(frozen=True)
class Message:
    """What a grader process says: `kind` is begin, part, done, memory, failed or finished."""

    kind: str
    number: int = 0
    value: Any = None


class WorkProgress:
    """Tells the starter how far this grader process is; `number` counts within its batch.

    `following` says that the batch is finished, and returns the next one of the same work, or None.
    """

    def __init__(
        self,
        send: Callable[[Message], None],
        megabytes: int | None,
        following: Callable[[], Sequence[Any] | None] = lambda: None,
    ) -> None:
        self._send, self._megabytes = send, megabytes
        self._following = following
        self._number = 0

    def begin(self, number: int) -> None:
        """Say that the work on an item begins: from now on, the bounds apply to it."""
        self._number = number
        if self._megabytes is not None:
            _bound_memory(self._megabytes)
        self._send(Message("begin", number))

    def part(self, value: Any) -> None:
        """Hand over a part of the result, which is kept whatever happens to the rest."""
        self._send(Message("part", self._number, value))

    def done(self, result: Any, number: int | None = None) -> None:
        """Hand over the result of item `number`, by default the one that was begun last."""
        self._send(Message("done", self._number if number is None else number, result))

    def next_batch(self) -> Sequence[Any] | None:
        """Say that all items are done, and wait; return those to go on with, if there are any.

        So what a work has set up serves many batches.
        """
        return self._following()


Work = Callable[[Sequence[Any], WorkProgress], None]
Preparation = Callable[[], None]


def one_by_one(
    function: Callable[[Any], Any], items: Sequence[Any], progress: WorkProgress
) -> None:
    """Hand over what `function` makes of each item; `partial(one_by_one, function)` is a `Work`."""
    for number, item in enumerate(items):
        progress.begin(number)
        progress.done(function(item))


class WatchedProcess:
    """A grader process of our own; it does one batch of work after the other.

    With a `core`, it runs on that one only, and so does all that it starts.
    """

    def __init__(self, core: int | None = None) -> None:
        self.core = core
        # Spawned, not forked: it inherits nothing of its starter's memory.
        context = multiprocessing.get_context("spawn")
        self.line, far = context.Pipe()
        self._process = context.Process(target=_serve, args=(far, core), name="grader")
        with safe_for_a_new_process():
            self._process.start()
        far.close()
        self._bounds = Bounds(0.0, 0.0)
        self._begun = self._processor = 0.0

    @property
    def sentinel(self) -> int:
        """What becomes ready when the process has ended."""
        return self._process.sentinel

    def has_said(self) -> bool:
        """Whether it has said something that was not received yet, or has hung up."""
        waiting = select.poll()
        waiting.register(self.line.fileno(), select.POLLIN)
        return bool(waiting.poll(0))

    @property
    def ending(self) -> str:
        """How the process ended, in words; "" while it runs."""
        code = self._process.exitcode
        if code is None:
            return ""
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    @property
    def crashed(self) -> bool:
        """Whether a fault within the process ended it, and not a signal from somebody else."""
        faults = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
        return self._process.exitcode in [-fault for fault in faults]

    def prepare(self, preparation: Preparation) -> None:
        """Have it do what its work will need, before there is any.

        What fails then fails again in that work, which says so.
        """
        with contextlib.suppress(OSError):  # it has ended, which its first work will show
            _send(self.line, preparation)

    def give(self, work: Work, items: Sequence[Any], bounds: Bounds) -> None:
        """Give it a batch; raise OSError when it has ended."""
        self._bounds = bounds
        _send(self.line, (work, items, bounds.megabytes))
        self.begin()

    def begin(self) -> None:
        """Start counting time against the bounds."""
        self._begun, self._processor = time.monotonic(), self._used()

    def overused(self) -> str:
        """Return, in words, how much processor time it has used if that is too much; else ""."""
        if self._used() - self._processor > self._bounds.seconds:
            return f"{self._bounds.seconds:g} seconds of processor time"
        return ""

    def overdue(self) -> str:
        """Return, in words, how long it has taken if that is too long; else "".

        What is not overused meanwhile was kept waiting: by a busy machine, or by a fault of ours.
        """
        if time.monotonic() - self._begun > self._bounds.wall_seconds:
            used = self._used() - self._processor
            return f"{self._bounds.wall_seconds:g} seconds, with {used:.1f} of processor time"
        return ""

    def kill(self) -> None:
        """Have the process end, and all that it has started; `stop` waits for it."""
        if self._process.is_alive():
            self._process.kill()  # its zygote and its workers die with it

    def stop(self) -> None:
        """End the process and all that it has started; what it has said can still be heard."""
        self.kill()
        self._process.join()

    def end(self) -> None:
        """Stop the process, and remove what it left in memory and on the disk."""
        self.stop()
        self.line.close()
        remove_canaries(self._process.pid or 0)

    def _used(self) -> float:
        try:
            return processor_seconds(self._process.pid or 0)
        except OSError:  # it has just ended
            return self._processor


def _send(line: Connection, said: Any) -> None:
    # Not `line.send`: it looks up each object in a table of its own, which takes a fifth longer.
    line.send_bytes(pickle.dumps(said, pickle.HIGHEST_PROTOCOL))


def _serve(line: Connection, core: int | None) -> None:
    """Do batch after batch until the starter is gone; the main function of a grader process."""
    # So that nothing is found by chance in the folder where the command was typed.
    os.chdir("/")
    if core is not None:
        keep_to(core)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the starter, which ends this
    try:
        # Otherwise it would wait forever for work of a starter that is killed.
        end_with_parent(lambda: remove_canaries(os.getpid()))
    except KitError as error:
        _send(line, Message("failed", value=error))  # to be heard by who gives the first work
        return
    gc.set_threshold(20_000)  # to search after each 700 new objects takes a twentieth of the time
    orders, say = _Orders(line), partial(_send, line)
    while (order := orders.next()) is not None:
        work, items, megabytes = order
        _bound_memory(None)  # what a batch needs before its first item, such as PyTorch, is ours
        following = partial(orders.continuing, work, megabytes)
        try:
            work(items, WorkProgress(say, megabytes, following))
        except KitError as error:
            say(Message("failed", value=error))
        except ImportError as error:
            if (fault := fault_of(error)) is None:
                raise
            say(Message("failed", value=fault))
        except MemoryError:
            say(Message("memory", value=f"{megabytes} megabytes of memory"))
            return
        else:
            orders.finish()


Order = tuple[Work, Sequence[Any], int]


class _Orders:
    """What the starter orders, batch by batch."""

    def __init__(self, line: Connection) -> None:
        self._line = line
        self._working = False
        self._left: Order | None = None  # heard, but of other work

    def next(self) -> Order | None:
        """Return the next batch; None when the starter is gone."""
        order, self._left = self._left or self._heard(), None
        self._working = order is not None
        return order

    def finish(self) -> None:
        """Say that the batch is finished, once."""
        if self._working:
            _send(self._line, Message("finished"))
        self._working = False

    def continuing(self, work: Work, megabytes: int) -> Sequence[Any] | None:
        """Finish a batch; return the items of the next one if that is the same work."""
        self.finish()
        order = self._heard()
        if order is None or (order[0], order[2]) != (work, megabytes):
            self._left = order
            return None
        self._working = True
        _bound_memory(None)
        return order[1]

    def _heard(self) -> Order | None:
        while True:
            try:
                order: Order | Preparation = self._line.recv()
            except EOFError:
                return None
            if not callable(order):
                return order
            with contextlib.suppress(Exception):  # the work that needs it fails again, and says so
                order()


def _bound_memory(megabytes: int | None) -> None:
    """Have the kernel limit this process to `megabytes` on top of what it holds now.

    With None, to what its starter was limited to.
    """
    import resource

    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if megabytes is None:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        return
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + megabytes * MEGABYTE
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
