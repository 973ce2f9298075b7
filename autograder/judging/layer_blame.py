"""Which of a learner's steps, or which call of one, makes the learner's layer wrong.

A step is blamed for its own checks alone. Where all pass, the calls that the layer makes are
compared with the right ones, and the first is told that cures the layer when it is answered right.
"""

from __future__ import annotations

import inspect
import math
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from typing import Any

from autograder.judging.asking import AskedExample, ask_example, is_asked_after, settled
from autograder.judging.blame_findings import (
    in_one_place,
    of_step,
    placed_call,
    reworded,
    without_name,
)
from autograder.judging.call_deviation import CallDeviation, MatchedCalls
from autograder.judging.conditions import without_conditions
from autograder.judging.deviation_words import DeviationWords, Told
from autograder.judging.examples import Example
from autograder.judging.expectation import Agrees, Refused, judge
from autograder.judging.inprocess import copied
from autograder.judging.layer_calls import CallRecorder, LayerCall, StandIn
from autograder.model.request import Failed, Reply, Respondent, Returned
from autograder.model.verdict import Finding, Outcome
from autograder.protocol.arrays import to_library

_TOLD = (Outcome.WRONG_VALUES, Outcome.WRONG_SHAPE, Outcome.WRONG_TYPE, Outcome.RAISED)
_REFUSING = re.compile(r"\b(assert|raise)\b")
_SECONDS = 3.0  # that may be spent on one layer; the code runs once more for each idea


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
    _end: float = math.inf

    def told(self, asked: Sequence[AskedExample]) -> tuple[AskedExample, ...]:
        """Return the answered examples of a layer with what is at fault; a function's as it is."""
        self._end = time.monotonic() + _SECONDS
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
            return tuple(replace(each, finding=self._told_in_time(each)) for each in asked)

    def _told_in_time(self, asked: AskedExample) -> Finding | None:
        """Return what is told of one example; where that takes too long, its finding stays."""
        try:
            return self._told(asked)
        except _TooLong:
            return asked.finding

    def _told(self, asked: AskedExample) -> Finding | None:
        finding, example = asked.finding, asked.example
        if finding is None or finding.outcome not in _TOLD or example.request.method is None:
            return finding
        method = example.request.method or "__init__"
        finding = self._with_sizes(finding, asked)
        plain = _plainly(example)
        recorder = self._recorder({})
        reply = self._asked(plain, recorder)
        wrong = self._wrong_step(recorder.reached)
        if wrong:
            return of_step(finding, *wrong, method)
        step = _step_of(example, finding.misconception)
        mistake = finding.misconception is not None and step not in recorder.reached
        if judge(plain.expectation, plain.request, reply, ()):
            told = self._of_calls(plain, recorder.calls, reply, named=mistake or finding.cause)
            if told:
                return placed_call(reworded(finding, *told), recorder.calls)
        if step and step in recorder.reached:
            return without_name(finding, method)
        if step:
            return in_one_place(finding, step, method)
        return placed_call(finding, recorder.calls)

    def _with_sizes(self, finding: Finding, asked: AskedExample) -> Finding:
        """Say which numbers a class refuses that it has to take."""
        exception = asked.reply.exception if isinstance(asked.reply, Failed) else None
        expects_it = isinstance(asked.example.expectation, Refused)
        if exception is None or expects_it or not _REFUSING.search(exception.code):
            return finding
        made = self.namespace.get(asked.example.request.target)
        names = list(inspect.signature(made).parameters) if isinstance(made, type) else []
        given = zip(names, asked.example.request.arguments)
        sizes = [f"`{name}` is {value}" for name, value in given if type(value) is int]
        if not sizes:
            return finding
        look = f"Here {' and '.join(sizes)}, which the layer has to take."
        return replace(finding, look=look)

    def _recorder(self, stand_ins: Mapping[int, StandIn]) -> CallRecorder:
        steps = dict.fromkeys(each.step for each in self.examples if each.request.method is None)
        return CallRecorder(self.namespace, tuple(steps), self.library, stand_ins)

    def _asked(self, example: Example, recorder: CallRecorder) -> Reply:
        self._demand_time()
        with recorder.recording():
            return self.respondent(example.step).ask(example.request)

    def _cures(self, example: Example, number: int, stand_in: StandIn) -> bool:
        """Say whether the layer is right when one of its calls is answered by somebody else."""
        reply = self._asked(example, self._recorder({number: stand_in}))
        return judge(example.expectation, example.request, reply, ()) is None

    def _wrong_step(self, reached: set[str]) -> tuple[str, Finding] | None:
        """Return the first step that was called and fails its own check, and what that says."""
        steps = dict.fromkeys(each.step for each in self.examples if each.step in reached)
        for name in steps:
            if name not in self._known:
                self._known[name] = self._own_finding(name)
            finding = self._known[name]
            if finding:
                return name, finding
        return None

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

    def _of_calls(
        self, example: Example, own: Sequence[LayerCall], reply: Reply, named: bool
    ) -> Told | None:
        """Return what is wrong with a call of a step, where that was seen.

        With `named`, a known mistake of the layer itself, or another cause, was seen. Only exact
        words outdo that.
        """
        if not own or not example.calls:
            return None
        matched = MatchedCalls.of(own, example.calls)
        words = DeviationWords(example, self.examples, own, matched)
        for number in matched.more:
            if self._cures(example, number, _first_argument):
                return words.once_more(own[number])
        for deviation in matched.deviations:
            told = self._of_deviation(example, deviation, words)
            if told and (words.is_exact(deviation) or not named):
                return told
            if told is None and deviation.changes_a_layer and deviation is matched.deviations[0]:
                return words.cured(deviation, None, as_booleans=False)
        if named:
            return None
        if matched.deviations:
            return words.first_seen(matched.deviations[0])
        if not isinstance(reply, Returned) or example.request.read or not example.request.method:
            return None
        return words.at_the_end(reply.value)

    def _of_deviation(
        self, example: Example, deviation: CallDeviation, words: DeviationWords
    ) -> Told | None:
        """Return the words for a call whose right answer cures the layer, else None."""
        for number, stand_in in self._stand_ins(deviation):
            if self._cures(example, deviation.number, stand_in):
                function = self.namespace.get(deviation.own.step)
                return words.cured(deviation, function, as_booleans=number == 0)
        return None

    def _stand_ins(self, deviation: CallDeviation) -> Iterator[tuple[int, StandIn]]:
        """Give what may stand in the place of a call: the step with booleans, or what is right."""
        right, order = deviation.right, deviation.order
        if not deviation.places:
            yield 0, _with_booleans
        if right.result is not None:
            yield 1, lambda function, *given: to_library(copied(right.result), self.library)
        elif order:
            yield 1, lambda function, *given: function(*_reordered(given, order))


def _reordered(given: Sequence[Any], order: Sequence[int]) -> list[Any]:
    return [given[order.index(place)] for place in range(len(order))]


def _first_argument(function: Callable[..., Any], *given: Any) -> Any:
    return given[0]


def _with_booleans(function: Callable[..., Any], *given: Any) -> Any:
    return function(*(each.astype(bool) if _is_mask(each) else each for each in given))


def _is_mask(value: Any) -> bool:
    """Say whether a value is an array of NumPy that holds only 0 and 1, as numbers."""
    if not hasattr(value, "astype") or value.dtype.kind not in "iuf":
        return False
    return bool(((value == 0) | (value == 1)).all())


def _plainly(example: Example) -> Example:
    """Return an example without the conditions under which it is asked."""
    if not isinstance(example.expectation, Agrees) or example.request.read:
        return example
    request, expectation = without_conditions(example.request, example.expectation)
    return replace(example, request=request, expectation=expectation)


def _step_of(example: Example, name: str | None) -> str:
    """Return the step that a known mistake is about, "" for one of the layer itself."""
    return next((each.step for each in example.mistakes if each.name == name), "")
