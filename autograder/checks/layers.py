"""Are linear layers shaped as they should be? Named by what they map, and by their bias."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from autograder.compare import Form, arrays_of, type_words
from autograder.diagnosis import Candidate, diagnose, named
from autograder.request import Failed, Reply, Returned
from autograder.verdict import Finding, Outcome
from autograder.wire import Linear, Value


@dataclass(frozen=True)
class Layers:
    """The linear layers have the expected shapes, and a bias exactly where one is expected.

    `expected` is a `Linear` per name of the form; its numbers are another draw.
    """

    expected: tuple[Linear, ...]
    form: Form


def judge_layers(
    expectation: Layers, reply: Reply, candidates: Iterable[Candidate]
) -> Finding | None:
    """Return the first layer that is not as expected, or None."""
    expected, form = expectation.expected, expectation.form
    if isinstance(reply, Failed):
        return diagnose(reply, expected, form, candidates)
    finding = _layer_fault(expected, form, reply.value)
    if finding is None:
        return None
    shapes = _layer_shapes(reply.value)
    return named(
        finding,
        [
            candidate
            for candidate in candidates
            if isinstance(candidate.reply, Returned)
            and _layer_shapes(candidate.reply.value) == shapes
        ],
    )


def _layer_shapes(value: Value) -> object:
    if isinstance(value, tuple):
        return tuple(_layer_shapes(item) for item in value), _equal(value)
    return (value.weight.shape, value.bias is None) if isinstance(value, Linear) else value


def _equal(layers: tuple[Value, ...]) -> tuple[int, int] | None:
    """Return the first two of `layers` that hold the same weights."""
    for two, layer in enumerate(layers):
        for one, other in enumerate(layers[:two]):
            both = isinstance(layer, Linear) and isinstance(other, Linear)
            if both and np.array_equal(layer.weight, other.weight):
                return one, two
    return None


def _layer_fault(expected: tuple[Linear, ...], form: Form, value: Value) -> Finding | None:
    given = arrays_of(value, form)
    if len(given) != len(expected):
        return Finding(
            Outcome.WRONG_TYPE,
            f"It returns {type_words(value)}, and {len(expected)} linear layers are due: "
            f"{', '.join(form.names)}.",
        )
    for name, layer, due in zip(form.names, given, expected):
        if not isinstance(layer, Linear):
            fact = f"`{name}` is {type_words(layer)}, and a linear layer (nn.Linear) is due."
            return Finding(Outcome.WRONG_TYPE, fact)
        (outputs, inputs), (due_outputs, due_inputs) = layer.weight.shape, due.weight.shape
        if (outputs, inputs) != (due_outputs, due_inputs):
            other_way = (outputs, inputs) == (due_inputs, due_outputs)
            return Finding(
                Outcome.WRONG_SHAPE,
                f"`{name}` maps {inputs} numbers to {outputs}, "
                f"and {due_inputs} to {due_outputs} are due.",
                look="It is the other way round." if other_way else "",
            )
        if (layer.bias is None) != (due.bias is None):
            has, wanted = ("no", "one") if layer.bias is None else ("a", "none")
            fact = f"`{name}` has {has} bias, and {wanted} is due."
            return Finding(Outcome.WRONG_SHAPE, fact, right=f"The size of `{name}` is right.")
    equal = _equal(given)
    if equal:
        one, two = (form.names[place] for place in equal)
        fact = (
            f"`{one}` and `{two}` are one and the same layer: what one learns, the other has too."
        )
        return Finding(Outcome.WRONG_VALUES, fact, right="The sizes of the layers are right.")
    return None
