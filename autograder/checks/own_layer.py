"""The student's own steps end to end, and own class: is it right, and if not, by whose fault?

A class that passes only with the reference's answers in place of a step which had passed alone is
right itself if that step is wrong when it gets, alone, what the layer passes to it. If the step is
right then, too, what is wrong is around its call, and that is the class's own doing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from autograder.checks.marks import OURS, Draw
from autograder.checks.reference import Reference
from autograder.checks.student import CheckQuestion, Conversation, Student
from autograder.checks.varied_request import calls_in, cotangent
from autograder.judging.compare import ResultSpec, arrays_of, compare, compare_form, whole_number
from autograder.judging.diagnosis import PAIR, diagnose, failure
from autograder.judging.examples import Example
from autograder.judging.expectation import Agrees, CheckFailed
from autograder.tracing.layer_code import LayerCode
from autograder.tracing.traced_layer import (
    IN_THE_LAYER,
    SECONDS,
    TOLD,
    KnownSteps,
    LayerCalls,
    Spoiler,
    TimeLeft,
    TooLong,
    TracedLayer,
    plainly,
)
from autograder.values.exercise import Exercise, Step
from autograder.values.request import (
    ContinuingRespondent,
    Failed,
    ReadableRespondent,
    Reply,
    Request,
    Respondent,
    Returned,
    Watchable,
)
from autograder.values.verdict import (
    ChainVerdict,
    CheckVerdict,
    Finding,
    LayerVerdict,
    Outcome,
    StepVerdict,
)
from autograder.worker.arrays import to_library
from autograder.worker.wire import Value, round_tripped

# Says whether all checks of a step pass with the reference in place of these steps; None when that
# could not be seen, because the code got stuck.
Passes = Callable[[tuple[str, ...]], bool | None]

_IN_PLACE = re.compile("inplace operation|modified inplace|in-place")  # as PyTorch says it


def faulty_steps(
    before: Sequence[str], steps: Iterable[StepVerdict], exempt: Iterable[str], passes: Passes
) -> tuple[str, ...] | None:
    """Return the steps that are right alone, but that a leaning step cannot do with.

    before: the steps in front of it, all of which the reference answers for when it passes. One
    at a time, those that are right alone are given back to the student, the last one first: a step
    that calls another is tried with the reference's in its place. Those of `exempt` make
    what the layer keeps: what becomes of that is the layer's own doing. None when the code got
    stuck on the way.
    """
    right = [step.name for step in steps if step.passes and not step.leaning]
    wrong = tuple(name for name in before if name not in right)
    explained = passes(wrong)
    if explained or explained is None:
        return None if explained is None else ()
    left = {name for name in exempt if name in right}
    replaced = tuple(name for name in before if name not in left)
    cured = passes(replaced)
    if not cured:
        return None if cured is None else ()
    for name in (name for name in reversed(right) if name not in left):
        fewer = tuple(other for other in replaced if other != name)
        goes = passes(fewer) if name in replaced else False
        if goes is None:
            return None
        replaced = fewer if goes else replaced
    return tuple(name for name in replaced if name in right)


@dataclass(frozen=True)
class ReferenceCalls(LayerCalls):
    """What the reference's layer passes to its steps when it answers `requests`."""

    reference: Reference
    respondent: Respondent
    requests: Sequence[Request]

    def have(self, step: str) -> bool:
        """Say whether the layer calls a step, also where another step does."""
        return any(call.target == step for call in self.calls)

    @cached_property
    def calls(self) -> Sequence[Request]:
        """The calls, each with a gradient to send back where that can be done."""
        found = (call for each in self.requests for call in calls_in(self.reference, each))
        return list(map(self._with_backward, found))

    def ask(self, request: Request) -> Reply:
        """Put a call to the student's step."""
        return self.respondent.ask(request)

    def expectation(self, request: Request) -> Agrees | None:
        """Return what is expected of a call, as of a check's own question; None for nothing.

        In another precision, the reference itself may fail.
        """
        if not isinstance(self.reference.expected(request.alone), Returned):
            return None
        asked = Conversation(self.respondent, judging=False)
        Student(request.target, self.reference, asked).ask(request).agrees()
        wanted = asked.expected[0].expectation
        assert isinstance(wanted, Agrees)
        return wanted

    def begin_afresh(self) -> None:
        """Have what is asked next answered where nothing was asked before."""
        if isinstance(self.respondent, ContinuingRespondent):
            self.respondent.begin_afresh()

    def _with_backward(self, request: Request) -> Request:
        wanted = self.expectation(request) if self.library == "torch" else None
        if wanted is None:
            return request
        question = CheckQuestion(request, lambda: wanted)
        draw = Draw.hidden(self.reference.exercise, IN_THE_LAYER, {})
        return replace(request, backward=cotangent(question, draw))


