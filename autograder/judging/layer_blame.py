"""Which of a learner's steps, or which call of one, makes the learner's layer wrong.

A step is blamed for its own checks alone, and whatever calls one that fails them waits for it.
Where all steps that a layer calls pass, its calls are compared with the right ones, and the first
is told that cures the layer when it is answered right.
"""

from __future__ import annotations

import difflib
import inspect
import math
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from autograder.judging.asking import AskedExample, ask_example, is_asked_after, settled
from autograder.judging.blame_findings import (
    LayerCalls,
    Spoiler,
    WrongStep,
    in_one_place,
    nameless,
    placed_call,
    reworded,
    waiting,
    without_name,
    without_way_back,
)
from autograder.judging.call_blame import CallBlame
from autograder.judging.call_deviation import MatchedCalls, ValueOrigin, gets_expected
from autograder.judging.compare import ResultSpec, compare, is_near, whole_number
from autograder.judging.conditions import explained, without_conditions
from autograder.judging.deviation_words import DeviationWords, Told, mask_words, with_booleans
from autograder.judging.examples import Example
from autograder.judging.expectation import (
    ADDED_FACT,
    Agrees,
    Expectation,
    Refused,
    judge,
    listed_names,
    with_attributes,
)
from autograder.judging.inprocess import copied
from autograder.judging.layer_calls import (
    CallRecorder,
    LayerCall,
    StandIn,
    asserted_tuple,
    calling_line,
    kept_names,
)
from autograder.model.request import ExceptionReport, Failed, Reply, Request, Respondent, Returned
from autograder.model.verdict import NO_ATTRIBUTE, CheckVerdict, Finding, Outcome
from autograder.protocol.arrays import to_library
from autograder.protocol.wire import Value

# What the class of a layer says about a finding: sizes it refuses, attributes it does not keep.

_REFUSING = re.compile(r"\b(assert|raise)\b")
# What the check says, and what Python says.
_ABSENT = re.compile(rf"{NO_ATTRIBUTE} `(\w+)`\.")
_UNKNOWN = re.compile(r"name '(\w+)' is not defined")
_LACKING = re.compile(r"'(\w+)' object has no attribute '(\w+)'")


def with_class_words(finding: Finding, made: type, asked: AskedExample) -> Finding:
    """Return a finding on a layer with what is seen in its class `made`, or as it is."""
    reply, example = asked.reply, asked.example
    if isinstance(example.expectation, Refused):
        return _always_true(finding, made) if isinstance(reply, Returned) else finding
    exception = reply.exception if isinstance(reply, Failed) else None
    if exception is None:
        absent = _ABSENT.fullmatch(finding.fact)
        taken = absent is not None and absent[1] in _parameters(made)
        return _not_kept(finding, made, absent[1]) if absent and taken else finding
    if _REFUSING.search(exception.code):
        return _refusing(finding, made, asked)
    return _lacking(finding, made, exception)


def wrong_size(
    made: type, calls: Iterable[LayerCall], read: Callable[[str], Value]
) -> tuple[str, str] | None:
    """Return what to say, and where to look, of a size that a class keeps and that is wrong.

    `calls` are the right ones: a size is named after what a step takes. `read` gives an attribute.
    """
    kept = kept_names(_init(made))
    for call in calls:
        for name, value in zip(call.names, call.arguments):
            wanted = whole_number(value)
            given = whole_number(read(name)) if name in kept and type(wanted) is int else wanted
            if type(given) is int and given != wanted:
                fact = f"After `__init__`, `self.{name}` is {given}, but as `{name}`, "
                fact += f"`{call.step}` is expected to get {wanted}."
                return fact, f"Which line sets `self.{name}`?"
    return None


