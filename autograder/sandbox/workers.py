"""Workers with the same cells, one after the other: a fresh one whenever one has ended.

One time budget covers writing, computing, reading, and what we compute for the worker meanwhile.
A step that crashes costs only itself. A worker that somebody outside may have killed (the kernel
short of memory, an operator) is replaced once and asked the same question again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from autograder.sandbox import exchange
from autograder.sandbox import zygote_process as channels
from autograder.sandbox.exchange import AnswerOfReference
from autograder.sandbox.zygote_process import Allowance, Budget, Killed, ZygoteDied, judge
from autograder.values.request import (
    ExceptionReport,
    Failed,
    KnownReplies,
    Reply,
    Request,
    Returned,
    Sighting,
    Watched,
)
from autograder.values.sanitize import clean
from autograder.values.verdict import Outcome
from autograder.worker import wire
from autograder.worker.call import StandIn

if TYPE_CHECKING:
    from autograder.sandbox.zygote import Worker, Zygote

T = TypeVar("T")

# Questions of one call: a loop over pairs of tokens asks a hundred, and a dozen calls come before.
MOST_ANSWERED = 2_000
TOO_OFTEN = "It calls the steps before it more often than can be answered, and was stopped."
EARLIER_FIRST = "Mend those steps first: once they are right, it is judged with your own."
IMPORTS = "It imports a part of a library while it runs, and was stopped after a longer wait."
_IMPORTING = 10.0  # seconds more for one call in which a library is imported
_SLOWER_TO_LOAD = 2.0
_TO_END_BY_ITSELF = 1.0
# Whatever else NumPy raises for a forged shape counts as a forgery too.
_BREACHES = (wire.WireError, ValueError, OverflowError, RecursionError)


class _AskedTooOften(Exception):
    """A worker asks more than is answered; what its own code answers would say nothing."""


@dataclass(frozen=True)
class SubmittedCode:
    """What every worker of a submission is told, and what answers it; see `SandboxedStudent`."""

    cells: tuple[str, ...]
    packages: tuple[str, ...]
    drawing: tuple[str, ...]
    seed: int
    answer: AnswerOfReference | None


class Workers:
    """Loads `code` in a worker of `zygote`, and asks it.

    The allowance `calls` pays for calls and the worker's questions, `loading` for loading the
    cells.
    """

    def __init__(
        self, zygote: Zygote, code: SubmittedCode, calls: Allowance, loading: Allowance
    ) -> None:
        self._zygote, self._code = zygote, code
        self._calls, self._loading = calls, loading
        self._worker: Worker | None = None
        self._failures: tuple[ExceptionReport | None, ...] = ()
        self._unloadable: Failed | None = None
        self._number = 0
        self._questions = 0  # that this worker has asked
        self._output = bytearray()

    @property
    def load_failures(self) -> tuple[ExceptionReport | None, ...]:
        """For each cell the exception it raised, or None; empty when loading did not finish."""
        self._load()
        return self._failures

    @property
    def unloadable(self) -> Failed | None:
        """How loading failed; None when it succeeded or has not been tried."""
        return self._unloadable

    @property
    def output(self) -> bytes:
        """What all workers printed, as far as it is kept."""
        return bytes(self._output) + (self._worker.channel.output if self._worker else b"")

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer `request`; see `SandboxedStudent.ask`."""
        reply = self._asked(request, leaning_on)
        return self._asked(request, leaning_on) if isinstance(reply, Killed) else reply

    def ask_all(
        self,
        requests: Sequence[Request],
        known: Sequence[KnownReplies | None],
        leaning_on: tuple[str, ...] = (),
    ) -> tuple[Reply, ...]:
        """Send all requests at once and return the replies, until the worker ends or is ended.

        Each has the time of one call. See `PipelinedRespondent`; raises as `ask`.
        """
        unloadable = self._load()
        if unloadable:
            return (unloadable,)
        assert self._worker is not None
        numbered = list(enumerate(requests, start=self._number + 1))
        self._number += len(requests)
        for number, request in numbered:
            self._worker.channel.send_soon(exchange.call_frame(number, request, leaning_on))
        replies: list[Reply] = []
        for (number, request), seen in zip(numbered, known, strict=True):
            reply = self._answer_to(number, request, leaning_on, known=seen)
            replies.append(reply)
            late = isinstance(reply, Failed) and reply.outcome is Outcome.TIMED_OUT
            if self._worker is None or late:
                break
        if len(replies) < len(requests):
            self.close()  # nobody reads its other answers
        if isinstance(replies[-1], Killed):
            replies[-1] = self._asked(requests[len(replies) - 1], leaning_on)
        return tuple(replies)

    def watch(
        self, request: Request, steps: Collection[str], stand_ins: Mapping[int, StandIn]
    ) -> Watched:
        """Answer `request` with the calls that it makes; see `SandboxedStudent.watch`."""
        if unloadable := self._load():
            return Watched(unloadable)
        self._number += 1
        seen = self._exchanged(
            exchange.watch_frame(self._number, request, steps, stand_ins),
            lambda head, sent: exchange.read_watched(head, sent, self._number, request, steps),
        )
        return Watched(seen) if isinstance(seen, Failed) else seen

    def trace(self, request: Request) -> tuple[Sighting, ...]:
        """Return what is seen while `request` is answered; see `SandboxedStudent.trace`."""
        if self._load():
            return ()
        self._number += 1
        seen = self._exchanged(
            exchange.call_frame(self._number, request, (), op="trace"),
            lambda head, sent: exchange.read_sightings(head, sent, self._number),
        )
        self.close()  # the cells ran twice in it
        return () if isinstance(seen, Failed) else seen

    def take_over(self, others: Workers) -> bool:
        """Go on with the worker of `others`, and say whether they have one; its own has ended.

        If they need another, it is we who load the cells again.
        """
        self._worker, others._worker = others._worker, None
        self._number, self._questions = others._number, others._questions
        others.load_from(self._loading)
        return self._worker is not None

    def load_from(self, loading: Allowance) -> None:
        """Let another allowance pay for loading the cells from now on."""
        self._loading = loading

    def close(self) -> None:
        """End the worker, if there is one."""
        worker, self._worker = self._worker, None
        if worker:
            with contextlib.suppress(ZygoteDied):  # then the worker has died with it
                self._zygote.end(worker)
            self._keep_output(worker)

    def _exchanged(
        self, data: bytes, read: Callable[[dict[str, Any], wire.Payload], T]
    ) -> T | Failed:
        """Send a frame, and `read` the one that comes back, in the time of one call."""

        def exchanged(budget: Budget) -> T:
            assert self._worker is not None
            self._worker.channel.send(data, budget)
            return read(*self._worker.channel.receive(budget))

        return self._watched(self._zygote.limits.seconds_per_call, self._calls, exchanged)

    def _asked(self, request: Request, leaning_on: tuple[str, ...]) -> Reply:
        unloadable = self._load()
        if unloadable:
            return unloadable
        self._number += 1
        data = exchange.call_frame(self._number, request, leaning_on)
        return self._answer_to(self._number, request, leaning_on, data)

    def _answer_to(
        self,
        number: int,
        request: Request,
        leaning_on: tuple[str, ...] = (),
        data: bytes = b"",
        known: KnownReplies | None = None,
    ) -> Reply:
        """Return the reply to a request, which is sent as `data` first if it was not yet.

        One that is among the `known` ones is not read again, and another keeps its bytes.
        """

        def called(budget: Budget) -> Reply:
            assert self._worker is not None
            if data:
                self._worker.channel.send(data, budget)
            return self._reply_to(number, request, leaning_on, known, budget)

        reply = self._watched(self._zygote.limits.seconds_per_call, self._calls, called)
        if isinstance(reply, Failed) and reply.outcome is Outcome.OUT_OF_MEMORY:
            self.close()  # alive, but with little memory left
        return reply

    def _load(self) -> Failed | None:
        """Make sure that a worker has loaded the cells; return why none can, or None."""
        if self._unloadable or self._worker:
            return self._unloadable
        loaded = self._loaded()
        if isinstance(loaded, Killed):
            loaded = self._loaded()
        if not isinstance(loaded, Failed):
            self._failures = loaded
            return None
        if loaded.outcome is not Outcome.INFRASTRUCTURE:
            self._unloadable = loaded  # it would end the same way again, after the same time
        return loaded

    def _loaded(self) -> tuple[ExceptionReport | None, ...] | Failed:
        try:
            self._worker = self._zygote.fork(self._code.seed)  # costs the student no time
        except ZygoteDied as error:
            return Failed(Outcome.INFRASTRUCTURE, str(error))
        self._number, self._questions = self._number + 1, 0
        seconds = _SLOWER_TO_LOAD * self._zygote.limits.seconds_per_call
        return self._watched(seconds, self._loading, self._load_cells)

    def _load_cells(self, budget: Budget) -> tuple[ExceptionReport | None, ...]:
        assert self._worker is not None
        channel, code = self._worker.channel, self._code
        data = exchange.load_frame(self._number, code.cells, code.packages, code.drawing)
        channel.send(data, budget)
        header, payload = channel.receive(budget)
        payload.end()
        return exchange.read_failures(header, self._number, len(code.cells))

    def _reply_to(
        self,
        number: int,
        request: Request,
        leaning_on: tuple[str, ...],
        known: KnownReplies | None,
        budget: Budget,
    ) -> Reply:
        """Read the reply to a request, and answer what the worker asks before it."""
        assert self._worker is not None
        channel = self._worker.channel
        head, data = channel.receive_unread(budget)
        asked = 0
        while exchange.is_question(head):
            if asked == MOST_ANSWERED or not self._calls.questions:
                raise _AskedTooOften
            asked, self._questions = asked + 1, self._questions + 1
            self._calls.questions -= 1
            with budget.charged():
                question = (self._questions, head, data, leaning_on)
                answer = exchange.answered_question(self._code.answer, *question)
            channel.send(answer, budget)
            head, data = channel.receive_unread(budget)
        encoded = exchange.unnumbered(number, head, data) if known is not None else b""
        if known is not None and encoded in known:
            return known[encoded]
        reply = exchange.read_reply(*wire.read_frame(head, data), number, request)
        return replace(reply, encoded=encoded) if isinstance(reply, Returned) else reply

    def _watched(
        self, seconds: float, allowance: Allowance, work: Callable[[Budget], T]
    ) -> T | Failed:
        """Do `work` within one budget; turn every end of the worker into a `Failed`."""
        if allowance.seconds <= 0:
            limit = self._zygote.limits.seconds_per_submission
            return Failed(Outcome.TIMED_OUT, f"All steps together have used their {limit:g} s.")
        worker = self._worker
        assert worker is not None
        budget = Budget(
            min(seconds, allowance.seconds),
            lambda: worker.process.used(worker.pid),
            min(_IMPORTING, allowance.importing),
        )
        try:
            done = work(budget)
            budget.settle()
            return done
        except channels.Closed:
            return self._post_mortem()
        except ZygoteDied as error:
            self.close()
            return Failed(Outcome.INFRASTRUCTURE, str(error))
        except _BREACHES as error:
            self.close()
            return Failed(Outcome.PROTOCOL, f"The answer is not well formed: {error}.")
        except _AskedTooOften:
            self.close()
            return Failed(Outcome.TIMED_OUT, TOO_OFTEN, look=EARLIER_FIRST)
        except (channels.Late, channels.Flooded) as error:
            self.close()
            if isinstance(error, channels.Flooded):
                return Failed(Outcome.OUTPUT_LIMIT)
            return Failed(Outcome.TIMED_OUT, IMPORTS if budget.imports else "")
        finally:
            budget.charge(allowance)

    def _post_mortem(self) -> Failed:
        worker, self._worker = self._worker, None
        assert worker is not None
        try:
            ending = self._zygote.end(worker, _TO_END_BY_ITSELF)
        except ZygoteDied as error:
            return Failed(Outcome.INFRASTRUCTURE, str(error))
        finally:
            self._keep_output(worker)
        return judge(ending, self._zygote.limits)

    def _keep_output(self, worker: Worker) -> None:
        self._output += worker.channel.output


