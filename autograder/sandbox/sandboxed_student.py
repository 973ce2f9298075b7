"""A student's code in a sandbox, asked like any other `Respondent`.

What the code is asked alone is answered by one worker after the other. While it leans on the
reference, it could also ask the reference about anything that it was asked before. So a worker that
leans is not asked alone again, and ends when the code is to lean on other steps: what it was asked
for one step, it could ask about the same steps then, and learn no more of it now.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from autograder.model.given_answers import GivenAnswers
from autograder.model.request import ExceptionReport, KnownReplies, Reply, Request, Sighting
from autograder.model.sanitize import clean
from autograder.sandbox.budget import Allowance
from autograder.sandbox.reference_answers import AnswerOfReference, ReferenceAnswers
from autograder.sandbox.workers import Workers

if TYPE_CHECKING:
    from autograder.sandbox.zygote import Zygote

# The most questions answered in all: as many as ten calls may ask.
_MOST_ANSWERED = 20_000


class SandboxedStudent:
    """One submission's cells in workers of `zygote`. A context manager.

    `answer` gives the reference's value for a step that is leaned on or, given the gradients of
    its results, those of its arguments. None refuses; then the student's own code is used. An
    answer that raises is a refusal too: only the student's arguments can have made it raise. Of
    `drawing` steps, it is another one each time; of others, a worker may keep it for one call, and
    `given` for all hand-ins.
    `packages` are those that the cells may import; without any, they may import all that is there.
    """

    def __init__(
        self,
        zygote: Zygote,
        cells: tuple[str, ...],
        *,
        packages: tuple[str, ...] = (),
        drawing: tuple[str, ...] = (),
        seed: int,
        answer: AnswerOfReference | None = None,
        given: GivenAnswers | None = None,
    ) -> None:
        self._zygote, self._cells, self._seed = zygote, cells, seed
        self._packages, self._drawing = packages, drawing
        self._answers = ReferenceAnswers(answer, drawing, given)
        seconds = zygote.limits.seconds_per_submission
        self._calls = Allowance(seconds, _MOST_ANSWERED)
        # Where it is we who load the cells again, the calls do not pay for it.
        self._reloading = Allowance(seconds)
        self._alone = self._workers(self._calls)
        self._leaning = self._workers(self._reloading)
        self._leant_on: tuple[str, ...] = ()  # by the leaning workers
        self._went_on = False  # whether the one that leans was asked alone before

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
        """For each cell the exception it raised, or None; empty when loading did not finish."""
        return self._alone.load_failures

    @property
    def output(self) -> str:
        """What the code printed so far, as far as it is kept, without control characters."""
        kept = 1024 * self._zygote.limits.output_kilobytes
        printed = self._alone.output + self._leaning.output
        return clean(printed[:kept].decode("utf-8", "replace"), kept)

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer `request`; every failure of the code is a `Failed`.

        A worker that may ask about earlier steps answers for steps that lean on the very same ones,
        and for nothing else before or after. Raises `KitError` when the zygote had to be restarted
        and the machine no longer protects the grader, and `WireError` when `request` is too large
        to send.
        """
        if not self._begins([request], leaning_on):
            return self._alone.ask(request)
        # Code that never finishes loading is not tried again for every step.
        return self._alone.unloadable or self._leaning.ask(request, leaning_on)

    def ask_all(
        self,
        requests: Sequence[Request],
        known: Sequence[KnownReplies | None],
        leaning_on: tuple[str, ...] = (),
    ) -> tuple[Reply, ...]:
        """Answer requests that are sent together; see `PipelinedRespondent`. Raises as `ask`."""
        if not self._begins(requests, leaning_on):
            return self._alone.ask_all(requests, known)
        if self._alone.unloadable:
            return (self._alone.unloadable,)
        return self._leaning.ask_all(requests, known, leaning_on)

    def go_on_leaning(self, leaning_on: tuple[str, ...]) -> None:
        """Have the worker that was asked alone answer next for steps that lean on these.

        It is never asked alone again. What it was asked before, it can ask the reference about
        then; but nothing of that is asked after it, but for the steps that lean.
        """
        if leaning_on != self._leant_on:
            self._lean_on(leaning_on)
            self._went_on = self._leaning.take_over(self._alone)

    def lean_afresh(self) -> bool:
        """End the worker that leans if it was asked alone before; say whether that was so."""
        if went_on := self._went_on:
            self._lean_on(self._leant_on)
        return went_on

    def begin_afresh(self) -> None:
        """End the worker that is asked alone; the next question starts another.

        It is we who load the cells again, so the calls do not pay for it.
        """
        self._alone.close()
        self._alone.load_from(self._reloading)

    def trace(self, request: Request) -> tuple[Sighting, ...]:
        """Return the arrays that the code computes while it answers `request` alone.

        They are few and small, and anything may be forged. Every failure gives none.
        """
        return self._alone.trace(request)

    def close(self) -> None:
        """End the workers, if there are any."""
        self._alone.close()
        self._leaning.close()

    def _begins(self, requests: Sequence[Request], leaning_on: tuple[str, ...]) -> bool:
        """Return whether leaning workers answer; they end unless they lean on the same steps."""
        step = requests[0].target
        if leaning_on and any(request.target != step for request in requests):
            raise ValueError("leaning workers answer for one step only")
        if leaning_on and leaning_on != self._leant_on:
            self._lean_on(leaning_on)
        return bool(leaning_on)

    def _lean_on(self, steps: tuple[str, ...]) -> None:
        self._leaning.close()
        self._leant_on, self._went_on = steps, False

    def _workers(self, loading: Allowance) -> Workers:
        return Workers(
            self._zygote,
            self._cells,
            packages=self._packages,
            drawing=self._drawing,
            seed=self._seed,
            answers=self._answers,
            calls=self._calls,
            loading=loading,
        )