def with_added_names(finding: Finding, listed: Reply, expected: Collection[str]) -> Finding:
    """Return the finding on added parameters with the attributes that hold them.

    `listed` answers with the names of all attributes, in which those of parameters come first: the
    layer's own, without a dot, and then those of the layers in it.
    """
    names = listed_names(listed.attributes.get("*")) if isinstance(listed, Returned) else ()
    last = max((place for place, name in enumerate(names) if "." in name), default=-1)
    added = [name.split(".")[0] for name in names[: last + 1] if name not in expected]
    kept = {name.split(".")[0] for name in expected}
    own = [f"`self.{name}`" for name in dict.fromkeys(added) if name not in kept]
    if not own:
        return finding
    fact = f"{finding.fact} They are in {' and '.join(own)}."
    return replace(finding, fact=fact)


def _parameters(made: type) -> list[str]:
    """Return what `__init__` takes, without `self`."""
    code = getattr(_init(made), "__code__", None)
    return list(inspect.signature(made).parameters) if code else []


def _refusing(finding: Finding, made: type, asked: AskedExample) -> Finding:
    """Say which numbers a class refuses that it has to take."""
    given = zip(_parameters(made), asked.example.request.arguments)
    sizes = [f"`{name}` is {value}" for name, value in given if type(value) is int]
    if not sizes:
        return finding
    look = f"Here {' and '.join(sizes)}, which the layer has to take."
    return replace(finding, look=look)


def _always_true(finding: Finding, made: type) -> Finding:
    """Say why sizes are not refused that an `assert` should refuse."""
    line = asserted_tuple(_init(made))
    if not line:
        return finding
    look = (
        f"Line {line} asserts a tuple, because of its parentheses. A tuple with something in it "
        "counts as true, so nothing is ever refused."
    )
    return replace(finding, look=look)


def _lacking(finding: Finding, made: type, exception: ExceptionReport) -> Finding:
    """Say why code of the class knows no name or attribute that it reads."""
    unknown = _UNKNOWN.search(exception.message)
    if unknown and unknown[1] in kept_names(_init(made)):
        look = f"`__init__` keeps it as `self.{unknown[1]}`."
        return replace(finding, look=look)
    found = _LACKING.search(exception.message)
    if found and found[1] == made.__name__:
        return _not_kept(finding, made, found[2])
    return finding


def _not_kept(finding: Finding, made: type, name: str) -> Finding:
    """Say why an instance lacks an attribute, where `__init__` tells."""
    kept = kept_names(_init(made))
    if name in kept:
        return finding
    if name in _parameters(made):
        look = f"`__init__` takes `{name}`, but nothing there sets `self.{name}`."
        return replace(finding, look=look)
    close = difflib.get_close_matches(name, kept, n=1)
    return replace(finding, look=f"Did you mean `self.{close[0]}`?") if close else finding


def _init(made: type) -> Any:
    return made.__init__  # type: ignore[misc]


_TOLD = (Outcome.WRONG_VALUES, Outcome.WRONG_SHAPE, Outcome.WRONG_TYPE, Outcome.RAISED)
_MAY_WAIT = (*_TOLD, Outcome.NOT_WRITTEN)
_SECONDS = 3.0  # for the steps of a layer, and for its calls; each idea runs the code once more


class _TooLong(Exception):
    """The code is slow, and there is more to try."""


