"""Do linear layers have the right shapes? Messages say what a layer maps, and name its bias."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from autograder.judging.compare import LOWER, ResultSpec, arrays_of, decimals_of, few_decimals_words
from autograder.judging.diagnosis import Candidate, diagnose, named_by, told_by_cause
from autograder.judging.distribution import repetitions, sharing
from autograder.judging.value_words import type_words
from autograder.values.request import Failed, Reply, Request, Returned
from autograder.values.verdict import Finding, Outcome
from autograder.worker.wire import CLASS, NO_INPUTS, NOT_LINEAR, Linear, Opaque, Value

_OTHER = 7  # times a size that a check asks for is one that none asks for


@dataclass(frozen=True)
class LinearLayers:
    """The linear layers have the expected shapes, and a bias exactly where one is expected.

    `expected` is a `Linear` for each name of the form (without a tuple when there is only one);
    its numbers are another draw.
    """

    expected: tuple[Linear, ...]
    form: ResultSpec


def judge_layers(
    expectation: LinearLayers,
    reply: Reply,
    candidates: Iterable[Candidate],
    request: Request | None = None,
) -> Finding | None:
    """Return the first layer that is not as expected, or None; `request` is what was asked."""
    expected, form = expectation.expected, expectation.form
    if isinstance(reply, Failed):
        return diagnose(reply, expected, form, candidates)
    wanted = arrays_of(expected, form)
    call = _call_words(request)
    finding = _layer_fault(wanted, form, reply.value, call)
    if finding is None:
        return None
    looks = _look(reply.value, form)

    def explains(known: Returned) -> bool:
        alike = _look(known.value, form) == looks
        return alike and _layer_fault(wanted, form, known.value, call) == finding

    return named_by(finding, candidates, explains)


def with_shared_layers(
    finding: Finding, request: Request, reply: Reply, ask: Callable[[Request], Reply]
) -> Finding:
    """Return the finding on layers that are not new, told by that.

    The same question gets the same numbers twice, and a layer of a size that was not asked for
    before has nothing wrong with its numbers: so no draw is at fault, but what was done to them.
    """
    if not any(_own_fault("", layer) for layer in _layers_in(reply)) or finding.misconception:
        return finding
    first, again = _layers_in(ask(request)), _layers_in(ask(request))
    pairs = zip(first, again)
    same = (np.array_equal(one.weight, other.weight, equal_nan=True) for one, other in pairs)
    if not first or len(first) != len(again) or not all(same):
        return finding
    larger = tuple(_OTHER * each if type(each) is int else each for each in request.arguments[:1])
    other = _layers_in(ask(replace(request, arguments=(*larger, *request.arguments[1:]))))
    if not other or any(_own_fault("", layer) for layer in other):
        return finding
    what = "instances of your class have" if request.method is not None else "calls make"
    fact = f"Two {what} layers with the same numbers, which something was done to in between."
    look = "What keeps the layers of the first one, such as a cache or a name of the file?"
    return told_by_cause(finding, fact, look)


def _layers_in(reply: Reply) -> list[Linear]:
    if not isinstance(reply, Returned):
        return []
    parts = reply.value if isinstance(reply.value, tuple) else (reply.value,)
    found = (*parts, *reply.attributes.values())
    return [each for each in found if isinstance(each, Linear)]


def _look(value: Value, form: ResultSpec) -> tuple[object, ...]:
    """Return what a value looks like apart from its numbers.

    Of each layer (outputs, inputs, no bias), of what is none words for it; and the layers that hold
    the same weights, two by two.
    """
    given = arrays_of(value, form)
    layers = (
        (*layer.weight.shape, layer.bias is None)
        if isinstance(layer, Linear)
        else type_words(layer)
        for layer in given
    )
    return (*layers, _equal(given))


def _equal(layers: tuple[Value, ...]) -> tuple[tuple[int, int], ...]:
    """Return every two of `layers` that hold the same weights."""
    return tuple(
        (first, second)
        for (first, one), (second, other) in combinations(enumerate(layers), 2)
        if isinstance(one, Linear)
        and isinstance(other, Linear)
        and one.weight.size
        and np.array_equal(one.weight, other.weight)
    )


def _call_words(request: Request | None) -> str:
    """Return a call as it is written in code; "" where it has more than plain values."""
    given = (*request.arguments, *request.keywords.values()) if request else ()
    if not request or not all(isinstance(value, bool | int | float) for value in given):
        return ""
    named = [f"{name}={value}" for name, value in request.keywords.items()]
    return f"{request.target}({', '.join([*map(str, request.arguments), *named])})"


def _layer_fault(
    expected: tuple[Linear, ...], form: ResultSpec, value: Value, call: str
) -> Finding | None:
    given = arrays_of(value, form)
    if len(given) != len(expected):
        returned = f"{len(given)} values" if len(given) > 1 else type_words(value, form.noun)
        return Finding(
            Outcome.WRONG_TYPE,
            f"It returns {returned}, but {len(expected)} linear layers are expected.",
            look=f"They are {', '.join(f'`{name}`' for name in form.names)}, in this order.",
        )
    for name, layer, wanted in zip(form.names, given, expected):
        finding = _fault(name, layer, wanted, call)
        if finding:
            return finding
    equal = _equal(given)
    if equal:
        places = sorted({place for pair in equal for place in pair})
        listed = ", ".join(f"`{form.names[place]}`" for place in places)
        fact = f"Some layers hold the same weights as another one: {listed}."
        look = (
            "Each is expected to begin with its own draw. Are they one layer or copies of one, or "
            "is a seed set again before each?"
        )
        right = "The sizes of the layers are right."
        return Finding(Outcome.WRONG_VALUES, fact, right=right, look=look, cause=True)
    layers = {name: each for name, each in zip(form.names, given) if isinstance(each, Linear)}
    shared = sharing({name: each.weight for name, each in layers.items()})
    if shared and all(decimals_of(each.weight) is None for each in layers.values()):
        fact = f"The weights of `{shared[0]}` and `{shared[1]}` are not separate draws: many agree."
        right = "The sizes of the layers are right."
        look = "Is one cut out of the other, or is a seed set again before each?"
        return Finding(Outcome.WRONG_VALUES, fact, right=right, look=look, cause=True)
    return None


def _fault(name: str, actual: Value, expected: Linear, call: str) -> Finding | None:
    """Return what is wrong with one layer by itself, which `call` has made."""
    if not isinstance(actual, Linear):
        return _no_layer(name, actual, expected)
    if actual.weight.shape != expected.weight.shape and not _waits(actual, expected):
        return _wrong_size(name, actual.weight.shape, expected.weight.shape)
    outputs = expected.weight.shape[0]
    if (actual.bias is None) != (expected.bias is None):
        has, wanted = ("no", "one") if actual.bias is None else ("a", "none")
        fact = f"`{name}` has {has} bias, but {wanted} is expected."
        look = f"The check calls `{call}`." if call else ""
        return Finding(
            Outcome.WRONG_SHAPE, fact, right=f"The size of `{name}` is right.", look=look
        )
    if actual.bias is not None and actual.bias.shape != (outputs,):
        fact = (
            f"The bias of `{name}` holds {actual.bias.size} numbers, but {outputs} are expected: "
            "one for each number that comes out."
        )
        return Finding(Outcome.WRONG_SHAPE, fact, right=f"The size of `{name}` is right.")
    return _own_fault(name, actual)


def _own_fault(name: str, layer: Linear) -> Finding | None:
    """Return what is wrong with the numbers of a layer, or keeps it from learning."""
    parts = [layer.weight] if layer.bias is None else [layer.weight, layer.bias]
    faults = (_number_fault(name, part) for part in parts)
    return next(filter(None, faults), None) or _untrained(name, layer)


def _untrained(name: str, layer: Linear) -> Finding | None:
    """Return what keeps a layer from learning: it is frozen, or its weights are all alike."""
    right = f"The size of `{name}` is right."
    if not layer.trainable:
        fact = f"`{name}` is frozen, if only in part: not all of its parameters get gradients."
        look = "A new `nn.Linear` can be trained. Which line switches that off?"
        return Finding(Outcome.WRONG_VALUES, fact, right=right, look=look)
    weight = layer.weight
    sizes = weight.size - repetitions(np.sort(np.abs(weight), axis=None))
    # Two of a few numbers may be equal by chance.
    if weight.size > 2 and sizes < min(0.9 * weight.size, weight.size - 1):
        held = "are all the same" if sizes == 1 else f"take only {sizes} values"
        digits = decimals_of(weight) if sizes > 1 else None
        # Of rounded numbers, many are equal by chance.
        what = few_decimals_words(digits) if digits else "are not drawn at random"
        why = "A draw keeps all digits." if digits else "Outputs with equal weights learn the same."
        fact = (
            f"The weights of `{name}` {what}: its {weight.size} numbers {held}, apart from the "
            "sign."
        )
        look = f"{why} What does a new `nn.Linear` hold?"
        return Finding(Outcome.WRONG_VALUES, fact, right=right, look=look)
    return None


def _waits(actual: Linear, expected: Linear) -> bool:
    """Say whether a layer takes its inputs from its first call (`nn.LazyLinear`).

    Of all layers, only such a one has 0 inputs when it arrives.
    """
    return actual.weight.shape == (expected.weight.shape[0], 0)


def _no_layer(name: str, actual: Value, expected: Linear) -> Finding:
    """Say what stands in the place of a linear layer."""
    look, wanted = "", "a linear layer (`nn.Linear`) is expected"
    if isinstance(actual, np.ndarray):
        look = "A linear layer holds its own parameters, as `weight` and `bias`."
    elif isinstance(actual, Opaque) and actual.type_name == NO_INPUTS:
        wanted = f"it is expected to map {expected.weight.shape[1]} numbers"
    elif isinstance(actual, Opaque) and actual.type_name == NOT_LINEAR:
        look = "Has it a `forward` of its own, or a hook that changes what comes out?"
    elif isinstance(actual, Opaque) and actual.type_name.startswith(CLASS):
        look = "A class makes a layer when it is called."
    given = type_words(actual, "tensor or parameter")
    fact = f"`{name}` is {given}, but {wanted}."
    return Finding(Outcome.WRONG_TYPE, fact, look=look)


def _wrong_size(name: str, actual: tuple[int, ...], expected: tuple[int, ...]) -> Finding:
    """Say what a layer maps; PyTorch stores its weight as (outputs, inputs)."""
    gives = (
        f"maps {actual[1]} numbers to {actual[0]}" if actual[1] else f"gives {actual[0]} numbers"
    )
    return Finding(
        Outcome.WRONG_SHAPE,
        f"`{name}` {gives}, but it is expected to map {expected[1]} to {expected[0]}.",
        look="It is the other way round." if actual == expected[::-1] else "",
    )


def _number_fault(name: str, part: np.ndarray) -> Finding | None:
    """Return what is wrong with the numbers of a layer, whichever were drawn."""
    right = f"The size of `{name}` is right."
    if part.dtype != np.float32:
        kind = LOWER.get(part.dtype.name, part.dtype.name)
        fact = f"`{name}` holds {kind} numbers, but float32 is expected."
        return Finding(Outcome.WRONG_TYPE, fact, right=right)
    if np.count_nonzero(np.isfinite(part)) != part.size:
        fact = f"`{name}` holds numbers that are NaN or infinite."
        return Finding(Outcome.WRONG_VALUES, fact, right=right)
    return None
