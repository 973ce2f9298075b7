"""A time limit on the learner's code, from inside the process that runs it.

An endless loop must end with a message that names its line, on Linux, macOS and Windows. A thread
watches the clock and interrupts the main thread. If the code cannot be interrupted (a bare
`except:` in a loop, a long call of a library), the line is reported and the process ends. The
limit is in processor time, so the code is not blamed for a busy machine. Code that only waits may
take three times as long.

A browser's Python has no threads, and its processor time is the clock's. There, the clock is looked
at whenever code jumps back or returns, also while it sleeps, and the limit is that for code that
only waits. One call of a library cannot be interrupted there: whoever runs Python has to end it.

In a process that has to live on, as a kernel or a build, use `limited`.
"""

from __future__ import annotations

import _thread
import contextlib
import importlib
import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from autograder.values.symbols import LOOP
from autograder.values.verdict import Finding, Outcome

WALL = 3.0  # the limit in wall time, as a multiple of the limit in processor time
GRACE = 1.0  # seconds for interrupted code to end
TICK = 0.1  # seconds
EXIT_CODE = 70
THREADS = sys.platform != "emscripten"  # the one question of the kit to a browser's Python
LOOKS = 256  # jumps and returns between two looks at the clock, where there are no threads
IMPORTING = 20.0  # seconds for imports, where those are not the code's own
_PACKAGE = str(Path(__file__).resolve().parents[1]) + os.sep


class StillRunning(BaseException):
    """The learner's code used up its time. Not an `Exception`, so that code rarely catches it."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"still running after {seconds:g} s")
        self.seconds = seconds


@dataclass(frozen=True)
class _Limit:
    """One stretch of code with a limit of `processor` seconds, and the clocks at its beginning."""

    processor: float
    began: float
    processor_began: float

    def used_up(self) -> float:
        """Return the limit in seconds if it is used up, or else 0."""
        if THREADS and time.process_time() - self.processor_began >= self.processor:
            return self.processor
        wall = WALL * self.processor
        return wall if time.monotonic() - self.began >= wall else 0.0

    def later(self, seconds: float) -> _Limit:
        """Return the limit of code that has so many seconds more."""
        return replace(self, began=self.began + seconds)


class _Lookout:
    """Raises `StillRunning` in the body of `over`, from jumps and returns: no thread is needed.

    Whatever is imported meanwhile is not the code's own time, within bounds. Code that goes on
    after the exception has a moment to clean up; then each of its loops ends where it jumps back.
    """

    def __init__(self, limit: _Limit) -> None:
        self._limit = limit
        self._imports = 0  # under way, one inside the other
        self._import_began = 0.0
        self._importing = IMPORTING
        self._raised = 0.0  # the limit in seconds, once it is used up
        self._raised_at = 0.0

    @contextlib.contextmanager
    def over(self) -> Iterator[None]:
        """Look at the clock during the body; a body inside of another one has only its limit."""
        monitoring: Any = vars(sys)["monitoring"]  # since Python 3.12
        tool, events = monitoring.PROFILER_ID, monitoring.events
        if monitoring.get_tool(tool) is not None:
            yield
            return
        jumps, returns = self._listeners()
        monitoring.use_tool_id(tool, "attention-kit")
        monitoring.register_callback(tool, events.JUMP, jumps)
        monitoring.register_callback(tool, events.PY_RETURN, returns)
        monitoring.register_callback(tool, events.PY_UNWIND, self._import_ends)
        monitoring.register_callback(tool, events.PY_START, self._import_begins)
        monitoring.set_local_events(tool, _IMPORT, events.PY_START)
        monitoring.set_events(tool, events.JUMP | events.PY_RETURN | events.PY_UNWIND)
        try:
            yield
        finally:
            monitoring.set_events(tool, 0)
            monitoring.set_local_events(tool, _IMPORT, 0)
            monitoring.free_tool_id(tool)

    def _listeners(self) -> tuple[Callable[..., None], Callable[..., None]]:
        """Return what hears of jumps and of returns; a loop calls it at each turn, so it is short.

        Not of calls: there, code that calls itself too often would fail in here.
        """
        heard = itertools.count(1).__next__

        def jumps(code: CodeType, source: int, target: int) -> None:
            if not heard() % LOOKS:
                self._look()
            elif self._raised:
                self._raise_again(code)

        def returns(code: CodeType, offset: int, value: object) -> None:
            if code is _IMPORT:
                self._import_ends(code)
            if not heard() % LOOKS:
                self._look()

        return jumps, returns

    def _look(self) -> None:
        seconds = self._limit.later(self._under_way()).used_up()
        if seconds and not self._raised:
            self._raised, self._raised_at = seconds, time.monotonic()
            raise StillRunning(seconds)

    def _raise_again(self, code: CodeType) -> None:
        """Raise in a loop that has caught the exception, but not where the kit itself cleans up."""
        late = time.monotonic() > self._raised_at + GRACE
        if late and not code.co_filename.startswith(_PACKAGE):
            raise StillRunning(self._raised)

    def _import_begins(self, code: CodeType, offset: int) -> None:
        if not self._imports:
            self._import_began = time.monotonic()
        self._imports += 1

    def _import_ends(self, code: CodeType, *_: object) -> None:
        if code is _IMPORT and self._imports:
            took = self._under_way() if self._imports == 1 else 0.0
            self._importing -= took
            self._limit = self._limit.later(took)
            self._imports -= 1

    def _under_way(self) -> float:
        """Return the seconds of the import under way that are not the code's own."""
        took = time.monotonic() - self._import_began if self._imports else 0.0
        return min(took, self._importing)