@dataclass
class LayerBlame:
    """Finds the fault of a layer among the learner's own steps, which are in `namespace`.

    `examples` are those of the whole exercise, and `respondent` gives who answers for a step.
    """

    namespace: dict[str, Any]
    library: str
    examples: Sequence[Example]
    respondent: Callable[[str], Respondent]
    _known: dict[str, Finding | None] = field(default_factory=dict)
    # The checks that steps fail which pass all of their own, by the names of the steps.
    charged: dict[str, CheckVerdict] = field(default_factory=dict)
    _spoilers: dict[str, Spoiler] = field(default_factory=dict)
    _end: float = math.inf

    def told(self, asked: Sequence[AskedExample]) -> tuple[AskedExample, ...]:
        """Return the answered examples with what is at fault: an earlier step, or a call."""
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
            self._end = time.monotonic() + _SECONDS
            with suppress(_TooLong):
                self._look_for_spoiler(asked)
            self._end = time.monotonic() + _SECONDS
            told = [self._told_in_time(each) for each in asked]
        pairs = [(each.finding, new) for each, new in zip(asked, told) if each.finding and new]
        # Seen in one example, what is told there says more than the name does in the others.
        seen = {old.misconception for old, new in pairs if new.cause and not new.misconception}
        return tuple(
            replace(each, finding=nameless(new) if new and new.misconception in seen else new)
            for each, new in zip(asked, told)
        )

    def _told_in_time(self, asked: AskedExample) -> Finding | None:
        """Return what is told of one example; where that takes too long, its finding stays."""
        try:
            return self._told(asked)
        except _TooLong:
            return asked.finding

    def _told(self, asked: AskedExample) -> Finding | None:
        finding, example = asked.finding, asked.example
        if finding is None or finding.outcome not in _MAY_WAIT:
            return finding
        plain = _plainly(example)
        recorder = self._recorder({})
        reply = self._asked(plain, recorder)
        wrong = self._wrong_step(recorder.reached, before=example.step)
        if example.request.method is None:
            return waiting(finding, wrong, example.step) if wrong else finding
        method = example.request.method or "__init__"
        if finding.outcome in _TOLD:
            finding = self._of_class(finding, asked)
        if wrong:
            return waiting(finding, wrong, method)
        parent = self._wrong_parent(example)
        if parent:
            return waiting(finding, parent, example.request.target)
        if finding.outcome not in _TOLD:
            return finding
        step = _step_of(example, finding.misconception)
        if judge(plain.expectation, plain.request, reply, ()):
            if _has_right_values(plain, reply):
                return finding
            if isinstance(reply, Returned) and _has_no_way_back(plain, reply):
                return without_way_back(finding, reply)
            told = self._of_calls(plain, recorder.calls, reply, finding)
            told = told or self._of_sizes(example)
            if told:
                return placed_call(reworded(finding, *told), recorder.calls)
        if step and step in recorder.reached:
            return placed_call(without_name(finding, step, method), recorder.calls)
        raised = finding.outcome is Outcome.RAISED
        if step and raised and self._calls_later(example, step, recorder):
            return without_name(finding, step, method)
        if step:
            return in_one_place(finding, step, method)
        return placed_call(finding, recorder.calls)

    def _look_for_spoiler(self, asked: Sequence[AskedExample]) -> None:
        """Note the first step that passes its own checks and yet makes the layer wrong, if any.

        As in class, it is asked alone what a right layer passes to it, and what the learner's own
        steps give it. With what is expected in its place, the layer is right. Where that cannot be
        tried, because the calls hold too much to be written down or gradients are asked, the layer
        is nearly right. One answer of each outcome and precision is looked at.
        """
        kinds: dict[tuple[Outcome, str], AskedExample] = {}
        for each in asked:
            if each.finding and each.finding.outcome in _TOLD:
                kinds.setdefault((each.finding.outcome, each.example.request.dtype), each)
        for each in kinds.values():
            example = each.example if each.example.calls else self._with_calls(each.example)
            if spoiler := self._spoiler(each, example):
                self._spoilers[spoiler.step] = spoiler
                if each.finding:
                    shown = spoiler.verdict(each.example.step, each.finding)
                    self.charged[spoiler.step] = shown
                return

    def _spoiler(self, asked: AskedExample, example: Example) -> Spoiler | None:
        """Return the step at fault in one answer; `example` has the calls of a right layer."""
        passed = _ExampleCalls(example, self.examples, self.respondent, self.library)
        given = f"what a right `{example.step}` passes to it"
        likely = self._is_nearly_right(asked)
        ways: tuple[tuple[Callable[[str], Finding | None], str, bool], ...] = (
            (passed.fault, given, False),
            (passed.fault_in_other_orders, f"{given}, in another order in memory", False),
            (passed.small_fault, given, likely),
            (self._fault_in_own_calls(asked.example, passed), "what your other steps give", False),
        )
        for find, when, near in ways:
            for step in passed.steps:
                self._demand_time()
                fault = find(step)
                # What raises ends the first call, and sends no gradients back.
                raised = fault is not None and fault.outcome is Outcome.RAISED
                shown = _first_values(example, asked.example) if raised else asked.example
                if fault and (near or self._is_cured_by(step, shown)):
                    return Spoiler(step, fault, when) if not self._own_finding(step) else None
        return None

    def _fault_in_own_calls(
        self, example: Example, passed: _ExampleCalls
    ) -> Callable[[str], Finding | None]:
        """Return who finds what is wrong with a step that gets what the learner's steps give."""
        recorder = self._recorder({})
        self._asked(example, recorder)
        own, right = recorder.calls, passed.example.calls
        pairs = MatchedCalls.of(own, right).pairs.items()
        fitting = {
            number: right[at] for number, at in pairs if gets_expected(own, number, right[at])
        }
        calls = tuple(
            replace(call, arguments=own[number].arguments) for number, call in fitting.items()
        )
        asking = replace(passed, example=replace(passed.example, calls=calls))

        def fault(step: str) -> Finding | None:
            if any(self._own_finding(call.step) for call in own if call.step != step):
                return None  # what it is given may be wrong by that one
            found = asking.fault(step)
            for number in [n for n in fitting if own[n].step == step] if found else ():
                words = mask_words(own[number], own, self.namespace.get(step))
                if words and self._is_right(example, {number: with_booleans}):
                    fact, look = words
                    return Finding(Outcome.WRONG_VALUES, fact, look=look)
            return found

        return fault

    def _with_calls(self, example: Example) -> Example:
        """Return another example of the same layer, whose calls are written down."""
        own = (each for each in self.examples if each.step == example.step and each.calls)
        return next((each for each in own if not each.request.read), example)

    def _is_nearly_right(self, asked: AskedExample) -> bool:
        """Say whether an answer that no right call can cure is off by little."""
        request, expected, reply = asked.example.request, asked.example.expectation, asked.reply
        curable = asked.example.calls and request.backward is None
        if curable or not isinstance(expected, Agrees) or not isinstance(reply, Returned):
            return False
        given = with_attributes(request, reply)
        return isinstance(given, Returned) and is_near(given.value, expected.expected)

    def _is_cured_by(self, step: str, example: Example) -> bool:
        """Say whether the layer is right with the expected numbers in all results of a step."""
        recorder = self._recorder({})
        reply = self._asked(example, recorder)
        if judge(example.expectation, example.request, reply, ()) is None:
            return False
        pairs = MatchedCalls.of(recorder.calls, example.calls).pairs
        stand_ins = {
            number: _corrected(example.calls[place].result, self.library, example.request.dtype)
            for number, place in pairs.items()
            if example.calls[place].step == step
        }
        return bool(stand_ins) and self._is_right(example, stand_ins)

    def _of_calls(
        self, example: Example, own: Sequence[LayerCall], reply: Reply, finding: Finding
    ) -> Told | None:
        """Return what is wrong with a call of a step, where that was seen."""
        if not own or not example.calls:
            return None
        matched = MatchedCalls.of(own, example.calls)
        origin = ValueOrigin(example, self.examples)
        words = DeviationWords(example, origin, own, matched, reply)
        called = {call.step for call in own}
        mistake = finding.misconception and _step_of(example, finding.misconception) not in called
        named = bool(mistake or finding.cause)

        def cures(number: int, stand_in: StandIn) -> bool:
            return self._cures(example, number, stand_in)

        def calls_with(number: int, stand_in: StandIn) -> Sequence[LayerCall]:
            recorder = self._recorder({number: stand_in})
            self._asked(example, recorder)
            return recorder.calls

        return CallBlame(words, cures, calls_with, self.namespace, self.library, named).told(
            finding
        )

    def _calls_later(self, example: Example, step: str, recorder: CallRecorder) -> bool:
        """Say whether the layer has a call of a step that it did not come to."""
        file = recorder.calls[0].file if recorder.calls else ""
        return bool(file and calling_line(file, example.request.target, step))

    def _of_class(self, finding: Finding, asked: AskedExample) -> Finding:
        """Return a finding with what its class says of it."""
        request = asked.example.request
        made = self.namespace.get(request.target)
        if not isinstance(made, type):
            return finding
        if finding.fact == ADDED_FACT:
            listing = replace(request, method="", read=("*",), backward=None, earlier=())
            listed = self.respondent(asked.example.step).ask(listing)
            return with_added_names(finding, listed, request.attributes)
        return with_class_words(finding, made, asked)

    def _of_sizes(self, example: Example) -> Told | None:
        """Return what is wrong with a size that the class keeps, if one is."""
        made = self.namespace.get(example.request.target)
        if not isinstance(made, type):
            return None

        def read(name: str) -> Value:
            request = replace(example.request, method="", read=(name,), backward=None)
            reply = self.respondent(example.step).ask(request)
            return reply.attributes.get(name) if isinstance(reply, Returned) else None

        return wrong_size(made, example.calls, read)

    def _recorder(self, stand_ins: Mapping[int, StandIn]) -> CallRecorder:
        steps = dict.fromkeys(each.step for each in self.examples if each.request.method is None)
        return CallRecorder(self.namespace, tuple(steps), self.library, stand_ins)

    def _asked(self, example: Example, recorder: CallRecorder) -> Reply:
        self._demand_time()
        with recorder.recording():
            return self.respondent(example.step).ask(example.request)

    def _cures(self, example: Example, number: int, stand_in: StandIn) -> bool:
        """Say whether the layer is right when one of its calls is answered by somebody else."""
        return self._is_right(example, {number: stand_in})

    def _is_right(self, example: Example, stand_ins: Mapping[int, StandIn]) -> bool:
        reply = self._asked(example, self._recorder(stand_ins))
        return judge(example.expectation, example.request, reply, ()) is None

    def _wrong_step(self, reached: Collection[str], before: str) -> WrongStep | None:
        """Return the first step `before` another that was called and fails its own check."""
        for number, name in enumerate(dict.fromkeys(each.step for each in self.examples), start=1):
            if name == before:
                break
            if name in reached and name not in self._known:
                self._known[name] = self._own_finding(name)
            if name in reached and (finding := self._known[name]):
                return WrongStep(name, number, finding)
            if name in reached and (spoiler := self._spoilers.get(name)):
                return WrongStep(name, number, spoiler.fault, when=spoiler.when)
        return None

    def _wrong_parent(self, example: Example) -> WrongStep | None:
        """Return the first step that a class inherits its `__init__` from and that is wrong."""
        made = self.namespace.get(example.request.target)
        if not isinstance(made, type) or "__init__" in vars(made):
            return None
        bases = {base.__name__ for base in made.__mro__[1:]}
        wrong = self._wrong_step(bases, before=example.step)
        return wrong and replace(wrong, use="builds on")

    def _own_finding(self, name: str) -> Finding | None:
        answers: list[AskedExample] = []
        respondent = self.respondent(name)
        for example in (each for each in self.examples if each.step == name):
            if not is_asked_after(example, answers):
                break
            self._demand_time()
            answers.append(ask_example(example, respondent))
        return next((each.finding for each in settled(answers) if each.finding), None)

    def _demand_time(self) -> None:
        if time.monotonic() > self._end:
            raise _TooLong


