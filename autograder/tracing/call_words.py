"""The words for a call that a layer makes of a step in another way than the right layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from autograder.judging.compare import whole_number
from autograder.judging.examples import Example
from autograder.judging.expectation import Agrees
from autograder.judging.value_words import type_words
from autograder.tracing.calls import (
    CallDeviation,
    MatchedCalls,
    ValueOrigin,
    alike,
    array_words,
    factor,
    gives,
    small_error,
)
from autograder.tracing.layer_code import LayerCode, named_order
from autograder.values.request import Failed, Reply
from autograder.values.verdict import Finding
from autograder.worker.arrays import is_number_mask
from autograder.worker.call import LayerCall
from autograder.worker.wire import Linear, Value

Told = tuple[str, str]  # the fact, and where to look


@dataclass(frozen=True)
class DeviationWords:
    """Puts deviations of the `own` calls of a layer into words; `matched` are all of them.

    `reply` is what the layer answered when it made these calls, and `code` the text of it.
    """

    example: Example
    code: LayerCode
    origin: ValueOrigin
    own: Sequence[LayerCall]
    matched: MatchedCalls
    reply: Reply

    def is_exact(self, deviation: CallDeviation) -> bool:
        """Say whether what a call gets, and what is expected instead, have a name."""
        if not deviation.places or deviation.order:
            return True
        given, wanted = deviation.given, deviation.wanted
        if isinstance(whole_number(wanted), int | float | Linear):
            return True
        return bool(self.origin.name(given) and self.origin.name(wanted))

    def is_beyond_doubt(self, deviation: CallDeviation) -> bool:
        """Say whether a call is wrong, and not only part of another way to the same result.

        Such ways have the same numbers in other shapes, or scale them sooner or later.
        """
        if self.is_exact(deviation):
            return bool(deviation.places)
        given, wanted = deviation.given, deviation.wanted
        if not isinstance(given, np.ndarray) or not isinstance(wanted, np.ndarray):
            return bool(deviation.places)
        same_numbers = given.size == wanted.size and alike(given.reshape(wanted.shape), wanted)
        return not same_numbers and not (given.shape == wanted.shape and factor(given, wanted))

    def is_raising(self, deviation: CallDeviation) -> bool:
        """Say whether the layer ends in this very call, with an exception."""
        last = deviation.number == len(self.own) - 1
        return last and isinstance(self.reply, Failed) and not deviation.own.answered

    def cured(self, deviation: CallDeviation) -> Told | None:
        """Return the words for a call; with its right answer, the layer is right."""
        if deviation.places:
            return self.given(deviation)
        own = deviation.own
        if not own.answered:  # the exception says more
            return None
        if nearly := self._nearly_right(deviation):
            return nearly
        fact = (
            f"In line {own.line}, `{own.step}` gets the expected numbers, and gives others "
            "than expected, although it passes its own check."
        )
        return fact, "Does it depend on the type of the numbers, or on an earlier call?"

    def _nearly_right(self, deviation: CallDeviation) -> Told | None:
        """Return the words for a call that gets numbers which are off by very little, if it does.

        The layer makes more of that, so what it gets is not what is expected.
        """
        own, right = deviation.own, deviation.right
        for name, given, wanted in zip(own.names, own.arguments, right.arguments):
            if seen := small_error(given, wanted):
                fact = f"Line {own.line} calls `{own.step}`: what it gets as `{name}` is not quite "
                return f"{fact}what is expected.", seen.message
        return None

    def given(self, deviation: CallDeviation) -> Told:
        """Return what a call gets that is not as expected."""
        return self._exchanged(deviation) if deviation.order else self._other_value(deviation)

    def in_other_case(self, call: LayerCall) -> Told:
        """Return the words for a call that the right layer makes, but not of these arguments."""
        fact = f"Line {call.line} calls `{call.step}`, which is not expected with these arguments."
        return fact, "Under which condition is that step needed?"

    def once_more(self, call: LayerCall) -> Told:
        """Return the words for a call without which the layer is right."""
        fact = f"Line {call.line} calls `{call.step}` once more than is expected."
        return fact, "Without that call, your layer gives what is expected."

    def unpacked_order(self, call: LayerCall) -> tuple[int, ...]:
        """Return which result each name of an unpacking is named after, () where all fit."""
        order = self._named_order(call)
        return () if order == tuple(range(len(order))) else order

    def _named_order(self, call: LayerCall) -> tuple[int, ...]:
        names = self.code.unpacked_names(call)
        return named_order(names, self.origin.results_of(call.step))

    def unpacked(self, call: LayerCall) -> Told:
        """Return the words for results that get each other's names."""
        names = self.code.unpacked_names(call)
        listed = ", ".join(f"`{name}`" for name in names)
        fact = f"Line {call.line} unpacks the results of `{call.step}` as {listed}."
        return fact, f"In which order does `{call.step}` return them?"

    def _exchanged(self, deviation: CallDeviation) -> Told:
        own, order = deviation.own, deviation.order
        moved = [(own.names[to], own.names[at]) for to, at in enumerate(order) if to != at]
        first, second = moved[0]
        fact = (
            f"Line {own.line} calls `{own.step}` with its arguments in another order: as "
            f"`{first}` it gets what is expected as `{second}`."
        )
        look = f"In which order does `{own.step}` take its arguments"
        maker = self._giver([own.arguments[to] for to, at in enumerate(order) if to != at])
        if maker and not self._named_order(maker):
            look += f", and in which does `{maker.step}` give its results in line {maker.line}"
        return fact, f"{look}?"

    def _giver(self, values: Sequence[Value]) -> LayerCall | None:
        """Return the one call that gave all these values as its results, if there is one."""
        for call in self.own:
            if isinstance(call.result, tuple) and all(gives(call, each) for each in values):
                return call
        return None

    def _other_value(self, deviation: CallDeviation) -> Told:
        own, given, wanted = deviation.own, deviation.given, deviation.wanted
        name, expected = self.origin.name(given), self.origin.name(wanted)
        where = f"Line {own.line} calls `{own.step}`: as `{own.names[deviation.places[0]]}` it gets"
        if isinstance(whole_number(wanted), int | float):
            number = whole_number(given)
            plain = isinstance(number, int | float)
            what = str(number) if plain else type_words(number, self._noun)
            fact = f"{where} {what}, and {whole_number(wanted)} is expected."
            if isinstance(wanted, bool):
                return fact, "Which setting of the layer belongs there?"
            return fact, "Which axis, or which setting of the layer, does that number come from?"
        if name and expected:
            fact = f"{where} {name}. Expected there: {expected}."
        elif name:
            fact = f"{where} {name}, which is not expected there."
        else:
            fact = f"{where} {self._unnamed(given, wanted)}."
        return fact, self._look(deviation)

    def _unnamed(self, given: Value, wanted: Value) -> str:
        """Say how a value of no name differs from the expected one."""
        if isinstance(given, Linear) and isinstance(wanted, Linear):
            return self._other_layer(given, wanted)
        if not isinstance(wanted, np.ndarray) or not isinstance(given, np.ndarray):
            return type_words(given, self._noun)
        if given.shape != wanted.shape:
            return f"{type_words(given, self._noun)}, not {wanted.shape}"
        added = "" if factor(given, wanted) else self.difference(given, wanted)
        if added:
            return f"what is expected plus {added}"
        return array_words(given, wanted)

    def _other_layer(self, given: Linear, wanted: Linear) -> str:
        """Say which layer it is, or what is not as the check has set it."""
        name, own = self.origin.layer(wanted), self.origin.layer(given)
        if not name or (own and own != name):
            return own or "another linear layer than expected"
        parts = ("weight", given.weight, wanted.weight), ("bias", given.bias, wanted.bias)
        other = " and ".join(part for part, one, right in parts if not alike(one, right))
        return f"a layer with another {other} than the check has put into {name}"

    def difference(self, given: Value, wanted: Value) -> str:
        """Name the array by which two arrays of floats differ, "" if it has no name."""
        if not isinstance(given, np.ndarray) or not isinstance(wanted, np.ndarray):
            return ""
        floats = given.dtype.kind == wanted.dtype.kind == "f"
        if not floats or given.shape != wanted.shape:
            return ""
        with np.errstate(invalid="ignore"):  # of hidden scores, which may be infinite
            return self.origin.name(given - wanted)

    def _look(self, deviation: CallDeviation) -> str:
        """Say where a value would come from."""
        wanted, line = deviation.wanted, deviation.own.line
        maker = self.origin.maker(wanted)
        if isinstance(wanted, Linear) and self.origin.layer(wanted):
            return "Which line changes that layer, makes it anew, or takes another one?"
        if maker is None:
            return self._look_at_input(deviation)
        if maker.step in self.uncalled:
            return self._not_called(maker.step, deviation)
        if any(call is maker for call in self.matched.missing) and self.origin.of_what(maker):
            return f"Your layer does not call `{maker.step}`{self.origin.of_what(maker)}."
        if maker.step not in {call.step for call in self.own[: deviation.number]}:
            return f"`{maker.step}` comes before `{deviation.own.step}`."
        called = next((call for call in self.own if gives(call, wanted)), None)
        if called and called.line < line:
            if self.unpacked_order(called):
                return " ".join(self.unpacked(called))
            return f"Line {called.line} computes that. What becomes of its result?"
        return self._what_makes_it(deviation)

    def _look_at_input(self, deviation: CallDeviation) -> str:
        expected, given = self.origin.name(deviation.wanted), deviation.given
        is_array = isinstance(given, np.ndarray)
        if expected.startswith("the input of") and is_array and not self.origin.name(given):
            return f"Expected there: {expected}, as it is. Which line changes it?"
        return self._what_makes_it(deviation)

    def _what_makes_it(self, deviation: CallDeviation) -> str:
        first = deviation is self.matched.deviations[0]
        numbers = range(deviation.number)
        earlier = [self.own[number].line for number in numbers if number in self.matched.pairs]
        # A call on the line itself is not before it; of one that is no right one, nothing is known.
        known = bool(earlier) and len(earlier) == deviation.number
        right = first and known and all(line < deviation.own.line for line in earlier)
        before = "Every call before that line is right. " if right else ""
        return f"{before}What makes that argument?"

    def _not_called(self, step: str, deviation: CallDeviation) -> str:
        """Say that a step is not called, or only too late or on another way through the code."""
        own, request = deviation.own, self.example.request
        if self.is_raising(deviation):
            return f"`{step}` comes before `{own.step}`."
        line = self.code.calling_line(request.target, step)
        if not line:
            return f"Your layer does not call `{step}`."
        given = " and ".join(f"`{name}={value}`" for name, value in request.keywords.items())
        when = f"With {given}" if given else "Here"
        other = f"Line {line} calls it on another way through the code."
        return f"{when}, your layer does not call `{step}`. {other}"

    @property
    def _noun(self) -> str:
        return self.example.expectation.form.noun

    @cached_property
    def uncalled(self) -> list[str]:
        """The steps that the right layer calls, and this one does not."""
        called = {call.step for call in self.own}
        missing = dict.fromkeys(call.step for call in self.matched.missing)
        return [step for step in missing if step not in called]


# A mask of 1 and 0 that a step gets which takes only booleans.

INVERT = {
    "i": "`~` is no “not” for whole numbers: it makes -2 of 1, and -1 of 0.",
    "u": "`~` is no “not” for whole numbers: it turns every bit over.",
    "f": "`~` is not defined for floats.",
}


def mask_words(own: LayerCall, calls: Sequence[LayerCall], inverts: bool) -> Told | None:
    """Return the words for a call that is right as soon as its mask is of booleans.

    `calls` are all of the layer's; the step `inverts` something. None without a mask of numbers.
    """
    masks = ((each, name) for each, name in zip(own.arguments, own.names) if is_number_mask(each))
    mask, name = next(masks, (None, ""))
    if not isinstance(mask, np.ndarray):
        return None
    maker = next((call.step for call in calls if gives(call, mask)), "")
    from_maker = f", which your `{maker}` makes" if maker else ""
    fact = (
        f"In line {own.line}, `{own.step}` gets a `{name}` of {mask.dtype.name}{from_maker}. With "
        "one of bool, your layer gives what is expected."
    )
    inverted = INVERT.get(mask.dtype.kind, "") if inverts else ""
    return fact, inverted or f"What does `{own.step}` do with a mask of 1 and 0?"


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
