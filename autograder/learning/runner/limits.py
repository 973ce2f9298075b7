"""A time limit on the learner's code, from inside the process that runs it.

A loop without end has to end in words, with the line it is at, on Linux, macOS and Windows.
A thread looks at the clock and interrupts the main thread; what does not let itself be
interrupted (a bare `except:` in a loop, a long call of a library) ends the process, after the
line has been told. Processor time counts, so that a busy machine is no fault of the code's;
what only waits ends at three times that.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType

WALL = 3.0  # the wall clock's share: so many times the processor time
GRACE = 1.0  # for what is interrupted to end, in seconds
TICK = 0.1
EXIT_CODE = 70


class StillRunning(BaseException):
    """The learner's code has used up its time; not an `Exception`, so that few catch it."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"still running after {seconds:g} s")
        self.seconds = seconds


@dataclass(frozen=True)
class _Limit:
    """One stretch of code with a limit; `processor` and `wall` are seconds."""

    processor: float
    began: float
    processor_began: float

    def used_up(self) -> float:
        """Return the seconds after which it is over, or 0 while it is not."""
        if time.process_time() - self.processor_began >= self.processor:
            return self.processor
        wall = WALL * self.processor
        return wall if time.monotonic() - self.began >= wall else 0.0


class Watchdog:
    """Interrupts the main thread when a limit is used up.

    `last_words` gets the frame that is still running and the seconds, before the process ends.
    """

    def __init__(self, last_words: Callable[[FrameType, float], None]) -> None:
        self._last_words = last_words
        self._limit: _Limit | None = None
        self._over: _Limit | None = None
        self._seconds = 0.0
        self._armed = threading.Event()
        signal.signal(signal.SIGINT, self._interrupted)
        threading.Thread(target=self._watch, daemon=True).start()

    @contextlib.contextmanager
    def limit(self, processor: float) -> Iterator[None]:
        """Raise `StillRunning` in the body after so many seconds of processor time."""
        self._limit = _Limit(processor, time.monotonic(), time.process_time())
        self._armed.set()
        try:
            yield
        finally:
            self._limit = None
            self._armed.clear()

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        # It may have ended at the last moment, and the next stretch have begun.
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
        # A real signal ends a sleep too.
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(main, signal.SIGINT)
        else:
            _thread.interrupt_main()
        end = time.monotonic() + GRACE
        while self._limit is limit:
            if time.monotonic() > end:
                self._last_words(sys._current_frames()[main], self._seconds)
                os._exit(EXIT_CODE)
            time.sleep(TICK / 10)