@dataclass(frozen=True)
class _ExampleCalls(LayerCalls):
    """The calls that are written down in an `example` of a layer."""

    example: Example
    examples: Sequence[Example]
    respondent: Callable[[str], Respondent]
    library: str

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps that are called."""
        return tuple(dict.fromkeys(call.step for call in self.example.calls))

    @cached_property
    def calls(self) -> Sequence[Request]:
        """The calls, in the order of the layer."""
        dtype = self.example.request.dtype
        return [Request(call.step, call.arguments, dtype=dtype) for call in self.example.calls]

    def ask(self, request: Request) -> Reply:
        """Put a call to the learner's step."""
        return self.respondent(request.target).ask(request)

    def judged(self, request: Request, reply: Reply) -> Finding | None:
        """Return what is wrong with the answer to a call, None if nothing is."""
        right, form = self._result(request), self._form(request.target)
        if right is None:
            return None
        expected = Agrees(right, replace(form, precision=request.dtype))
        finding = judge(expected, request, reply, ())
        return finding and explained(finding, request, expected, self._asked_again)

    def _asked_again(self, request: Request, expectation: Expectation) -> Finding | None:
        return judge(expectation, request, self.ask(request), ())

    def right(self, request: Request) -> Value:
        """Return the numbers that a right step gives, None where it is not judged by these."""
        by_values = self._form(request.target).compare == "values"
        return self._result(request) if by_values else None

    def _result(self, request: Request) -> Value:
        calls = zip(self.calls, self.example.calls)
        return next(call.result for each, call in calls if each.arguments is request.arguments)

    @property
    def double(self) -> str:
        """The dtype of numbers in double precision, "" where they have it anyway."""
        return "float64" if self.library == "torch" else ""

    def begin_afresh(self) -> None:
        """Do nothing: there is one process."""

    def _form(self, step: str) -> ResultSpec:
        return next(each.expectation.form for each in self.examples if each.step == step)


