"""Where the calls that a layer makes of its steps differ from the right ones.

Calls are matched by what they are given, in any order. What is left over is paired in its order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np

from autograder.judging.compare import FLOOR, ResultSpec, agree, apart, whole_number
from autograder.judging.examples import Example
from autograder.values.verdict import Finding, Outcome
from autograder.worker.call import LayerCall
from autograder.worker.wire import Linear, Value

_MOST_ARGUMENTS = 4  # whose orders are tried
# Of the largest number: right answers in double precision are much nearer, also where a step has
# computed with single precision.
SMALL = 5e-7


@dataclass(frozen=True)
class CallDeviation:
    """One call of the layer's own, by its `number`, and the right call that it stands for.

    `places` are the arguments that differ; none do where the step is given what is expected and
    gives something else. `order` says which of the right arguments stands in each place, when
    they have only changed places.
    """

    number: int
    own: LayerCall
    right: LayerCall
    places: tuple[int, ...] = ()
    order: tuple[int, ...] = ()

    @property
    def given(self) -> Value:
        """What the call gets in the first place that differs."""
        return self.own.arguments[self.places[0]]

    @property
    def wanted(self) -> Value:
        """What is expected in that place."""
        return self.right.arguments[self.places[0]]

    @property
    def lost(self) -> tuple[Value, ...]:
        """The right results that the call does not give."""
        if not self.own.answered:
            return self.right.results
        given = self.own.results
        pairs = zip(given, self.right.results)
        same = len(given) == len(self.right.results)
        return tuple(want for have, want in pairs if not (same and alike(have, want)))

    @property
    def misplaced(self) -> bool:
        """Whether the call gives all that it should, in another order."""
        return all(any(alike(have, want) for have in self.own.results) for want in self.lost)

    @property
    def changes_a_layer(self) -> bool:
        """Whether another linear layer is used than the one that the class keeps."""
        return self.is_comparable and bool(self.places) and isinstance(self.given, Linear)

    @property
    def is_comparable(self) -> bool:
        """Whether the call fits the step's parameters, and there are as many as expected."""
        return self.own.bound and len(self.own.arguments) >= len(self.right.arguments)


@dataclass(frozen=True)
class MatchedCalls:
    """The calls of a layer beside the `right` ones; `pairs` holds places in both.

    `missing` are right calls that the layer does not make, and `more` the numbers of calls of a
    step that it makes more often than the right layer does.
    """

    right: tuple[LayerCall, ...]
    pairs: Mapping[int, int]
    deviations: tuple[CallDeviation, ...]
    missing: tuple[LayerCall, ...]
    more: tuple[int, ...]

    @classmethod
    def of(cls, own: Sequence[LayerCall], right: Sequence[LayerCall]) -> MatchedCalls:
        """Match the calls of a layer with the right ones."""
        left = dict(enumerate(right))
        pairs: dict[int, int] = {}
        for exactly in (True, False):
            for number, call in enumerate(own):
                found = _partner(call, left, exactly) if number not in pairs else None
                if found is not None:
                    pairs[number] = found
                    del left[found]
        known = {call.step for call in right}
        compared = (_deviation(n, own[n], right[pairs[n]]) for n in sorted(pairs))
        more = (n for n, call in enumerate(own) if n not in pairs and call.step in known)
        wrong = tuple(each for each in compared if each)
        return cls(tuple(right), pairs, wrong, tuple(left.values()), tuple(more))

    @property
    def effective(self) -> tuple[CallDeviation, ...]:
        """The deviations that no later call makes good.

        A layer may also compute in another way than the right one. Then some call after that gets
        what it should.
        """
        return tuple(
            each
            for each in self.deviations
            if each.lost and not self._made_good(self.pairs[each.number], each.lost, each.misplaced)
        )

    def _made_good(self, place: int, lost: Sequence[Value], misplaced: bool) -> bool:
        """Say whether a call after `place` gets what it should, although that comes of `lost`.

        What is only `misplaced` may go through several calls of one step, in another order.
        """
        steps = [call.step for call in self.right]
        own = {right: number for number, right in self.pairs.items()}
        wrong = {each.number: each for each in self.deviations}
        for later in range(place + 1, len(self.right)):
            call = self.right[later]
            takers = [n for n, each in enumerate(call.arguments) if _is_one_of(each, lost)]
            if not takers:
                continue
            deviation = wrong.get(own[later]) if later in own else None
            is_right = later in own and (deviation is None or set(takers) - set(deviation.places))
            any_order = misplaced and steps.count(call.step) > 1
            if is_right and not any_order:
                return True
            onward = deviation.lost if deviation else call.results
            if self._made_good(later, onward, any_order):
                return True
        return False


