"""The student's own steps, one after the other, end to end.

The chain is the reference's own class with its step functions replaced by calls
of the student's: the order of the steps stands in `solution.py` and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import Any

from autograder.checks.reference import Reference
from autograder.compare import compare
from autograder.diagnosis import diagnose, failure
from autograder.inprocess import crossed
from autograder.request import Failed, Reply, Request, Respondent, Returned
from autograder.verdict import ChainVerdict, Finding, Outcome, StepVerdict
from autograder.wire import Value
from autograder.worker.library import inward

Run = Callable[[ModuleType], Value]


class ChainBroken(Exception):
    """A step gave nothing that the next one could use."""

    def __init__(self, reply: Failed) -> None:
        super().__init__(reply.outcome)
        self.reply = reply


@dataclass(frozen=True)
class Call:
    """One call on the way: what a step was asked and what it gave."""

    request: Request
    reply: Reply


@dataclass(frozen=True)
class Chain:
    """Runs a chain once with the reference's steps and once with the student's."""

    reference: Reference
    respondent: Respondent

    def judged(self, run: Run) -> ChainVerdict:
        """Return how the student's chain ends and, when it is wrong, where it breaks first.

        Only the final result decides: steps that deviate together and give the right
        result are not broken.
        """
        right, expected = self._run(run, self._ask_reference)
        own, result = self._run(run, self.respondent.ask)
        if isinstance(expected, Failed):
            raise RuntimeError(f"the reference fails on its own chain: {expected}")
        finding = self._finding(own, result, expected)
        if finding is None:
            return ChainVerdict(Outcome.PASSED)
        return self._broken(right, own, finding)

    def _run(self, run: Run, ask: Callable[[Request], Reply]) -> tuple[list[Call], Value | Failed]:
        calls: list[Call] = []
        library = self.reference.exercise.library
        steps = {
            name: _asking(name, ask, calls, library, self._random(name)) for name in self._functions
        }
        with self.reference.replaced(steps):
            try:
                return calls, crossed(run(self.reference.module), library)
            except ChainBroken as broken:
                return calls, broken.reply

    def _ask_reference(self, request: Request) -> Reply:
        # Within one of its own steps the reference calls itself, not the student.
        with self.reference.replaced(self._functions):
            return self.reference.ask(request)

    def _random(self, name: str) -> Callable[..., Any] | None:
        """The reference's own step, where a draw of the student's cannot be gone on with."""
        return self._functions[name] if self.reference.exercise.step(name).random else None

    @cached_property
    def _functions(self) -> dict[str, Any]:
        """The step functions that the chain may call; the class is not one."""
        steps = [step.name for step in self.reference.exercise.steps]
        functions = {name: getattr(self.reference.module, name) for name in steps}
        return {name: step for name, step in functions.items() if not isinstance(step, type)}

    def _finding(self, own: list[Call], result: Value | Failed, expected: Value) -> Finding | None:
        if isinstance(result, Failed):
            return failure(result)
        return compare(result, expected, self.reference.form(own[-1].request.target))

    def _broken(self, right: list[Call], own: list[Call], finding: Finding) -> ChainVerdict:
        for call, due in zip(own, right):
            step = call.request.target
            assert isinstance(due.reply, Returned)
            if self._random(step) and not isinstance(call.reply, Failed):
                continue
            there = diagnose(call.reply, due.reply.value, self.reference.form(step), ())
            if there:
                fact = f"Your own steps, one after the other, first go wrong at `{step}`."
                named = Finding(there.outcome, fact, details=(there.message,))
                return ChainVerdict(there.outcome, step, named)
        return ChainVerdict(finding.outcome, None, finding)


def _asking(
    name: str,
    ask: Callable[[Request], Reply],
    calls: list[Call],
    library: str,
    random: Callable[..., Any] | None,
) -> Callable[..., Any]:
    def step(*arguments: Any, **keywords: Any) -> Any:
        given = tuple(crossed(argument, library) for argument in arguments)
        named = {name: crossed(value, library) for name, value in keywords.items()}
        request = Request(name, given, named)
        reply = ask(request)
        calls.append(Call(request, reply))
        if isinstance(reply, Failed):
            raise ChainBroken(reply)
        return random(*arguments, **keywords) if random else inward(reply.value, library)

    return step


def broken_by(step: StepVerdict) -> ChainVerdict:
    """The verdict on a chain that a step would never let end."""
    fact = f"Your own steps, one after the other, first go wrong at `{step.name}`."
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
    fact = (
        f"Your own steps, one after the other, first go wrong at `{at.name}`, "
        f"which is right itself: it calls your `{cause.name}`."
    )
    return replace(chain, breaks_at=cause.name, finding=replace(chain.finding, fact=fact))