def changes_in_place(layer: StepVerdict) -> bool:
    """Say whether a layer fails because it changes in place what a step gave it.

    A step that did so itself would fail alone, where its arguments and its gradients are looked at.
    The reference's answers are copies, so in the place of a step they would hide it.
    """
    finding = layer.finding
    if finding is None or finding.outcome is not Outcome.RAISED:
        return False
    return bool(_IN_PLACE.search(f"{finding.fact} {' '.join(finding.details)}"))


def charged(
    exercise: Exercise, steps: Sequence[StepVerdict], spoiler: Spoiler, alone: StepVerdict
) -> tuple[StepVerdict, ...]:
    """Return the verdicts, with that on the step that spoils a layer.

    alone: the verdict on the layer with the student's own steps.
    """
    return tuple(
        StepVerdict.of(
            exercise.step(step.name), (*step.checks, spoiler.verdict(alone.name, alone.finding))
        )
        if step.name == spoiler.step and alone.finding
        else step
        for step in steps
    )


def around(layer: StepVerdict, step: str) -> StepVerdict:
    """Return the verdict on a class that spoils what a right `step` gives in it.

    layer: the verdict on it with the student's own steps.
    """
    found = layer.failing.finding if layer.failing else None
    if found and found.outcome is Outcome.RAISED:
        look = (
            f"With another `{step}` in its place, your layer is right. With the same numbers, "
            "yours alone raises nothing. What is different in the layer: a `with` block, a "
            "decorator, a setting, the dtype of the inputs, or how their numbers lie in memory?"
        )
    else:
        look = (
            f"With another `{step}` in its place, your layer is right. Yet yours is right as well "
            "when it gets, outside of your layer, what a right layer passes to it. So look around "
            "its call: is there a `with` block, a decorator or a setting that changes what it does?"
        )

    return retold(
        layer, lambda finding: replace(finding, look=f"{finding.look} {look}".strip(), cause=True)
    )


def retold(step: StepVerdict, told: Callable[[Finding], Finding]) -> StepVerdict:
    """Return the verdict on a step with another finding in place of the one to be read first."""
    first = step.failing
    checks = (
        replace(check, finding=told(check.finding)) if check is first and check.finding else check
        for check in step.checks
    )
    return replace(step, checks=tuple(checks))


# Which call of a step makes a class wrong, where the steps that it calls are right.


@dataclass(frozen=True)
class CallTracing:
    """Looks for the wrong call in the layers of one submission; `steps` are the verdicts on all."""

    reference: Reference
    respondent: Respondent
    steps: Sequence[StepVerdict]

    def traced(self, layer: StepVerdict, question: CheckQuestion) -> StepVerdict:
        """Return the verdict on a layer that fails a `question`, told by the call that is wrong."""
        failing, code = layer.failing, self.respondent
        if failing is None or failing.finding is None or failing.outcome not in TOLD:
            return layer
        if not isinstance(code, ReadableRespondent) or not isinstance(code, Watchable):
            return layer
        example = self._example(failing, question)
        text = LayerCode.of_cells(code.cells)
        forms = {name: self.reference.form(name) for name in self.reference.functions}
        traced = TracedLayer(example, KnownSteps(forms, forms), code, text, TimeLeft(SECONDS))
        try:
            told = self._told(traced, failing.finding)
        except TooLong:
            return layer
        if told is None:
            return layer
        named = replace(told, misconception=failing.finding.misconception)
        return retold(layer, lambda finding: named)

    def _told(self, layer: TracedLayer, finding: Finding) -> Finding | None:
        right = {step.name for step in self.steps if step.passes and not step.leaning}
        if not layer.seen.calls or not layer.seen.reached <= right:
            return None
        known = self.reference.misconceptions
        names = (finding.misconception or "").split(PAIR)
        about = next((each.step for each in known if each.name in names), "")
        return layer.told(finding, "" if about in self.reference.layers else about)

    def _example(self, failing: CheckVerdict, question: CheckQuestion) -> Example:
        request, expectation = question.request, question.expectation
        asked = Example(request.target, failing.name, failing.title, request, expectation, ())
        plain = plainly(asked)
        return replace(plain, calls=self.reference.calls(plain.request))


def end_to_end(
    chain: ChainVerdict, steps: Iterable[StepVerdict], layers: Sequence[str]
) -> ChainVerdict:
    """Return the verdict on the whole: the student's own `layers` with the student's own steps.

    The chain passes only if they do, with the student's own steps. Whatever is wrong before them
    was found on the way.
    """
    known = tuple(steps)
    if chain.outcome is not Outcome.PASSED:
        return _begun_before(chain, known)
    for layer in (step for step in known if step.name in layers):
        if not layer.passes:
            return ChainVerdict(layer.outcome, layer.name, layer.finding)
        if layer.leaning:
            cause = next((step for step in known if step.finding), layer)
            fact = f"Your `{layer.name}` is not right with your own steps."
            finding = cause.finding or Finding(Outcome.WRONG_VALUES, fact)
            return ChainVerdict(finding.outcome, cause.name, finding)
    return chain


