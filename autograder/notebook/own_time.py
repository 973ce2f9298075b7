"""A time limit on the learner's code in the learner's own kernel, which has to live on.

An endless loop would keep the kernel busy without a word. It is interrupted as the Interrupt button
does it. Code that catches even that cannot be stopped from inside: then a sentence says what to do.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from types import FrameType
from typing import Any

from autograder.judging.inprocess import report
from autograder.judging.stopped_code import at, still_running
from autograder.judging.time_limit import StillRunning, Watchdog
from autograder.model.request import Failed, Reply, Request, Respondent
from autograder.model.verdict import Outcome

BUSY = (
    "Your code is still running, and catches every attempt to stop it. In JupyterLab: Kernel, "
    "Restart Kernel. A bare `except:` inside of a loop does that."
)


class KernelWatchdog(Watchdog):
    """A watchdog that leaves the kernel alive, and its Interrupt button as it is."""

    def __init__(self) -> None:
        self._told = False
        self._before: Any = None
        super().__init__(self._tell)

    @contextmanager
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
        elif callable(self._before):  # the learner's own interrupt
            self._before(number, frame)

    def _tell(self, frame: FrameType, seconds: float) -> None:
        if not self._told:
            self._told = True
            print(BUSY, file=sys.stderr, flush=True)


class InTime:
    """A respondent whose answers have `seconds` each; code that was stopped is not asked again."""

    def __init__(self, respondent: Respondent, step: str, seconds: float) -> None:
        self._respondent, self._step, self._seconds = respondent, step, seconds
        self._stopped: Failed | None = None

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer `request`; code that is still running then is stopped."""
        if self._stopped:
            return self._stopped
        try:
            with limited(self._seconds):
                return self._respondent.ask(request, leaning_on)
        except StillRunning as error:
            seen = report(error)
            finding = still_running(self._step, error.seconds, (seen.line, seen.code, ""))
            self._stopped = Failed(Outcome.TIMED_OUT, finding.fact, look=finding.look)
            return self._stopped


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `StillRunning` in the body after `seconds` of processor time, in the main thread.

    Elsewhere there is no limit: only the main thread can be interrupted.
    """
    main = threading.current_thread() is threading.main_thread()
    with kernel_watchdog().limit(seconds) if main else nullcontext():
        yield


def running_words(error: StillRunning) -> str:
    """Return the sentence about a layer that was stopped, outside of any check."""
    seen = report(error)
    where = at((seen.line, seen.code, ""))
    return f"your layer was still running after {error.seconds:g} s{where}, and was stopped."


@cache
def kernel_watchdog() -> KernelWatchdog:
    """Return the one watchdog of this kernel; it works in the main thread."""
    return KernelWatchdog()
