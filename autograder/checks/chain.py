"""The student's own steps, one after the other, end to end.

The chain is the reference's own class with its step functions replaced by calls
of the student's: the order of the steps stands in `solution.py` and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from autograder.checks.author_error import OURS
from autograder.checks.reference import Reference
from autograder.judging.compare import ResultSpec, arrays_of, compare, compare_form, whole_number
from autograder.judging.diagnosis import diagnose, failure
from autograder.judging.expectation import CheckFailed
from autograder.values.request import (
    Failed,
    Reply,
    Request,
    Respondent,
    Returned,
)
from autograder.values.verdict import ChainVerdict, Finding, Outcome, StepVerdict
from autograder.worker.arrays import to_library
from autograder.worker.wire import Value, round_tripped

Run = Callable[[ModuleType], Value]
_TOGETHER = "Run one after the other, your own steps"

# A step may give another shape than expected, and a later one may put it right. But if it gives
# this many times as many numbers, there is no bound on what the reference's class makes of them.
LARGER = 8


class ChainBroken(CheckFailed):
    """A step gave nothing that the next step can use; `finding` says what it gave."""


@dataclass(frozen=True)
class StepCall:
    """One call on the way: what a step was asked and what it gave."""

    request: Request
    reply: Reply


@dataclass(frozen=True)
class Walk:
    """One way through the chain: who answers its calls, the calls so far, what `ask` raised.

    `right` holds the calls of the reference's own walk, as they are expected here; that walk
    itself has none.
    """

    library: str
    ask: Callable[[Request], Reply]
    right: tuple[StepCall, ...] = ()
    calls: list[StepCall] = field(default_factory=list)
    faults: list[Exception] = field(default_factory=list)

    def step(
        self, name: str, form: ResultSpec, random: Callable[..., Any] | None
    ) -> Callable[..., Any]:
        """Return a function that asks for a step; with `random`, its draw is used from then on."""

        def step(*arguments: Any, **keywords: Any) -> Any:
            given = tuple(round_tripped(argument, self.library) for argument in arguments)
            named = {name: round_tripped(value, self.library) for name, value in keywords.items()}
            value = self._answer(Request(name, given, named)).value
            if random:
                return random(*arguments, **keywords)
            self._demand_form(value, form)
            return to_library(value, self.library)

        return step

    def is_to_blame(self, error: Exception) -> bool:
        """Say whether only the answers of this walk can have caused an exception."""
        return bool(self.right) and not self.faults and not isinstance(error, OURS)

    def _answer(self, request: Request) -> Returned:
        try:
            reply = self.ask(request)
        except Exception as error:
            self.faults.append(error)
            raise
        self.calls.append(StepCall(request, reply))
        if isinstance(reply, Failed):
            raise ChainBroken(failure(reply))
        return reply

    def _demand_form(self, value: Value, form: ResultSpec) -> None:
        """Raise `ChainBroken` unless the last answer has the right number of arrays, none huge."""
        call = next(iter(self.right[len(self.calls) - 1 : len(self.calls)]), None)
        if call is None or not isinstance(call.reply, Returned):
            return
        expected = call.reply.value
        given, wanted = arrays_of(value, form, expected), arrays_of(expected, form)
        if len(given) == len(wanted) and all(map(_usable, given, wanted)):
            return
        if finding := compare_form(value, expected, form):
            raise ChainBroken(finding)


def _usable(actual: Value, expected: Value) -> bool:
    if not isinstance(expected, np.ndarray):
        return type(whole_number(actual)) is type(expected)
    return isinstance(actual, np.ndarray) and actual.size <= LARGER * max(1, expected.size)


@dataclass(frozen=True)
class Chain:
    """Runs a chain once with the reference's steps, for a check, and once with the student's."""

    reference: Reference
    respondent: Respondent
    check: Hashable

    def judged(self, run: Run) -> ChainVerdict:
        """Return how the student's chain ends and, when it is wrong, where it breaks first.

        Only the final result decides: steps that deviate together and give the right
        result are not broken.
        """
        calls, end = self.reference.drawn((Walk, self.check), lambda: self._right_walk(run))
        walk = Walk(self.reference.exercise.library, self.respondent.ask, calls)
        try:
            last = self.reference.form(calls[-1].request.target)
            finding = compare(self._end(run, walk), end, last)
        except ChainBroken as broken:
            finding = broken.finding
        if finding:
            return self._broken(calls, walk.calls, finding)
        return ChainVerdict(Outcome.PASSED)

    def _right_walk(self, run: Run) -> tuple[tuple[StepCall, ...], Value]:
        """Return the calls of the reference's own walk, and what comes out at the end."""
        own_way = Walk(self.reference.exercise.library, self._ask_reference)
        try:
            end = self._end(run, own_way)
        except ChainBroken as broken:
            raise RuntimeError(f"the reference fails on its own chain: {broken}") from broken
        return tuple(own_way.calls), end

    def _end(self, run: Run, walk: Walk) -> Value:
        """Return what comes out at the end; raise `ChainBroken` when the answers lead nowhere."""
        steps = {
            name: walk.step(name, self.reference.form(name), self._random(name))
            for name in self._functions
        }
        with self.reference.replaced(steps):
            try:
                return round_tripped(run(self.reference.module), walk.library)
            except ChainBroken:
                raise
            except Exception as error:
                # With the reference's answers, the same walk went through.
                if not walk.is_to_blame(error):
                    raise
                raise ChainBroken(_stopped(walk.calls, error)) from error

    def _ask_reference(self, request: Request) -> Reply:
        # Within one of its own steps the reference calls itself, not the student.
        with self.reference.replaced(self._functions):
            return self.reference.ask(request)

    def _random(self, name: str) -> Callable[..., Any] | None:
        """The reference's own step, where a student's random draw would lead nowhere."""
        return self._functions[name] if self.reference.exercise.step(name).random else None

    @cached_property
    def _functions(self) -> dict[str, Any]:
        """The reference's own steps, kept from before the student's take their places."""
        return self.reference.functions

    def _broken(
        self, right: tuple[StepCall, ...], own: list[StepCall], finding: Finding
    ) -> ChainVerdict:
        for call, reference in zip(own, right):
            step = call.request.target
            assert isinstance(reference.reply, Returned)
            if self._random(step) and not isinstance(call.reply, Failed):
                continue
            there = diagnose(call.reply, reference.reply.value, self.reference.form(step), ())
            if there:
                fact = _first_wrong(step)
                named = Finding(there.outcome, fact, details=(there.message,))
                return ChainVerdict(there.outcome, step, named)
        return ChainVerdict(finding.outcome, None, finding)


