"""The words for a call that a layer makes of a step in another way than the right layer."""

from __future__ import annotations

import dis
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from autograder.judging.call_deviation import CallDeviation, MatchedCalls, alike
from autograder.judging.examples import Example
from autograder.judging.layer_calls import LayerCall
from autograder.judging.single_number import whole_number
from autograder.judging.value_words import type_words
from autograder.protocol.wire import Linear, Value

INVERT = {
    "i": "`~` is no “not” for whole numbers: it makes -2 of 1, and -1 of 0.",
    "u": "`~` is no “not” for whole numbers: it turns every bit over.",
    "f": "`~` is not defined for floats.",
}
Told = tuple[str, str]  # the fact, and where to look


@dataclass(frozen=True)
class DeviationWords:
    """Puts deviations of the `own` calls of a layer into words; `matched` are all of them."""

    example: Example
    examples: Sequence[Example]
    own: Sequence[LayerCall]
    matched: MatchedCalls

    def is_exact(self, deviation: CallDeviation) -> bool:
        """Say whether what a call gets instead of what is expected has a name."""
        own = deviation.own
        if not deviation.places or deviation.order or len(own.names) <= deviation.places[0]:
            return True
        given = own.arguments[deviation.places[0]]
        named = isinstance(whole_number(given), int | float | Linear)
        return named or bool(self._name(given))

    def cured(self, deviation: CallDeviation, function: Any, as_booleans: bool) -> Told:
        """Return the words for a call; with its right answer, the layer is right."""
        if not deviation.places:
            return self._unfit(deviation, function, as_booleans)
        if deviation.order:
            return self._exchanged(deviation)
        return self._given(deviation)

    def first_seen(self, deviation: CallDeviation) -> Told | None:
        """Return the words for a call that is wrong beyond doubt, though not all that is."""
        if deviation.order:
            return self._exchanged(deviation)
        known = deviation.places and self._name(deviation.own.arguments[deviation.places[0]])
        return self._given(deviation) if known else None

    def once_more(self, call: LayerCall) -> Told:
        """Return the words for a call without which the layer is right."""
        fact = f"Line {call.line} calls `{call.step}` once more than is expected."
        return fact, "Without that call, your layer gives what is expected."

    def at_the_end(self, returned: Value) -> Told | None:
        """Return what happens after right calls, or None if not even that is known."""
        last = next((call for call in reversed(self.own) if alike(returned, call.result)), None)
        if last and self._uncalled:
            fact = f"Your layer returns what `{last.step}` gives in line {last.line}."
            return f"{fact} It does not call `{self._uncalled[-1]}`.", "What is left to do?"
        if self.matched.missing:
            return None
        final = self.own[-1]
        fact = (
            f"All calls are right up to `{final.step}` in line {final.line}, but what your layer "
            "returns is not what that call gives."
        )
        added = self._difference(returned, final.result)
        if added:
            fact = f"{fact} It is that plus {added}."
        return fact, "What does your layer do with that result?"

    def _exchanged(self, deviation: CallDeviation) -> Told:
        own, order = deviation.own, deviation.order
        names = own.names or tuple(map(str, range(len(order))))
        moved = [(names[to], names[at]) for to, at in enumerate(order) if to != at]
        first, second = moved[0]
        fact = (
            f"Line {own.line} calls `{own.step}` with its arguments in another order: as "
            f"`{first}` it gets what is expected as `{second}`."
        )
        look = f"In which order does `{own.step}` take its arguments"
        maker = self._unpacked(own, [to for to, at in enumerate(order) if to != at])
        if maker:
            look += f", and in which does `{maker.step}` give its results in line {maker.line}"
        return fact, f"{look}?"

    def _unpacked(self, own: LayerCall, places: Sequence[int]) -> LayerCall | None:
        """Return the one call that gave all these arguments as its results, if there is one."""
        given = [own.arguments[place] for place in places]
        for call in self.own:
            if isinstance(call.result, tuple) and all(_gives(call, each) for each in given):
                return call
        return None

    def _given(self, deviation: CallDeviation) -> Told:
        own, place = deviation.own, deviation.places[0]
        if len(own.names) != len(deviation.right.arguments):
            fact = f"Line {own.line} gives `{own.step}` another number of arguments than expected."
            return fact, "Which does the step ask for?"
        given, wanted = own.arguments[place], deviation.right.arguments[place]
        name, expected = self._name(given), self._name(wanted)
        where = f"Line {own.line} calls `{own.step}`: as `{own.names[place]}` it gets"
        if isinstance(whole_number(wanted), int | float):
            number = whole_number(given)
            plain = isinstance(number, int | float)
            what = str(number) if plain else type_words(number, self._noun)
            fact = f"{where} {what}, and {whole_number(wanted)} is expected."
            return fact, "Which axis, or which setting of the layer, does that number come from?"
        if name and expected:
            fact = f"{where} {name}. Expected there: {expected}."
        elif name:
            fact = f"{where} {name}, which is not expected there."
        else:
            fact = f"{where} {self._other(given, wanted)}."
        return fact, self._look(deviation, wanted)

    def _other(self, given: Value, wanted: Value) -> str:
        """Say how a value of no name differs from the expected one."""
        if isinstance(given, Linear) and isinstance(wanted, Linear):
            return f"another linear layer than {self._layer(wanted) or 'expected'}"
        if not isinstance(wanted, np.ndarray) or not isinstance(given, np.ndarray):
            return type_words(given, self._noun)
        if given.shape != wanted.shape:
            return f"an {self._noun} of shape {given.shape}, not {wanted.shape},".replace(
                "an tensor", "a tensor"
            )
        added = self._difference(given, wanted)
        if added:
            return f"what is expected plus {added}"
        if given.ndim > 1 and alike(given.swapaxes(-2, -1), wanted):
            return "what is expected with its last two axes exchanged"
        times = _factor(given, wanted)
        return f"{times:.4g} times what is expected" if times else "other numbers than expected"

    def _layer(self, wanted: Linear) -> str:
        """Name the attribute that is a linear layer, "" if there is none."""
        weights = self.example.request.attributes.items()
        found = (name for name, each in weights if alike(each, wanted.weight))
        return next((f"`self.{name.removesuffix('.weight')}`" for name in found), "")

    def _difference(self, given: Value, wanted: Value) -> str:
        """Name the array by which two arrays of floats differ, "" if it has no name."""
        if not isinstance(given, np.ndarray) or not isinstance(wanted, np.ndarray):
            return ""
        floats = given.dtype.kind == wanted.dtype.kind == "f"
        return self._name(given - wanted) if floats and given.shape == wanted.shape else ""

    def _look(self, deviation: CallDeviation, wanted: Value) -> str:
        """Say where a value would come from."""
        first = deviation is self.matched.deviations[0]
        before = "Every call before that line is right. " if first else ""
        made = f"{before}What makes that argument?"
        maker = next((call for call in self.example.calls if _gives(call, wanted)), None)
        if maker is None:
            return made
        if maker.step in self._uncalled:
            return f"Your layer does not call `{maker.step}`."
        called = next((call for call in self.own if _gives(call, wanted)), None)
        if called and called.line < deviation.own.line:
            return f"Line {called.line} computes that. What becomes of its result?"
        return made

    def _unfit(self, deviation: CallDeviation, function: Any, as_booleans: bool) -> Told:
        own = deviation.own
        if not as_booleans:
            fact = (
                f"In line {own.line}, `{own.step}` gets the expected numbers, and gives others "
                "than expected, although it passes its own check."
            )
            return fact, "Does it depend on the type of the numbers, or on an earlier call?"
        mask, name = next(
            (value, name)
            for value, name in zip(own.arguments, own.names)
            if isinstance(value, np.ndarray) and not (value.dtype.kind == "f" and value.ndim != 2)
        )
        maker = next((call.step for call in self.own if _gives(call, mask)), "")
        both = f"`{maker}` and `{own.step}` are each right alone, but do not fit together. "
        fact = (
            f"{both if maker else ''}In line {own.line}, `{own.step}` gets a `{name}` of "
            f"{mask.dtype.name}. With one of bool, your layer gives what is expected."
        )
        inverts = INVERT.get(mask.dtype.kind, "") if _inverts(function) else ""
        return fact, inverts or f"What does `{own.step}` do with a mask of 1 and 0?"

    @property
    def _noun(self) -> str:
        return self.example.expectation.form.noun

    @cached_property
    def _uncalled(self) -> list[str]:
        called = {call.step for call in self.own}
        missing = dict.fromkeys(call.step for call in self.matched.missing)
        return [step for step in missing if step not in called]

    def _name(self, value: Value) -> str:
        """Name an array by where it comes from in the right layer, "" if it is not there."""
        return next((name for name, known in self._arrays if alike(value, known)), "")

    @cached_property
    def _arrays(self) -> list[tuple[str, Value]]:
        return list(self._sources())

    def _sources(self) -> Iterator[tuple[str, Value]]:
        request = self.example.request
        yield from ((f"the input of `{request.method}`", each) for each in request.method_arguments)
        yield from ((f"`self.{name}`", each) for name, each in request.attributes.items())
        steps = [call.step for call in self.example.calls]
        for call in self.example.calls:
            names = self._results_of(call.step)
            if len(names) == 1:
                yield f"what `{call.step}` gives{self._of_what(call, steps)}", call.result
            elif isinstance(call.result, tuple):
                for name, result in zip(names, call.result):
                    yield f"the `{name}` of `{call.step}`", result

    def _of_what(self, call: LayerCall, steps: Sequence[str]) -> str:
        """Tell the calls of one step apart by the names of their first arguments."""
        if steps.count(call.step) < 2:
            return ""
        for other in self.example.calls:
            names = self._results_of(other.step)
            if isinstance(other.result, tuple) and len(names) == len(other.result):
                for name, result in zip(names, other.result):
                    if alike(call.arguments[0], result):
                        return f" for the `{name}`"
        return ""

    def _results_of(self, step: str) -> tuple[str, ...]:
        found = (each for each in self.examples if each.step == step)
        return next((each.expectation.form.names for each in found), ("result",))


def _factor(given: np.ndarray, wanted: np.ndarray) -> float:
    """Return the one number that turns the expected array into another, 0 if there is none."""
    if not {given.dtype.kind, wanted.dtype.kind} <= set("f") or not wanted.any():
        return 0.0
    place = np.unravel_index(np.argmax(np.abs(wanted)), wanted.shape)
    times = float(given[place] / wanted[place])
    finite = np.isfinite(times) and np.isfinite(wanted).all()
    return times if finite and alike(given, times * wanted) else 0.0


def _gives(call: LayerCall, value: Value) -> bool:
    results = call.result if isinstance(call.result, tuple) else (call.result,)
    return any(alike(value, result) for result in results if isinstance(result, np.ndarray))


def _inverts(function: Any) -> bool:
    """Say whether `~` stands in a function."""
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    if code is None:
        return False
    return any(each.opname == "UNARY_INVERT" for each in dis.get_instructions(code))