def gets_expected(own: Sequence[LayerCall], number: int, right: LayerCall) -> bool:
    """Say whether the call `number` gets what is expected, as the steps before it give it.

    What is in another type of numbers than expected is the result of a step.
    """
    call = own[number]
    if not call.bound or len(call.arguments) < len(right.arguments):
        return False
    for given, wanted in zip(call.arguments, right.arguments):
        if not alike(given, wanted) or small_error(given, wanted):
            return False
        types = [each.dtype for each in (given, wanted) if isinstance(each, np.ndarray)]
        made = (result for before in own[:number] for result in before.results)
        if len(set(types)) > 1 and not any(
            isinstance(each, np.ndarray) and each.dtype == types[0] and alike(given, each)
            for each in made
        ):
            return False
    return True


def _is_one_of(value: Value, others: Sequence[Value]) -> bool:
    return isinstance(value, np.ndarray) and any(alike(value, other) for other in others)


def _partner(call: LayerCall, left: Mapping[int, LayerCall], exactly: bool) -> int | None:
    for number, other in left.items():
        if other.step == call.step and (not exactly or not _differing(call, other)):
            return number
    return None


def _differing(own: LayerCall, right: LayerCall) -> tuple[int, ...]:
    if not own.bound or len(own.arguments) < len(right.arguments):
        return tuple(range(len(right.arguments)))
    # The learner's step may have more parameters, with values of their own.
    pairs = enumerate(zip(own.arguments, right.arguments))
    return tuple(place for place, (given, wanted) in pairs if not alike(given, wanted))


def _deviation(number: int, own: LayerCall, right: LayerCall) -> CallDeviation | None:
    places = _differing(own, right)
    if places:
        return CallDeviation(number, own, right, places, _order(own, right))
    if own.answered and (right.result is None or alike(own.result, right.result)):
        return None
    return CallDeviation(number, own, right)


def _order(own: LayerCall, right: LayerCall) -> tuple[int, ...]:
    """Return which right argument stands in each place, () when others do."""
    count = len(right.arguments)
    if len(own.arguments) != count or count > _MOST_ARGUMENTS:
        return ()
    for order in permutations(range(count)):
        if all(alike(own.arguments[to], right.arguments[at]) for to, at in enumerate(order)):
            return order
    return ()


def alike(given: Value, wanted: Value) -> bool:
    """Say whether two values are the same numbers, within the tolerance; dtypes may differ.

    A forbidden score is as good as another.
    """
    given, wanted = whole_number(given), whole_number(wanted)
    if isinstance(wanted, tuple):
        return (
            isinstance(given, tuple)
            and len(given) == len(wanted)
            and all(map(alike, given, wanted))
        )
    if isinstance(wanted, Linear):
        return (
            isinstance(given, Linear)
            and alike(given.weight, wanted.weight)
            and alike(given.bias, wanted.bias)
        )
    if isinstance(wanted, np.ndarray):
        return isinstance(given, np.ndarray) and _same_numbers(given, wanted)
    if isinstance(wanted, int | float) and isinstance(given, int | float):
        return given == wanted
    return bool(given == wanted) if type(given) is type(wanted) else False


def _same_numbers(given: np.ndarray, wanted: np.ndarray) -> bool:
    if given.shape != wanted.shape or not {given.dtype.kind, wanted.dtype.kind} <= set("biuf"):
        return False
    # What is judged for real is the layer's result; here two arrays are only told apart.
    first, second = given.astype(np.float64), wanted.astype(np.float64)
    return bool(agree(np.maximum(first, FLOOR), np.maximum(second, FLOOR), "float32").all())


def small_error(given: Value, expected: Value) -> Finding | None:
    """Return what is wrong with the numbers of a step by less than its own checks can see, if any.

    Both are in double precision, in which right answers agree to many more digits. Such an error is
    small in the step, and may grow in what a layer makes of it.
    """
    largest, difference = apart(given, expected)
    if difference <= SMALL * largest:
        return None
    return Finding(
        Outcome.WRONG_VALUES,
        f"Its numbers are nearly right: they differ by up to {difference:.1g}, and the largest is "
        f"{largest:.2g}.",
        look="That is too much for what the layer makes of them. Is a small number added "
        "somewhere, or a bound set, that is not expected?",
    )


# How an array that a step is given differs from the expected one of the same shape.


