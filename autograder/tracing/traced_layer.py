"""Which call of a step makes a layer wrong: the first one that matters, seen by curing it.

A call is cured when somebody else answers it right. Who is blamed is the first call that gets
something wrong, though a later one may have to be cured as well.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from autograder.judging.compare import ResultSpec, compare
from autograder.judging.conditions import INFLUENCE, without_conditions
from autograder.judging.examples import Example
from autograder.judging.expectation import Agrees, judge
from autograder.tracing.call_words import DeviationWords, Told, ending_words, mask_words
from autograder.tracing.calls import CallDeviation, MatchedCalls, ValueOrigin, alike
from autograder.tracing.layer_code import LayerCode, wrong_size
from autograder.tracing.wrong_step import placed_call, reworded, without_way_back
from autograder.values.request import Failed, Reply, Returned, Watchable, Watched
from autograder.values.verdict import Finding, Outcome
from autograder.worker.call import (
    ANSWER,
    ARGUMENTS,
    BOOLEANS,
    FIRST,
    RESULTS,
    StandIn,
)
from autograder.worker.wire import Value

# What may be wrong inside a layer, and not in what keeps it from running at all.
TOLD = (Outcome.WRONG_VALUES, Outcome.WRONG_SHAPE, Outcome.WRONG_TYPE, Outcome.RAISED)


SECONDS = 3.0  # for the steps of a layer, and for its calls; each idea runs the code once more


class TooLong(Exception):
    """The code is slow, and there is more to try."""


class TimeLeft:
    """The end of the time that looking for a fault may take."""

    def __init__(self, seconds: float = math.inf) -> None:
        self._end = time.monotonic() + seconds

    def demand(self) -> None:
        """Raise `TooLong` if there is no time left."""
        if time.monotonic() > self._end:
            raise TooLong


@dataclass(frozen=True)
class KnownSteps:
    """The steps that are functions, in order, with the `forms` of their results.

    `elsewhere` are those that right layers call when they are asked other questions.
    """

    forms: Mapping[str, ResultSpec]
    elsewhere: Collection[str]


@dataclass(frozen=True)
class TracedLayer:
    """A learner's layer that is asked one question, again and again, with its calls of steps.

    The `example` holds the calls of a right layer. `code` is the text of the learner's.
    """

    example: Example
    steps: KnownSteps
    respondent: Watchable
    code: LayerCode
    left: TimeLeft

    @cached_property
    def seen(self) -> Watched:
        """What the layer answers, and the calls that it makes meanwhile."""
        return self.watched({})

    def watched(self, stand_ins: Mapping[int, StandIn]) -> Watched:
        """Return what is seen when some of its calls, by number, are answered otherwise."""
        self.left.demand()
        return self.respondent.watch(self.example.request, tuple(self.steps.forms), stand_ins)

    def is_right_with(self, stand_ins: Mapping[int, StandIn]) -> bool:
        """Say whether the layer is right when some of its calls are answered otherwise."""
        return self._is_right(self.watched(stand_ins).reply)

    def told(self, finding: Finding, mistake: str) -> Finding | None:
        """Return the finding with the call, or the size, that makes the layer wrong.

        It may have named a mistake in the step `mistake`, "" for one of the layer itself, which
        says more. None where nothing of that was seen.
        """
        calls, reply = self.seen.calls, self.seen.reply
        if self._is_right(reply):
            return None
        if self._has_right_values(reply):
            return finding
        if isinstance(reply, Returned) and self._has_no_way_back(reply):
            return without_way_back(finding, reply)
        told = self._of_calls(finding, mistake) or self._of_sizes()
        return placed_call(reworded(finding, *told), calls) if told else None

    def _is_right(self, reply: Reply) -> bool:
        return judge(self.example.expectation, self.example.request, reply, ()) is None

    def _has_right_values(self, reply: Reply) -> bool:
        """Say whether what is wrong is not in the numbers that the layer returns."""
        expected = self.example.expectation
        if not isinstance(expected, Agrees) or isinstance(reply, Failed):
            return False
        if self.example.request.read:
            return False
        return compare(reply.value, expected.expected, expected.form) is None

    def _has_no_way_back(self, reply: Returned) -> bool:
        """Say whether gradients are asked of what is no tensor, through which none can be sent."""
        request = self.example.request
        asked = request.backward is not None and bool(request.read)
        return asked and not isinstance(reply.value, np.ndarray)

    def _of_calls(self, finding: Finding, mistake: str) -> Told | None:
        """Return what is wrong with a call of a step, where that was seen."""
        own, reply = self.seen.calls, self.seen.reply
        if not own or not self.example.calls or (finding.misconception and not mistake):
            return None
        matched = MatchedCalls.of(own, self.example.calls)
        origin = ValueOrigin(self.example, self.steps.forms)
        words = DeviationWords(self.example, self.code, origin, own, matched, reply)
        uncalled = finding.misconception and mistake not in {call.step for call in own}
        caused = finding.cause and not INFLUENCE.match(finding.fact)
        return _CallBlame(self, words, bool(uncalled or caused)).told(finding)

    def _of_sizes(self) -> Told | None:
        """Return what is wrong with a size that the class keeps, if one is."""
        request = self.example.request

        def read(name: str) -> Value:
            asking = replace(request, method="", read=(name,), backward=None)
            self.left.demand()
            reply = self.respondent.ask(asking)
            return reply.attributes.get(name) if isinstance(reply, Returned) else None

        return wrong_size(self.code, request.target, self.example.calls, read)


def plainly(example: Example) -> Example:
    """Return an example without the conditions under which it is asked."""
    if not isinstance(example.expectation, Agrees) or example.request.read:
        return example
    request, expectation = without_conditions(example.request, example.expectation)
    return replace(example, request=request, expectation=expectation)


@dataclass(frozen=True)
class _CallBlame:
    """Finds the wrong call of a layer, which `words` describes.

    Where a known mistake in a step that it does not call, or another cause, was seen, that is
    `named`: only exact words outdo it.
    """

    layer: TracedLayer
    words: DeviationWords
    named: bool

    def told(self, finding: Finding) -> Told | None:
        """Return what is wrong with a call of a step, where that was seen."""
        return (
            self._of_unpacking()
            or self._of_other_case()
            or self._of_more_calls()
            or self._of_deviations()
            or self._of_ending(finding)
        )

    def _of_unpacking(self) -> Told | None:
        """Return the words for results that get each other's names, if that is all."""
        for number, call in enumerate(self.words.own):
            order = self.words.unpacked_order(call)
            if order and self._cures(number, StandIn(RESULTS, order=order)):
                return self.words.unpacked(call)
        return None

    def _of_other_case(self) -> Told | None:
        """Return the words for a call that ends the layer, and belongs to other questions."""
        last, words = self.words.own[-1], self.words
        if last.answered or not last.bound:
            return None
        here = {call.step for call in words.example.calls}
        elsewhere = last.step in self.layer.steps.elsewhere and last.step not in here
        return words.in_other_case(last) if elsewhere else None

    def _of_more_calls(self) -> Told | None:
        for number in self.words.matched.more:
            if self._cures(number, StandIn(FIRST)):
                return self.words.once_more(self.words.own[number])
        return None

    def _of_deviations(self) -> Told | None:
        """Return the words for the first wrong call that matters."""
        words = self.words
        effective = [each for each in words.matched.effective if each.is_comparable]
        for deviation in effective:
            first = effective[0]
            if words.is_raising(deviation):
                wrong = next((each for each in (first, deviation) if self._is_plain(each)), None)
                if wrong:
                    return words.given(wrong)
            told = self._of_cured(deviation)
            if told:
                return words.given(first) if self._outdoes(first, deviation) else told
            if deviation.changes_a_layer and deviation is first:
                return words.given(deviation)
        doubtless = effective and not self.named and words.is_beyond_doubt(effective[0])
        return words.given(effective[0]) if doubtless else None

    def _is_plain(self, deviation: CallDeviation) -> bool:
        """Say whether a call gets something that has a name."""
        return bool(deviation.places) and self.words.is_exact(deviation)

    def _outdoes(self, first: CallDeviation, cured: CallDeviation) -> bool:
        """Say whether the first call is to blame, though a later one cures the layer."""
        if first is cured or self.named or not first.places:
            return False
        return self.words.is_beyond_doubt(first) or self._leads_to(first, cured)

    def _leads_to(self, first: CallDeviation, later: CallDeviation) -> bool:
        """Say whether a later call gets more of what it should as soon as the first is right."""
        stand_in = self._stand_in(first)
        calls = self.layer.watched({first.number: stand_in}).calls if stand_in else ()
        calls = calls[later.number :]
        if not calls or calls[0].step != later.own.step or not calls[0].bound:
            return False
        pairs = list(zip(calls[0].arguments, later.right.arguments))
        return any(alike(*pairs[n]) for n in later.places if n < len(pairs))

    def _of_cured(self, deviation: CallDeviation) -> Told | None:
        """Return the words for a call whose right answer cures the layer, else None."""
        if self.named and not self.words.is_exact(deviation):
            return None
        if not deviation.places and self._cures(deviation.number, StandIn(BOOLEANS)):
            inverts = self.layer.code.inverts(deviation.own.step)
            if words := mask_words(deviation.own, self.words.own, inverts):
                return words
        stand_in = self._stand_in(deviation)
        cured = stand_in is not None and self._cures(deviation.number, stand_in)
        return self.words.cured(deviation) if cured else None

    def _cures(self, number: int, stand_in: StandIn) -> bool:
        """Say whether the layer is right when one of its calls is answered by somebody else."""
        return self.layer.is_right_with({number: stand_in})

    def _stand_in(self, deviation: CallDeviation) -> StandIn | None:
        """Return what may stand in the place of a call: what is right, as far as it is known."""
        if deviation.right.result is not None:
            return StandIn(ANSWER, deviation.right.result)
        return StandIn(ARGUMENTS, order=deviation.order) if deviation.order else None

    def _of_ending(self, finding: Finding) -> Told | None:
        """Return what the layer does after its calls, if all of them are right."""
        request, reply = self.words.example.request, self.words.reply
        if self.named or self.words.matched.effective or not isinstance(reply, Returned):
            return None
        if request.read or not request.method:
            return None
        return ending_words(self.words, finding, reply.value)
