"""Which of a learner's steps, or which call of one, makes the learner's layer wrong, at home.

A step is blamed for its own checks alone, and whatever calls one that fails them waits for it.
Where all steps that a layer calls pass, its calls are compared with the right ones, and the first
is told that cures the layer when it is answered right.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

from autograder.judging.asking import AskedExample, ask_example, is_asked_after, settled
from autograder.judging.compare import ResultSpec, is_near
from autograder.judging.examples import Example
from autograder.judging.expectation import (
    ADDED_FACT,
    Agrees,
    Refused,
    judge,
    with_attributes,
)
from autograder.tracing.call_words import mask_words
from autograder.tracing.calls import MatchedCalls, gets_expected
from autograder.tracing.layer_code import LayerCode, with_added_names, with_class_words
from autograder.tracing.traced_layer import (
    SECONDS,
    TOLD,
    KnownSteps,
    LayerCalls,
    Spoiler,
    TimeLeft,
    TooLong,
    TracedLayer,
    WrongStep,
    bare,
    in_one_place,
    nameless,
    placed_call,
    plainly,
    right_by_itself,
    waiting,
)
from autograder.values.request import Reply, Request, Returned, Watchable
from autograder.values.verdict import CheckVerdict, Finding, Outcome
from autograder.worker.call import BOOLEANS, CORRECTED, StandIn

_MAY_WAIT = (*TOLD, Outcome.NOT_WRITTEN)


@dataclass
class LayerBlame:
    """Finds the fault of a layer among the learner's own steps, which are in `namespace`.

    `examples` are those of the whole exercise, and `respondent` gives who answers for a step.
    """

    namespace: dict[str, Any]
    library: str
    examples: Sequence[Example]
    respondent: Callable[[str], Watchable]
    _known: dict[str, Finding | None] = field(default_factory=dict)
    # The checks that steps fail which pass all of their own, by the names of the steps.
    charged: dict[str, CheckVerdict] = field(default_factory=dict)
    _spoilers: dict[str, Spoiler] = field(default_factory=dict)
    _left: TimeLeft = field(default_factory=TimeLeft)

    def told(self, asked: Sequence[AskedExample]) -> tuple[AskedExample, ...]:
        """Return the answered examples with what is at fault: an earlier step, or a call."""
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
            self._left = TimeLeft(SECONDS)
            with suppress(TooLong):
                self._look_for_spoiler(asked)
            self._left = TimeLeft(SECONDS)
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
        except TooLong:
            return asked.finding

    def _told(self, asked: AskedExample) -> Finding | None:
        finding, example = asked.finding, asked.example
        if finding is None or finding.outcome not in _MAY_WAIT:
            return finding
        layer = self._traced(plainly(example))
        wrong = self._wrong_step(layer.seen.reached, before=example.step)
        if example.request.method is None:
            return waiting(finding, wrong, example.step) if wrong else finding
        method = example.request.method or "__init__"
        if finding.outcome in TOLD:
            finding = self._of_class(finding, asked)
        if wrong:
            return waiting(finding, wrong, method)
        parent = self._wrong_parent(example)
        if parent:
            return waiting(finding, parent, example.request.target)
        if finding.outcome not in TOLD:
            return finding
        mistake = (each for each in example.known if each.name == finding.misconception)
        step = next((each.step for each in mistake), "")  # "" for one of the layer itself
        if told := layer.told(finding, step):
            return told
        calls = layer.seen.calls
        if step and finding.outcome is Outcome.RAISED:
            # It may have a call of the step that it did not come to.
            later = calls and self._code.calling_line(example.request.target, step)
            if later or step in layer.seen.reached:
                return placed_call(bare(finding), calls)
        elif step and not self._own_finding(step):
            return right_by_itself(finding, (step,))
        if step:
            return in_one_place(finding, step, method)
        return placed_call(finding, calls)

    def _look_for_spoiler(self, asked: Sequence[AskedExample]) -> None:
        """Note the first step that passes its own checks and yet makes the layer wrong, if any.

        As in class, it is asked alone what a right layer passes to it, and what the learner's own
        steps give it. With what is expected in its place, the layer is right. Where that cannot be
        tried, because the calls hold too much to be written down or gradients are asked, the layer
        is nearly right. One answer of each outcome and precision is looked at.
        """
        kinds: dict[tuple[Outcome, str], AskedExample] = {}
        for each in asked:
            if each.finding and each.finding.outcome in TOLD:
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
        forms, demand = self._steps.forms, self._left.demand
        passed = _ExampleCalls(self.library, example, forms, self.respondent, demand)
        likely = self._is_nearly_right(asked)
        spoilers = passed.spoilers(example.step, passed.steps)
        for each in chain(spoilers, self._in_own_calls(asked.example, passed)):
            # What raises ends the first call, and sends no gradients back.
            raised = each.fault.outcome is Outcome.RAISED
            shown = _first_values(example, asked.example) if raised else asked.example
            if (each.is_small and likely) or self._is_cured_by(each.step, shown):
                return None if self._own_finding(each.step) else each
        return None

    def _in_own_calls(self, example: Example, passed: _ExampleCalls) -> Iterator[Spoiler]:
        """Give the steps that are wrong with what the learner's other steps give them."""
        layer = self._traced(example)
        own, right = layer.seen.calls, passed.example.calls
        pairs = MatchedCalls.of(own, right).pairs.items()
        fitting = {
            number: right[at] for number, at in pairs if gets_expected(own, number, right[at])
        }
        calls = tuple(
            replace(call, arguments=own[number].arguments) for number, call in fitting.items()
        )
        asking = replace(passed, example=replace(passed.example, calls=calls))
        for step in passed.steps:
            if any(self._own_finding(call.step) for call in own if call.step != step):
                continue  # what it is given may be wrong by that one
            found = asking.fault(step)
            for number in [n for n in fitting if own[n].step == step] if found else ():
                words = mask_words(own[number], own, self._code.inverts(step))
                if words and layer.is_right_with({number: StandIn(BOOLEANS)}):
                    found = Finding(Outcome.WRONG_VALUES, words[0], look=words[1])
                    break
            if found:
                yield Spoiler(step, found, "what your other steps give")

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
        layer = self._traced(example)
        if judge(example.expectation, example.request, layer.seen.reply, ()) is None:
            return False
        pairs = MatchedCalls.of(layer.seen.calls, example.calls).pairs
        stand_ins = {
            number: StandIn(CORRECTED, example.calls[place].result)
            for number, place in pairs.items()
            if example.calls[place].step == step
        }
        return bool(stand_ins) and layer.is_right_with(stand_ins)

    def _of_class(self, finding: Finding, asked: AskedExample) -> Finding:
        """Return a finding with what its class says of it."""
        request = asked.example.request
        if finding.fact == ADDED_FACT:
            listing = replace(request, method="", read=("*",), backward=None, earlier=())
            listed = self.respondent(asked.example.step).ask(listing)
            return with_added_names(finding, listed, request.attributes)
        return with_class_words(finding, self._code, asked)

    def _traced(self, example: Example) -> TracedLayer:
        respondent = self.respondent(example.step)
        return TracedLayer(example, self._steps, respondent, self._code, self._left)

    @cached_property
    def _steps(self) -> KnownSteps:
        forms: dict[str, ResultSpec] = {}
        for each in self.examples:
            if each.request.method is None and not isinstance(each.expectation, Refused):
                forms.setdefault(each.step, each.expectation.form)
        return KnownSteps(forms, {call.step for each in self.examples for call in each.calls})

    @cached_property
    def _code(self) -> LayerCode:
        return LayerCode.of_names(self.namespace)

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
        bases = self._code.inherited(example.request.target)
        wrong = self._wrong_step(bases, before=example.step)
        return wrong and replace(wrong, use="builds on")

    def _own_finding(self, name: str) -> Finding | None:
        answers: list[AskedExample] = []
        respondent = self.respondent(name)
        for example in (each for each in self.examples if each.step == name):
            if not is_asked_after(example, answers):
                break
            self._left.demand()
            answers.append(ask_example(example, respondent))
        return next((each.finding for each in settled(answers) if each.finding), None)


@dataclass(frozen=True)
class _ExampleCalls(LayerCalls):
    """The calls that are written down in an `example` of a layer; `demand` demands time."""

    example: Example
    forms: Mapping[str, ResultSpec]
    respondent: Callable[[str], Watchable]
    demand: Callable[[], None]

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

    def expectation(self, request: Request) -> Agrees | None:
        """Return what is expected of a call, None for what is drawn anew each time."""
        calls = zip(self.calls, self.example.calls)
        right = next(call.result for each, call in calls if each.arguments is request.arguments)
        form = replace(self.forms[request.target], precision=request.dtype)
        return None if right is None else Agrees(right, form)

    def begin_afresh(self) -> None:
        """Demand time for it: there is one process."""
        self.demand()


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