# A student's code in a sandbox, asked like any other `Respondent`.
#
# What the code is asked alone is answered by one worker after the other. While it leans on the
# reference, it could also ask the reference about anything that it was asked before. So a worker
# that leans is not asked alone again, and ends when the code is to lean on other steps: what it
# was asked for one step, it could ask about the same steps then, and learn no more of it now.

# The most questions answered in all: as many as ten calls may ask.
_MOST_ANSWERED = 20_000


class SandboxedStudent:
    """One submission's cells in workers of `zygote`. A context manager.

    `answer` gives the reference's value for a step that is leaned on or, given the gradients of
    its results, those of its arguments. None refuses; then the student's own code is used. An
    answer that raises is a refusal too: only the student's arguments can have made it raise. Of
    `drawing` steps, it is another one each time; of others, a worker may keep it for one call.
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
    ) -> None:
        code = SubmittedCode(cells, packages, drawing, seed, answer)
        self._limits = zygote.limits
        calls = Allowance(self._limits.seconds_per_submission, _MOST_ANSWERED)
        # Where it is we who load the cells again, the calls do not pay for it.
        self._reloading = Allowance(self._limits.seconds_per_submission)
        self._alone = Workers(zygote, code, calls, calls)
        self._leaning = Workers(zygote, code, calls, self._reloading)
        self._leant_on: tuple[str, ...] = ()  # by the leaning workers
        self._went_on = False  # whether the one that leans was asked alone before

    def __enter__(self) -> SandboxedStudent:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def load_failures(self) -> tuple[ExceptionReport | None, ...]:
        """For each cell the exception it raised, or None; empty when loading did not finish."""
        return self._alone.load_failures

    @property
    def output(self) -> str:
        """What the code printed so far, as far as it is kept, without control characters."""
        kept = 1024 * self._limits.output_kilobytes
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

    def watch(
        self, request: Request, steps: Collection[str], stand_ins: Mapping[int, StandIn]
    ) -> Watched:
        """Answer `request` alone, with the calls that the code makes of `steps`; see `Watchable`.

        Anything but the reply itself may be forged, and that only as any reply may be.
        """
        return self._alone.watch(request, steps, stand_ins)

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
