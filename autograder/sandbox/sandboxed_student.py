"""A student's code in a sandbox, asked like any other `Respondent`.

What the code is asked alone is answered by one worker after the other. While it leans on the
reference it could also ask the reference about whatever it has been asked before, so that each
step is judged leaning by workers of its own, which know no other step's inputs and end with it.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from autograder.model.request import ExceptionReport, Reply, Request
from autograder.model.sanitize import clean
from autograder.sandbox.budget import Allowance
from autograder.sandbox.workers import AnswerOfReference, Workers

if TYPE_CHECKING:
    from autograder.sandbox.zygote import Zygote

# Answered in all: as many as ten calls may ask. A right answer asks for what is wrong before it.
_MOST_ANSWERED = 640

Purpose = tuple[str, tuple[str, ...]]  # what is asked, and the steps that it leans on


class SandboxedStudent:
    """One submission's cells in workers of `zygote`. A context manager.

    `answer` gives the reference's value for a step that is leaned on (or, for gradients of
    the results, those of the arguments), None to refuse, whereupon the student's own code is
    used. An answer that raises is a refusal: only the student's arguments can have made it raise.
    """

    def __init__(
        self,
        zygote: Zygote,
        cells: tuple[str, ...],
        *,
        seed: int,
        answer: AnswerOfReference | None = None,
    ) -> None:
        self._zygote, self._cells, self._seed = zygote, cells, seed
        self._answer = answer
        seconds = zygote.limits.seconds_per_submission
        self._calls = Allowance(seconds, _MOST_ANSWERED)
        # To load the cells anew where we want it so is not taken from what the calls may use.
        self._reloading = Allowance(seconds)
        self._alone = self._workers(self._calls)
        self._leaning = self._workers(self._reloading)
        self._purpose: Purpose | None = None  # of those that lean

    def __enter__(self) -> SandboxedStudent:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def load_failures(self) -> tuple[ExceptionReport | None, ...]:
        """For each cell the exception it raised, or None; empty when loading itself did not end."""
        return self._alone.load_failures

    @property
    def output(self) -> str:
        """What the code printed so far, as far as it is kept, without control characters."""
        kept = 1024 * self._zygote.limits.output_kilobytes
        printed = self._alone.output + self._leaning.output
        return clean(printed[:kept].decode("utf-8", "replace"), kept)

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer `request`; every way to fail is a `Failed`.

        A worker that may ask about earlier steps answers for this one step, `request.target`,
        and for nothing else before or after. Raises `KitError` when the zygote had to be started
        anew and the machine no longer protects the grader, and `WireError` when `request` is too
        large to send.
        """
        purpose = (request.target, leaning_on) if leaning_on else None
        if purpose != self._purpose:
            self._leaning.close()
            self._purpose = purpose
        if purpose is None:
            return self._alone.ask(request)
        # What never ends while it is loaded is not tried once more for every step.
        return self._alone.unloadable or self._leaning.ask(request, leaning_on)

    def close(self) -> None:
        """End the workers, if there are any."""
        self._alone.close()
        self._leaning.close()

    def _workers(self, loading: Allowance) -> Workers:
        return Workers(
            self._zygote,
            self._cells,
            seed=self._seed,
            answer=self._answer,
            calls=self._calls,
            loading=loading,
        )
