"""A student's code in a sandbox, asked like any other `Respondent`.

One budget of time covers writing, computing and reading. After any end of the
worker the next request gets a fresh one with the cells loaded anew, so that a
step that crashes costs only itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from autograder import wire
from autograder.plain import clean
from autograder.request import ExceptionReport, Failed, Reply, Request
from autograder.sandbox import channel as channels
from autograder.sandbox import exchange
from autograder.sandbox.budget import Budget
from autograder.sandbox.ending import judge
from autograder.sandbox.process import ZygoteDied
from autograder.verdict import Outcome
from autograder.wire import Value

if TYPE_CHECKING:
    from autograder.sandbox.zygote import Worker, Zygote

Answer = Callable[[str, tuple[Value, ...], Mapping[str, Value], tuple[Value, ...]], Value | None]
T = TypeVar("T")

_MOST_QUESTIONS = 10_000
_LARGEST_QUESTION = 256 * 1024  # bytes; what the reference computes from it may be the square
_SLOWER_TO_LOAD = 2.0
_TO_END_BY_ITSELF = 1.0
# What else NumPy raises for a shape that was forged counts as a forgery too.
_BREACHES = (wire.WireError, ValueError, OverflowError, RecursionError)


class SandboxedStudent:
    """One submission's cells in workers of `zygote`. A context manager.

    `answer` gives the reference's value for a step that is leaned on (or, for gradients of
    the results, those of the arguments), None to refuse, whereupon the student's own code is used. An answer that raises is a
    refusal: only the student's arguments can have made it raise.
    """

    def __init__(
        self,
        zygote: Zygote,
        cells: tuple[str, ...],
        *,
        seed: int,
        answer: Answer | None = None,
    ) -> None:
        self._zygote, self._cells, self._seed = zygote, cells, seed
        self._answer = answer
        self._worker: Worker | None = None
        self._failures: tuple[ExceptionReport | None, ...] = ()
        self._unloadable: Failed | None = None
        self._number = 0
        self._questions = 0
        self._left = zygote.limits.seconds_per_submission
        self._output = bytearray()

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
        self._load()
        return self._failures

    @property
    def output(self) -> str:
        """What the code printed so far, as far as it is kept, without control characters."""
        kept = 1024 * self._zygote.limits.output_kilobytes
        current = self._worker.channel.output if self._worker else b""
        return clean((bytes(self._output) + current)[:kept].decode("utf-8", "replace"), kept)

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer `request`; every way to fail is a `Failed`.

        Raises `KitError` when the zygote had to be started anew and the machine no
        longer protects the grader, and `WireError` when `request` is too large to send.
        """
        unloadable = self._load()
        if unloadable:
            return unloadable
        self._number += 1
        data = exchange.call_frame(self._number, request, leaning_on)
        seconds = self._zygote.limits.seconds_per_call
        reply = self._watched(seconds, lambda time: self._call(data, request, leaning_on, time))
        if isinstance(reply, Failed) and reply.outcome is Outcome.OUT_OF_MEMORY:
            self._bury()  # alive, but with little memory left
        return reply

    def close(self) -> None:
        """End the worker, if there is one."""
        self._bury()

    def _load(self) -> Failed | None:
        """Have a worker with the cells loaded; return why there can be none."""
        if self._unloadable or self._worker:
            return self._unloadable
        try:
            self._worker = self._zygote.fork(self._seed)  # takes no time of the student's
        except ZygoteDied as error:
            return Failed(Outcome.INFRASTRUCTURE, str(error))
        self._number += 1
        seconds = _SLOWER_TO_LOAD * self._zygote.limits.seconds_per_call
        loaded = self._watched(seconds, self._load_cells)
        if not isinstance(loaded, Failed):
            self._failures = loaded
            return None
        if loaded.outcome is not Outcome.INFRASTRUCTURE:
            self._unloadable = loaded  # it would end the same way again, after the same time
        return loaded

    def _load_cells(self, budget: Budget) -> tuple[ExceptionReport | None, ...]:
        assert self._worker is not None
        channel = self._worker.channel
        channel.send(exchange.load_frame(self._number, self._cells), budget)
        header, payload = channel.receive(budget)
        payload.end()
        return exchange.read_failures(header, self._number, len(self._cells))

    def _call(
        self, data: bytes, request: Request, leaning_on: tuple[str, ...], budget: Budget
    ) -> Reply:
        assert self._worker is not None
        channel = self._worker.channel
        channel.send(data, budget)
        for _ in range(_MOST_QUESTIONS + 1):
            header, payload = channel.receive(budget)
            if "ask" not in header:
                return exchange.read_reply(header, payload, self._number, request)
            self._questions += 1
            with budget.ours():
                answer = self._answered(header, payload, leaning_on)
            channel.send(exchange.answer_frame(self._questions, answer), budget)
        raise wire.WireError("it calls earlier steps without end")

    def _answered(
        self, header: dict[str, object], payload: wire.Payload, leaning_on: tuple[str, ...]
    ) -> Value | None:
        question = exchange.read_question(header, payload, self._questions, leaning_on)
        given = (*question.arguments, *question.keywords.values(), *question.cotangents)
        if self._answer is None or _bytes_of(given) > _LARGEST_QUESTION:
            return None
        try:
            return self._answer(
                question.step, question.arguments, question.keywords, question.cotangents
            )
        except Exception:  # what the student's code passed is wrong; its own step may say how
            return None

    def _watched(self, seconds: float, work: Callable[[Budget], T]) -> T | Failed:
        """Do `work` within one budget; turn every end of the worker into a `Failed`."""
        if self._left <= 0:
            limit = self._zygote.limits.seconds_per_submission
            return Failed(Outcome.TIMED_OUT, f"All steps together have used their {limit:g} s.")
        worker = self._worker
        assert worker is not None
        budget = Budget(min(seconds, self._left), lambda: worker.process.used(worker.pid))
        try:
            done = work(budget)
            budget.settle()
            return done
        except channels.Closed:
            return self._post_mortem()
        except ZygoteDied as error:
            self._bury()
            return Failed(Outcome.INFRASTRUCTURE, str(error))
        except _BREACHES as error:
            self._bury()
            return Failed(Outcome.PROTOCOL, f"The answer is not well formed: {error}.")
        except (channels.Late, channels.Flooded) as error:
            self._bury()
            late = isinstance(error, channels.Late)
            return Failed(Outcome.TIMED_OUT if late else Outcome.OUTPUT_LIMIT)
        finally:
            self._left -= budget.spent

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

    def _bury(self) -> None:
        worker, self._worker = self._worker, None
        if worker:
            with contextlib.suppress(ZygoteDied):  # the worker has died with it then
                self._zygote.end(worker)
            self._keep_output(worker)

    def _keep_output(self, worker: Worker) -> None:
        self._output += worker.channel.output
        self._questions = 0


def _bytes_of(values: tuple[Value, ...]) -> int:
    return sum(
        _bytes_of(value) if isinstance(value, tuple) else getattr(value, "nbytes", 0)
        for value in values
    )