def _stopped(calls: list[StepCall], error: Exception) -> Finding:
    """The finding on answers that the layer cannot go on from, each right by itself or not."""
    at = f" after `{calls[-1].request.target}`" if calls else ""
    return Finding(
        Outcome.WRONG_TYPE,
        f"{_TOGETHER} cannot go on{at}.",
        details=(f"{type(error).__name__}: {error}"[:300],),
    )


def _first_wrong(step: str) -> str:
    return f"{_TOGETHER} first go wrong at `{step}`."


def broken_by(step: StepVerdict) -> ChainVerdict:
    """The verdict on a chain that would never end because of a step."""
    fact = _first_wrong(step.name)
    details = (step.finding.message,) if step.finding else ()
    return ChainVerdict(step.outcome, step.name, Finding(step.outcome, fact, details=details))


def traced_back(chain: ChainVerdict, steps: tuple[StepVerdict, ...]) -> ChainVerdict:
    """Where a chain breaks at a step that is right but calls a wrong one, name the wrong one."""
    at = next((step for step in steps if step.name == chain.breaks_at), None)
    if at is None or not at.leaning or chain.finding is None:
        return chain
    earlier = steps[: steps.index(at)]
    cause = next((step for step in earlier if step.outcome is not Outcome.PASSED), None)
    if cause is None:
        return chain
    fact = f"{_first_wrong(at.name)} It is right by itself, but it calls your `{cause.name}`."
    return replace(chain, breaks_at=cause.name, finding=replace(chain.finding, fact=fact))
