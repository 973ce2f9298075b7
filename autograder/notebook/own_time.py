"""A time limit on the learner's code in the learner's own kernel, which has to live on.

An endless loop would keep the kernel busy without a word. It is interrupted as the Interrupt button
does it. Code that catches even that cannot be stopped from inside: then a sentence says what to do.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from types import FrameType

from autograder.judging.inprocess import InProcess, report
from autograder.judging.time_limit import StillRunning, at, still_running
from autograder.judging.time_limit import limited as limited_guest
from autograder.model.request import Failed, Reply, Request, Watched
from autograder.model.verdict import Outcome
from autograder.protocol.call import StandIn

BUSY = (
    "Your code is still running, and catches every attempt to stop it. In JupyterLab: Kernel, "
    "Restart Kernel. A bare `except:` inside of a loop does that."
)


class InTime:
    """A respondent whose answers have `seconds` each; code that was stopped is not asked again."""

    def __init__(self, respondent: InProcess, step: str, seconds: float) -> None:
        self._respondent, self._step, self._seconds = respondent, step, seconds
        self._stopped: Failed | None = None

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer `request`; code that is still running then is stopped."""
        return self.watch(request, (), {}).reply

    def watch(
        self, request: Request, steps: Collection[str], stand_ins: Mapping[int, StandIn]
    ) -> Watched:
        """Answer `request` in time, with the calls of `steps`; see `Watchable`."""
        if self._stopped:
            return Watched(self._stopped)
        try:
            with limited(self._seconds):
                return self._respondent.watch(request, steps, stand_ins)
        except StillRunning as error:
            seen = report(error)
            finding = still_running(self._step, error.seconds, (seen.line, seen.code, ""))
            self._stopped = Failed(Outcome.TIMED_OUT, finding.fact, look=finding.look)
            return Watched(self._stopped)


def limited(seconds: float) -> AbstractContextManager[None]:
    """Raise `StillRunning` in the body after `seconds` of processor time, in the main thread."""
    return limited_guest(seconds, _tell)


def _tell(frame: FrameType, seconds: float) -> None:
    print(BUSY, file=sys.stderr, flush=True)


def running_words(error: StillRunning) -> str:
    """Return the sentence about a layer that was stopped, outside of any check."""
    seen = report(error)
    where = at((seen.line, seen.code, ""))
    return f"your layer was still running after {error.seconds:g} s{where}, and was stopped."