def _sleep(seconds: float) -> None:
    """Sleep so that the clock is looked at meanwhile."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > TICK:
        _SLEEP(TICK)
        for _ in range(LOOKS):
            pass
    _SLEEP(max(left, min(seconds, 0)))


_SLEEP = time.sleep
if not THREADS:
    vars(time)["sleep"] = _sleep
_IMPORT: CodeType = vars(importlib)["_bootstrap"]._find_and_load.__code__


class Watchdog:
    """Interrupts the main thread when a limit is used up.

    Where code cannot be interrupted, `last_words` gets the frame that is still running and the
    limit in seconds; then the process ends.
    """

    def __init__(self, last_words: Callable[[FrameType, float], None]) -> None:
        self._last_words = last_words
        self._limit: _Limit | None = None
        self._over: _Limit | None = None
        self._seconds = 0.0
        self._armed = threading.Event()
        self._listen()
        if THREADS:
            threading.Thread(target=self._watch, daemon=True).start()

    def _listen(self) -> None:
        signal.signal(signal.SIGINT, self._interrupted)

    def _end(self) -> None:
        os._exit(EXIT_CODE)

    @contextlib.contextmanager
    def limit(self, processor: float) -> Iterator[None]:
        """Raise `StillRunning` in the body after `processor` seconds of processor time."""
        self._limit = limit = _Limit(processor, time.monotonic(), time.process_time())
        self._armed.set()
        try:
            with contextlib.nullcontext() if THREADS else _Lookout(limit).over():
                yield
        finally:
            self._limit = None
            self._armed.clear()

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        # The code may have ended at the last moment, and the next stretch may have begun.
        if self._limit is not None and self._limit is self._over:
            raise StillRunning(self._seconds)

    def _watch(self) -> None:
        while True:
            self._armed.wait()
            limit = self._limit
            if limit is None:
                continue
            time.sleep(TICK)
            self._seconds = limit.used_up()
            if self._seconds and self._limit is limit:
                self._stop(limit)

    def _stop(self, limit: _Limit) -> None:
        self._over = limit
        main = threading.main_thread().ident
        assert main is not None
        # A real signal also ends a sleep.
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(main, signal.SIGINT)
        else:
            _thread.interrupt_main()
        end = time.monotonic() + GRACE
        while self._limit is limit:
            if time.monotonic() > end:
                self._last_words(sys._current_frames()[main], self._seconds)
                self._end()
                return
            time.sleep(TICK / 10)


LastWords = Callable[[FrameType, float], None]


class GuestWatchdog(Watchdog):
    """A watchdog that leaves the process alive, and what Ctrl-C does there as it is.

    Code that cannot be interrupted is told of once, and tried again.
    """

    def __init__(self, tell: LastWords) -> None:
        self._told = False
        self._before: Any = None
        self._tell = tell
        super().__init__(self._tell_once)

    @contextlib.contextmanager
    def limit(self, processor: float) -> Iterator[None]:
        """Raise `StillRunning` in the body after `processor` seconds of processor time."""
        self._told, self._before = False, signal.signal(signal.SIGINT, self._interrupted)
        try:
            with super().limit(processor):
                yield
        finally:
            signal.signal(signal.SIGINT, self._before)

    def _listen(self) -> None:
        pass  # only while there is a limit

    def _end(self) -> None:
        pass  # it is tried again

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        late = self._over is not None and self._limit is None
        super()._interrupted(number, frame)
        if late:  # our own signal, after the code has ended by itself
            self._over = None
        elif callable(self._before):  # the person's own interrupt
            self._before(number, frame)

    def _tell_once(self, frame: FrameType, seconds: float) -> None:
        if not self._told:
            self._told = True
            self._tell(frame, seconds)


@contextlib.contextmanager
def limited(seconds: float, tell: LastWords) -> Iterator[None]:
    """Raise `StillRunning` in the body after `seconds` of processor time, in the main thread.

    Elsewhere there is no limit: only the main thread can be interrupted. `tell` is called for code
    that catches even that.
    """
    main = threading.current_thread() is threading.main_thread()
    with _guest(tell).limit(seconds) if main else contextlib.nullcontext():
        yield


@cache
def _guest(tell: LastWords) -> GuestWatchdog:
    return GuestWatchdog(tell)


# Sentences about code that was stopped because it does not return.
#
# A place is the innermost line of the learner's own code: its number (0 if unknown), its text,
# and its function ("" at the top of the file).

CodePlace = tuple[int, str, str]
NOWHERE: CodePlace = (0, "", "")


def still_running(step: str, seconds: float, place: CodePlace = NOWHERE) -> Finding:
    """Return the finding on a step that was stopped at the time limit."""
    fact = f"`{step}` was still running after {seconds:g} s{at(place, step)}, and was stopped."
    return Finding(Outcome.TIMED_OUT, fact, look=LOOP)


def at(place: CodePlace, step: str = "") -> str:
    """Return where code was stopped, in words; nothing when that is unknown."""
    number, text, function = place
    if not number:
        return ""
    inside = f" of `{function}`" if function and function != step else ""
    return f" at line {number}{inside}" + (f", `{text}`" if text else "")
