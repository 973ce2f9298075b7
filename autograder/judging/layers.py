"""Are linear layers shaped as they should be? Named by what they map, and by their bias."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from autograder.judging.compare import ResultSpec, arrays_of
from autograder.judging.diagnosis import Candidate, diagnose, named
from autograder.judging.precision import LOWER
from autograder.judging.value_words import type_words
from autograder.model.request import Failed, Reply, Returned
from autograder.model.verdict import Finding, Outcome
from autograder.protocol.wire import Linear, Value


@dataclass(frozen=True)
class LinearLayers:
    """The linear layers have the expected shapes, and a bias exactly where one is expected.

    `expected` is a `Linear` per name of the form (the only one without a tuple around it); its
    numbers are another draw.
    """

    expected: tuple[Linear, ...]
    form: ResultSpec


def judge_layers(
    expectation: LinearLayers, reply: Reply, candidates: Iterable[Candidate]
) -> Finding | None:
    """Return the first layer that is not as expected, or None."""
    expected, form = expectation.expected, expectation.form
    if isinstance(reply, Failed):
        return diagnose(reply, expected, form, candidates)
    finding = _layer_fault(arrays_of(expected, form), form, reply.value)
    if finding is None:
        return None
    looks = _look(reply.value, form)
    return named(
        finding,
        [
            candidate
            for candidate in candidates
            if isinstance(candidate.reply, Returned) and _look(candidate.reply.value, form) == looks
        ],
    )


@dataclass(frozen=True)
class _Look:
    """What can be told of a value without its numbers: (outputs, inputs, has no bias) of each
    layer, words for what is none, and the first two that hold the same weights."""

    layers: tuple[tuple[int, int, bool] | str, ...]
    equal: tuple[int, int] | None


def _look(value: Value, form: ResultSpec) -> _Look:
    given = arrays_of(value, form)
    layers = tuple(
        (*layer.weight.shape, layer.bias is None)
        if isinstance(layer, Linear)
        else type_words(layer)
        for layer in given
    )
    return _Look(layers, _equal(given))


def _equal(layers: tuple[Value, ...]) -> tuple[int, int] | None:
    """Return the first two of `layers` that hold the same weights."""
    for two, layer in enumerate(layers):
        for one, other in enumerate(layers[:two]):
            both = isinstance(layer, Linear) and isinstance(other, Linear)
            if both and np.array_equal(layer.weight, other.weight):
                return one, two
    return None


def _layer_fault(expected: tuple[Linear, ...], form: ResultSpec, value: Value) -> Finding | None:
    given = arrays_of(value, form)
    if len(given) != len(expected):
        return Finding(
            Outcome.WRONG_TYPE,
            f"It returns {type_words(value)}, and {len(expected)} linear layers are expected: "
            f"{', '.join(form.names)}.",
        )
    for name, layer, due in zip(form.names, given, expected):
        finding = _fault(name, layer, due)
        if finding:
            return finding
    equal = _equal(given)
    if equal:
        one, two = (form.names[place] for place in equal)
        fact = (
            f"`{one}` and `{two}` are one and the same layer: what one learns, the other has too."
        )
        return Finding(Outcome.WRONG_VALUES, fact, right="The sizes of the layers are right.")
    return None


def _fault(name: str, layer: Value, due: Linear) -> Finding | None:
    """Return what is wrong with one layer by itself."""
    if not isinstance(layer, Linear):
        fact = f"`{name}` is {type_words(layer)}, and a linear layer (nn.Linear) is expected."
        return Finding(Outcome.WRONG_TYPE, fact)
    (outputs, inputs), (due_outputs, due_inputs) = layer.weight.shape, due.weight.shape
    if (outputs, inputs) != (due_outputs, due_inputs):
        other_way = (outputs, inputs) == (due_inputs, due_outputs)
        return Finding(
            Outcome.WRONG_SHAPE,
            f"`{name}` maps {inputs} numbers to {outputs}, "
            f"and {due_inputs} to {due_outputs} are expected.",
            look="It is the other way round." if other_way else "",
        )
    if (layer.bias is None) != (due.bias is None):
        has, wanted = ("no", "one") if layer.bias is None else ("a", "none")
        fact = f"`{name}` has {has} bias, and {wanted} is expected."
        return Finding(Outcome.WRONG_SHAPE, fact, right=f"The size of `{name}` is right.")
    if layer.bias is not None and layer.bias.shape != (outputs,):
        fact = (
            f"The bias of `{name}` holds {layer.bias.size} numbers, and {outputs} are expected: "
            "one for each number that comes out."
        )
        return Finding(Outcome.WRONG_SHAPE, fact, right=f"The size of `{name}` is right.")
    parts = [layer.weight] if layer.bias is None else [layer.weight, layer.bias]
    return next((fault for part in parts if (fault := _number_fault(name, part))), None)


def _number_fault(name: str, part: np.ndarray) -> Finding | None:
    """Return what is wrong with the numbers of a layer, whatever was drawn."""
    right = f"The size of `{name}` is right."
    if part.dtype.kind != "f" or part.dtype.name in LOWER:
        kind = LOWER.get(part.dtype.name, part.dtype.name)
        fact = f"`{name}` holds {kind} numbers, and float32 is expected."
        return Finding(Outcome.WRONG_TYPE, fact, right=right)
    if not np.isfinite(part).all():
        fact = f"`{name}` holds numbers that are NaN or infinite."
        return Finding(Outcome.WRONG_VALUES, fact, right=right)
    return None
