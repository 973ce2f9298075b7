"""What standing checks make of an author's question: the same one, asked in another way."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.checks.conversation import CheckQuestion
from autograder.checks.draw import Draw
from autograder.checks.layouts import Layouts
from autograder.checks.reference import Reference
from autograder.judging.beyond_values import are_shares
from autograder.judging.compare import FLOOR
from autograder.judging.expectation import Agrees
from autograder.model.request import Request
from autograder.protocol.call import EarlierCall
from autograder.protocol.wire import Linear, Seed, Value

# A softmax over a row that holds it and its negative overflows unless the row's own maximum is
# taken off. It is no larger than that takes: the digits of a larger one would be lost.
LARGE = {"float32": 300.0, "float64": 1e4}
# Below -1000, which looks like a mask and is none; a float32 there still has four digits behind it.
FAR_DOWN = {"float32": 1016.0, "float64": 2.0**14}


def spread_out(scores: np.ndarray) -> np.ndarray:
    """Rows that each hold very large and very small scores, the largest in another place each."""
    largest = LARGE[scores.dtype.name]
    row = np.resize(np.array([largest, 0.0, -largest]), scores.shape[-1])
    large = np.stack([np.roll(row, place) for place in range(scores.shape[-2])])
    spread: np.ndarray = (_rounded(scores) + large).astype(scores.dtype)
    return spread


def far_down(scores: np.ndarray) -> np.ndarray:
    """Every second row far below the others, and a last score of -inf: a mask may write that.

    In the other rows, a score is 0, which is one like any other.
    """
    rows = _rounded(scores)
    rows[..., ::2, :] -= FAR_DOWN[scores.dtype.name]
    rows[..., 1::4, -2] = rows[..., 3::4, 0] = 0  # above the diagonal and below
    rows[..., -1] = -np.inf
    return rows.astype(scores.dtype)


def _rounded(scores: np.ndarray) -> np.ndarray:
    """Multiples that float32 holds exactly, even when large ones are added."""
    return np.round(64 * scores) / 64


def enlarged_argument(question: CheckQuestion) -> int | None:
    """Return the number of the argument of a function that may be 1024 times as large.

    It is the first array. Shares that sum to 1 stay as they are, and the next array is taken. So
    do scores that become shares: those of large scores hang on their last digits.
    """
    request, expectation = question.request, question.expectation
    assert isinstance(expectation, Agrees)
    if isinstance(expectation.expected, np.ndarray) and are_shares(expectation.expected):
        return None
    for place, value in enumerate(request.arguments):
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and not are_shares(value):
            return place
    return None


def with_zeros(request: Request, place: int | None, factor: float) -> Request:
    """Return a request with every third number of an argument 0, and the others `factor` times."""
    if place is None:
        return request
    arguments = list(request.arguments)
    numbers = factor * arguments[place]
    numbers.flat[::3] = 0
    arguments[place] = numbers
    return replace(request, arguments=tuple(arguments))


def earlier_call(request: Request, other: Request) -> EarlierCall:
    """The call of `other` as one before that of `request`, on the same instance if it fits."""
    made = request.method is not None and made_of(other) == made_of(request)
    arguments = None if made else other.arguments
    return EarlierCall(arguments, other.method_arguments, other.keywords)


def by_position(request: Request, reference: Reference) -> Request:
    """Return a call of a method with what it was given by name given by position, where it can be.

    Whoever calls it may do either.
    """
    if not request.method or not request.keywords:
        return request
    called = getattr(getattr(reference.module, request.target), request.method)
    parameters = list(inspect.signature(called).parameters.values())[1:]
    given, keywords = list(request.method_arguments), dict(request.keywords)
    for parameter in parameters[len(given) :]:
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.name not in keywords:
            break
        given.append(keywords.pop(parameter.name))
    return replace(request, method_arguments=tuple(given), keywords=keywords)


def takes_numbers(question: CheckQuestion) -> bool:
    """Say whether a method is first given an array of vectors of floating-point numbers."""
    given = question.request.method_arguments[:1]
    return any(_is_floating(value) and np.ndim(value) > 1 for value in given)


def with_inputs_of(request: Request, other: Request) -> Request:
    """Return another question about a method with the inputs of `request`, if they fit."""
    pairs = list(zip(request.method_arguments, other.method_arguments))
    if any(np.shape(own) != np.shape(value) for own, value in pairs):
        return other
    given = [own if isinstance(value, np.ndarray) else value for own, value in pairs]
    rest = other.method_arguments[len(pairs) :]
    return replace(other, method_arguments=(*given, *rest))


def made_of(request: Request) -> list[Any]:
    """Return what an instance is made of: the sizes it is given, and the shapes of its weights."""
    sizes = [value for value in request.arguments if not isinstance(value, Seed)]
    return [sizes, {name: np.shape(value) for name, value in request.attributes.items()}]


def transposed(request: Request) -> Layouts:
    """Layouts for a method's arguments, as after a transpose of their last two axes."""
    return tuple(
        (*range(value.ndim - 2), value.ndim - 1, value.ndim - 2)
        if isinstance(value, np.ndarray) and value.ndim > 1
        else None
        for value in request.method_arguments
    )


def cotangent(question: CheckQuestion, draw: Draw) -> Value:
    """Gradients to propagate back from a result, or None where nothing would receive them.

    Where a score is forbidden the gradient is 0: there it is very negative in many right ways.
    """
    given, expectation = question.request.inputs, question.expectation
    assert isinstance(expectation, Agrees)
    results = expectation.expected
    several = isinstance(results, tuple)
    parts = results if several else (results,)
    if not any(map(_is_floating, given)) or not all(map(_is_floating, parts)):
        return None
    drawn = draw.beside("backward", {})
    gradients = tuple(
        np.where(part <= FLOOR, 0, drawn.shaped(*part.shape)).astype(part.dtype) for part in parts
    )
    return gradients if several else gradients[0]


def _is_floating(value: Value) -> bool:
    if isinstance(value, np.ndarray):
        return bool(value.dtype.kind == "f")
    return isinstance(value, Linear)


def with_seed(request: Request, number: int) -> Request:
    """The same request, with generators of other seeds."""
    arguments = tuple(
        Seed(value.seed + 1 + number) if isinstance(value, Seed) else value
        for value in request.arguments
    )
    return replace(request, arguments=arguments)