def _begun_before(chain: ChainVerdict, steps: Sequence[StepVerdict]) -> ChainVerdict:
    """Return the verdict on a chain with the step where it goes wrong, though unseen there.

    That is one before a step which passes, which is wrong with what a right layer passes to it.
    """
    for step in steps:
        if step.name == chain.breaks_at:
            break
        if step.failing and step.failing.name == IN_THE_LAYER and step.finding:
            return ChainVerdict(step.finding.outcome, step.name, step.finding)
    return chain


# The student's own class as a whole: how it does by itself, and which steps it proves.
#
# Somebody who writes only the class has done the work of its steps. What a right class proves is
# not listed anywhere: a known mistake of a step is put into the reference, and when the checks of
# the class see it, a class that passes them does that step.

# Says whether the checks of a step find something wrong in what a respondent answers.
Sees = Callable[[Step, Respondent], bool]
_CONSTANT = 0.5  # neither 0 nor 1, which a mask may rightly hold


@dataclass(frozen=True)
class WholeLayer:
    """The class that an exercise ends in, and the steps that its checks prove."""

    reference: Reference
    sees: Sees
    _proven: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    @property
    def step(self) -> Step | None:
        """The step that asks for the class: the first one worth points; None without a class."""
        steps, layers = self.reference.exercise.steps, self.reference.layers
        classes = [step for step in steps if step.name in layers]
        return next((step for step in classes if step.points), next(iter(classes), None))

    def verdict(self, steps: Iterable[StepVerdict]) -> LayerVerdict | None:
        """Return how the student's own class does; with the reference's steps it is not its own."""
        own = next((step for step in steps if self.step and step.name == self.step.name), None)
        if own is None or own.leaning:
            return None
        return LayerVerdict(own.name, own.outcome)

    def credited(
        self, steps: tuple[StepVerdict, ...], faulty: Collection[str] = ()
    ) -> tuple[StepVerdict, ...]:
        """Give the points of steps that are not written to a right layer that does their work.

        So they are given where the layer would be right but for the work of the steps in `faulty`.
        A step that is written and wrong keeps what its own checks say.
        """
        layer = self.verdict(steps)
        if layer is None or not (layer.is_right or faulty):
            return steps
        return tuple(
            self._credited(step) if self._is_open(step) and step.name not in faulty else step
            for step in steps
        )

    def proves(self, name: str) -> bool:
        """Say whether a class that passes its own checks does the work of the step `name`."""
        if name not in self._proven:
            wrongs = self._wrongs(name)
            self._proven[name] = any(self._is_seen(name, wrong) for wrong in wrongs)
        return self._proven[name]

    def _credited(self, step: StepVerdict) -> StepVerdict:
        if not self.proves(step.name):
            return step
        facts = self.reference.exercise.step(step.name)
        return StepVerdict.of(facts, step.checks, step.leaning, by_layer=True)

    def _is_open(self, step: StepVerdict) -> bool:
        """Whether a step is worth points and was never written."""
        is_function = step.name not in self.reference.layers
        return step.never_written and step.max_points > 0 and is_function

    def _is_seen(self, name: str, wrong: Any) -> bool:
        assert self.step
        respondent = self.reference.apart  # what is expected comes from the other one
        with respondent.replaced({name: wrong}):
            return self.sees(self.step, respondent)

    def _wrongs(self, name: str) -> Iterator[Any]:
        """What can stand in the place of a step: its known mistakes, then a constant result."""
        known = self.reference.misconceptions
        yield from (mistake.wrong for mistake in known if mistake.step == name)
        yield _constant(getattr(self.reference.module, name))


def _constant(function: Callable[..., Any]) -> Callable[..., Any]:
    """A step that gives results of the right shapes which hold one number everywhere."""
    return lambda *arguments, **keywords: _filled(function(*arguments, **keywords))


def _filled(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_filled, value))
    if isinstance(value, np.ndarray):
        return np.full_like(value, _CONSTANT, dtype=float)
    if hasattr(value, "new_full"):  # a tensor
        return value.new_full(value.shape, _CONSTANT)
    return None


# The student's own steps, one after the other, end to end.
#
# The chain is the reference's own class with its step functions replaced by calls of the
# student's: the order of the steps stands in `solution.py` and nowhere else.

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
                fact = _first_wrong(step, there.outcome)
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


def _first_wrong(step: str, outcome: Outcome = Outcome.WRONG_VALUES) -> str:
    if outcome is Outcome.NOT_WRITTEN:
        return f"{_TOGETHER} stop at `{step}`, which is not written yet."
    return f"{_TOGETHER} first go wrong at `{step}`."


def broken_by(step: StepVerdict) -> ChainVerdict:
    """The verdict on a chain that would never end because of a step."""
    fact = _first_wrong(step.name, step.outcome)
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