def _corrected(right: Value, library: str, dtype: str) -> StandIn:
    """Return who calls a step, and makes its numbers right; gradients are the step's own."""

    def add(own: Any, wanted: Value) -> Any:
        if isinstance(wanted, tuple):
            parts = own if isinstance(own, tuple) and len(own) == len(wanted) else wanted
            return tuple(map(add, parts, wanted))
        numbers = to_library(copied(wanted), library, dtype)
        if library != "torch" or type(own) is not type(numbers) or own.shape != numbers.shape:
            return numbers
        return (own + (numbers - own.detach())).to(numbers.dtype)

    def answer(function: Callable[..., Any], *given: Any) -> Any:
        try:
            return add(function(*given), right)
        except Exception:  # what it raises is what is wrong with it
            return add(None, right)

    return answer


def _has_no_way_back(example: Example, reply: Returned) -> bool:
    """Say whether gradients are asked of what is no tensor, through which none can be sent."""
    asked = example.request.backward is not None and bool(example.request.read)
    return asked and not isinstance(reply.value, np.ndarray)


def _has_right_values(example: Example, reply: Reply) -> bool:
    """Say whether what is wrong is not in the numbers that the layer returns."""
    expectation = example.expectation
    if not isinstance(expectation, Agrees) or isinstance(reply, Failed) or example.request.read:
        return False
    return compare(reply.value, expectation.expected, expectation.form) is None


def _first_values(example: Example, asked: Example) -> Example:
    """Return an example whose input lies in memory as that of the one `asked`.

    It is without the gradients of its result, and without calls before or after.
    """
    expected = example.expectation
    if not isinstance(expected, Agrees) or example.request.read:
        return example
    expected = replace(expected, gradients=(), gradient_names=())
    layouts = asked.request.layouts
    request = replace(example.request, backward=None, earlier=(), layouts=layouts)
    return replace(example, request=request, expectation=expected)


def _plainly(example: Example) -> Example:
    """Return an example without the conditions under which it is asked."""
    if not isinstance(example.expectation, Agrees) or example.request.read:
        return example
    request, expectation = without_conditions(example.request, example.expectation)
    return replace(example, request=request, expectation=expectation)


def _step_of(example: Example, name: str | None) -> str:
    """Return the step that a known mistake is about, "" for one of the layer itself."""
    return next((each.step for each in example.mistakes if each.name == name), "")
