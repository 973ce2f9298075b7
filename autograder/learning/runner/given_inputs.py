"""What a worked example hands to the learner's code: named as in their own signature.

The axes are those of the exercise: a learner may leave out the annotations, or write a `lambda`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from autograder.errors import KitError
from autograder.judging.value_words import shape_words
from autograder.learning.runner.parameters import Parameters
from autograder.learning.runner.results import GivenInput
from autograder.model.request import Request
from autograder.model.signature import signature_of
from autograder.protocol.wire import Linear, Seed, Value

MOST_NUMBERS = 400  # of an input that is drawn


def inputs_to_show(
    request: Request, names: Mapping[str, Any], given: Mapping[str, Parameters]
) -> list[dict[str, Any]]:
    """Return the inputs of a request as the fields of `GivenInput`, in the order of the call.

    names: what the learner's code defines. given: the parameters that were handed out.
    """
    return [asdict(each) for each in given_inputs(request, names, given)]


def given_inputs(
    request: Request, names: Mapping[str, Any], given: Mapping[str, Parameters]
) -> Iterator[GivenInput]:
    """Give the arguments, the options, and the weights that are put into a layer."""
    target, method = names.get(request.target), request.method or ""
    made = _known(_parameters(target), given.get(request.target, ()))
    called = _parameters(getattr(target, method, None))
    called = _known(called, given.get(f"{request.target}.{method}", ()))
    yield from _named(request.arguments, made)
    yield from _named(request.method_arguments, called)
    for name, value in request.keywords.items():
        yield _input(name, None, value)
    for name, value in request.attributes.items():
        yield _input(f"self.{name}", None, value, drawn=False)


def _parameters(function: Any) -> Parameters:
    try:
        return signature_of(function).parameters if callable(function) else ()
    except KitError:  # the learner's own annotations cannot be read
        return ()


def _known(own: Parameters, given: Parameters) -> Parameters:
    """Return the learner's own names with the axes that were handed out, as far as each goes."""
    both = [(name, axes) for (name, _), (_, axes) in zip(own, given)]
    return [*both, *own[len(both) :], *given[len(both) :]]


def _named(values: tuple[Value, ...], parameters: Parameters) -> Iterator[GivenInput]:
    unknown = ((f"argument {number}", None) for number in range(len(parameters) + 1, 100))
    for value, (name, axes) in zip(values, (*parameters, *unknown)):
        yield _input(name, axes, value)


def _input(name: str, axes: str | None, value: Value, *, drawn: bool = True) -> GivenInput:
    if isinstance(value, np.ndarray):
        plain = drawn and value.ndim > 0 and value.dtype.kind in "biuf"
        small = plain and value.size <= MOST_NUMBERS
        words = f"{name} {shape_words(value.shape, axes)}"
        return GivenInput(name, axes, words, value.tolist() if small else None)
    return GivenInput(name, None, f"{name} = {_words(value)}")


def _words(value: Value) -> str:
    match value:
        case Seed(seed=seed):
            return f"a generator with the seed {seed}"
        case Linear(weight=weight, bias=bias):
            outputs, inputs = weight.shape
            without = "" if bias is not None else ", without a bias"
            return f"a linear layer from {inputs} to {outputs}{without}"
    return repr(value)