def array_words(given: np.ndarray, wanted: np.ndarray) -> str:
    """Say what a call gets in place of an array, as in: it gets twice what is expected."""
    if given.ndim > 1 and alike(given.swapaxes(-2, -1), wanted):
        return "what is expected with its last two axes exchanged"
    is_mask = ((wanted == 0) | (wanted == 1)).all()
    if is_mask and alike(given, 1 - wanted.astype(np.float64)):
        return "what is expected the wrong way round, with 1 for 0 and 0 for 1"
    times = factor(given, wanted)
    if times:
        return f"{times:.4g} times what is expected"
    coarse = given.dtype.kind == wanted.dtype.kind == "f" and given.dtype != wanted.dtype
    if coarse and np.allclose(given, wanted, rtol=1e-2, atol=1e-2):
        return f"what is expected, rounded to {given.dtype.name}"
    return _weakly_hidden(given, wanted) or "other numbers than expected"


def factor(given: np.ndarray, wanted: np.ndarray) -> float:
    """Return the one number that turns the expected array into another, 0 if there is none.

    Hidden scores stay hidden.
    """
    seen = wanted > FLOOR
    if not {given.dtype.kind, wanted.dtype.kind} <= set("f") or not wanted[seen].any():
        return 0.0
    part, whole = given[seen], wanted[seen]
    place = np.argmax(np.abs(whole))
    with np.errstate(all="ignore"):
        times = float(part[place] / whole[place])
    same = np.isfinite(times) and bool((given[~seen] <= FLOOR).all())
    return times if same and np.isfinite(whole).all() and alike(part, times * whole) else 0.0


def _weakly_hidden(given: np.ndarray, wanted: np.ndarray) -> str:
    """Say which number stands for hidden scores, where all others are right."""
    hidden = wanted <= FLOOR
    numbers = np.unique(given[hidden])
    if len(numbers) != 1 or numbers[0] <= FLOOR or not np.isfinite(numbers[0]):
        return ""
    if not alike(given[~hidden], wanted[~hidden]):
        return ""
    return (
        f"{numbers[0]:.4g} for the hidden scores, of which the softmax still makes a share; the "
        "others are right"
    )


# Where a value in a learner's layer comes from: what the right layer has that is equal to it.


@dataclass(frozen=True)
class ValueOrigin:
    """Names values by where the right layer has them, when it is asked this example.

    `forms` are those of the results of all steps, which say what they are called.
    """

    example: Example
    forms: Mapping[str, ResultSpec]

    def name(self, value: Value) -> str:
        """Name an array by where it comes from in the right layer, "" if it is not there."""
        return next((name for name, known in self._arrays if alike(value, known)), "")

    def layer(self, wanted: Linear) -> str:
        """Name the attribute that is a linear layer, "" if there is none."""
        weights = self.example.request.attributes.items()
        found = (name for name, each in weights if alike(each, wanted.weight))
        return next((f"`self.{name.removesuffix('.weight')}`" for name in found), "")

    def results_of(self, step: str) -> tuple[str, ...]:
        """Return what the results of a step are called."""
        return self.forms[step].names if step in self.forms else ("result",)

    def maker(self, value: Value) -> LayerCall | None:
        """Return the right call that gives a value."""
        return next((call for call in self.example.calls if gives(call, value)), None)

    @cached_property
    def _arrays(self) -> list[tuple[str, Value]]:
        return list(self._sources())

    def _sources(self) -> Iterator[tuple[str, Value]]:
        request = self.example.request
        yield from ((f"the input of `{request.method}`", each) for each in request.method_arguments)
        yield from ((f"`self.{name}`", each) for name, each in request.attributes.items())
        for call in self.example.calls:
            names = self.results_of(call.step)
            if len(names) == 1:
                yield f"what `{call.step}` gives{self.of_what(call)}", call.result
            elif isinstance(call.result, tuple):
                for name, result in zip(names, call.result):
                    yield f"the `{name}` of `{call.step}`", result

    def of_what(self, call: LayerCall) -> str:
        """Tell the calls of one step apart by the names of their first arguments."""
        steps = [each.step for each in self.example.calls]
        if steps.count(call.step) < 2 or not call.arguments:
            return ""
        for other in self.example.calls:
            names = self.results_of(other.step)
            if isinstance(other.result, tuple) and len(names) == len(other.result):
                for name, result in zip(names, other.result):
                    if alike(call.arguments[0], result):
                        return f" for the `{name}`"
        return ""


def gives(call: LayerCall, value: Value) -> bool:
    """Say whether an array is one of the results of a call."""
    return any(isinstance(each, np.ndarray) and alike(value, each) for each in call.results)
