"""Which call of a step makes a layer wrong: the first one that matters, seen by curing it.

A call is cured when somebody else answers it right. Who is blamed is the first call that gets
something wrong, though a later one may have to be cured as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.judging.call_deviation import CallDeviation, alike
from autograder.judging.deviation_words import DeviationWords, Told, mask_words, with_booleans
from autograder.judging.expectation import Agrees
from autograder.judging.inprocess import copied
from autograder.judging.layer_calls import LayerCall, StandIn
from autograder.model.request import Returned
from autograder.model.verdict import Finding
from autograder.protocol.arrays import to_library
from autograder.protocol.wire import Value

# What a layer does after its last call of a step: what it returns in place of the result.

_ORDINALS = ("first", "second", "third", "fourth")


def ending_words(words: DeviationWords, finding: Finding, returned: Value) -> Told | None:
    """Return what happens after right calls, or None if not even that is known."""
    last = next((call for call in reversed(words.own) if alike(returned, call.result)), None)
    if last and words.uncalled:
        fact = f"Your layer returns what `{last.step}` gives in line {last.line}."
        return f"{fact} It does not call `{words.uncalled[-1]}`.", "What is left to do?"
    final = words.own[-1]
    expectation = words.example.expectation
    ends_so = isinstance(expectation, Agrees) and alike(final.result, expectation.expected)
    if words.matched.missing or last or not ends_so:
        return None
    right = f"All calls are right up to `{final.step}` in line {final.line}"
    if not isinstance(returned, np.ndarray):
        return f"{right}. {finding.fact}", _part(final, returned) or finding.look
    doubled = isinstance(final.result, np.ndarray) and alike(returned, 2 * final.result)
    added = "" if doubled else words.difference(returned, final.result)
    if not finding.vague and not finding.misconception and not added:
        return f"{right}. {finding.fact}", finding.look
    fact = f"{right}, but what your layer returns is not what that call gives."
    if added:
        fact = f"{fact} It is that plus {added}."
    return fact, "What does your layer do with that result?"


def _part(final: LayerCall, returned: Value) -> str:
    """Say which part of a tuple is the result."""
    parts = returned if isinstance(returned, tuple) else ()
    places = (place for place, part in enumerate(parts) if alike(part, final.result))
    place = next(places, None)
    if place is None:
        return ""
    if len(parts) == 1:
        return f"In it is what `{final.step}` gives. What puts that into a list or tuple?"
    which = f"The {_ORDINALS[place]}" if place < len(_ORDINALS) else f"Number {place + 1}"
    return f"{which} of them is what `{final.step}` gives. What are the others for?"


@dataclass(frozen=True)
class CallBlame:
    """Finds the wrong call of a layer whose calls `words` describes.

    `cures` says whether the layer is right when a call, by its number, is answered by somebody
    else, and `calls_with` gives the calls that it makes then. The learner's steps are in
    `namespace`. Where a known mistake of the layer itself, or another cause, was seen, that is
    `named`: only exact words outdo it.
    """

    words: DeviationWords
    cures: Callable[[int, StandIn], bool]
    calls_with: Callable[[int, StandIn], Sequence[LayerCall]]
    namespace: dict[str, Any]
    library: str
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
            if order and self.cures(number, _answered_in(order)):
                return self.words.unpacked(call)
        return None

    def _of_other_case(self) -> Told | None:
        """Return the words for a call that ends the layer, and belongs to other questions."""
        last, words = self.words.own[-1], self.words
        if last.answered or not last.bound:
            return None
        here = {call.step for call in words.example.calls}
        elsewhere = {call.step for each in words.origin.examples for call in each.calls}
        return words.in_other_case(last) if last.step in elsewhere - here else None

    def _of_more_calls(self) -> Told | None:
        for number in self.words.matched.more:
            if self.cures(number, _first_argument):
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
        calls = self.calls_with(first.number, stand_in)[later.number :] if stand_in else ()
        if not calls or calls[0].step != later.own.step or not calls[0].bound:
            return False
        pairs = list(zip(calls[0].arguments, later.right.arguments))
        return any(alike(*pairs[n]) for n in later.places if n < len(pairs))

    def _of_cured(self, deviation: CallDeviation) -> Told | None:
        """Return the words for a call whose right answer cures the layer, else None."""
        if self.named and not self.words.is_exact(deviation):
            return None
        if not deviation.places and self.cures(deviation.number, with_booleans):
            function = self.namespace.get(deviation.own.step)
            if words := mask_words(deviation.own, self.words.own, function):
                return words
        stand_in = self._stand_in(deviation)
        cured = stand_in is not None and self.cures(deviation.number, stand_in)
        return self.words.cured(deviation) if cured else None

    def _stand_in(self, deviation: CallDeviation) -> StandIn | None:
        """Return what may stand in the place of a call: what is right, as far as it is known."""
        right, order = deviation.right, deviation.order
        if right.result is not None:
            return lambda function, *given: to_library(copied(right.result), self.library)
        if order:
            return lambda function, *given: function(*_reordered(given, order))
        return None

    def _of_ending(self, finding: Finding) -> Told | None:
        """Return what the layer does after its calls, if all of them are right."""
        request, reply = self.words.example.request, self.words.reply
        if self.named or self.words.matched.effective or not isinstance(reply, Returned):
            return None
        if request.read or not request.method:
            return None
        return ending_words(self.words, finding, reply.value)


def _answered_in(order: Sequence[int]) -> StandIn:
    """Return who calls a step, and gives its results in another order."""

    def stand_in(function: Callable[..., Any], *given: Any) -> Any:
        results = list(function(*given))
        return tuple(results[place] for place in order)

    return stand_in


def _reordered(given: Sequence[Any], order: Sequence[int]) -> list[Any]:
    return [given[order.index(place)] for place in range(len(order))]


def _first_argument(function: Callable[..., Any], *given: Any) -> Any:
    return given[0]
