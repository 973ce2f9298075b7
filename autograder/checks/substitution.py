"""Answers for a student's code that calls an earlier step: the reference's, or none.

The arguments come from untrusted code. What is computed from them is bounded before it
is computed, in the trusted process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from autograder.checks.fitting import fitting_call
from autograder.checks.given_answers import key_of
from autograder.checks.reference import Reference
from autograder.checks.written_values import written_values
from autograder.judging.inprocess import round_tripped
from autograder.model.request import Request, Returned
from autograder.protocol.arrays import to_library
from autograder.protocol.wire import Linear, Value

HALF, SINGLE = np.dtype(np.float16), np.dtype(np.float32)


def reference_answer(
    reference: Reference,
    step: str,
    arguments: tuple[Value, ...],
    keywords: Mapping[str, Value],
    cotangents: tuple[Value, ...] = (),
) -> Value | None:
    """Answer a call that a student's code makes of an earlier step; None refuses it.

    With `cotangents` (PyTorch only) the answer is the gradients of the tensors among the
    arguments, given those of the results.

    The arguments come from untrusted code. So a call is answered only when it fits
    the reference's signature, axis by axis, and is small: the work and the memory it
    takes are bounded. What one hand-in asked, another asks again: it is answered from
    memory, but for steps that draw anew at each call.
    """
    if reference.exercise.step(step).random:
        return _computed(reference, step, arguments, keywords, cotangents)
    given, key = reference.memories.given, key_of(step, arguments, keywords, cotangents)
    if key not in given:
        answer = _computed(reference, step, arguments, keywords, cotangents)
        given.keep(key, answer)
        return answer
    return given.again(key)


def _computed(
    reference: Reference,
    step: str,
    arguments: tuple[Value, ...],
    keywords: Mapping[str, Value],
    cotangents: tuple[Value, ...],
) -> Value | None:
    """Return the reference's answer to a call that fits, and None to another.

    Half precision, which no processor multiplies fast, is computed in single precision and
    answered in half.
    """
    function = getattr(reference.module, step)
    fitting = fitting_call(function, arguments, keywords, written_values(reference.exercise.folder))
    if fitting is None:
        return None
    arguments, keywords = fitting
    dtypes = {array.dtype for array in _arrays((*arguments, *keywords.values(), *cotangents))}
    if {dtype for dtype in dtypes if dtype.kind == "f"} != {HALF}:
        return _answer(reference, Request(step, arguments, keywords), cotangents)
    wide = Request(
        step,
        tuple(_cast(value, HALF, SINGLE) for value in arguments),
        {name: _cast(value, HALF, SINGLE) for name, value in keywords.items()},
    )
    answer = _answer(reference, wide, tuple(_cast(each, HALF, SINGLE) for each in cotangents))
    with np.errstate(over="ignore"):  # what is too large for half precision is infinite in it
        return _cast(answer, SINGLE, HALF)


def _answer(reference: Reference, request: Request, cotangents: tuple[Value, ...]) -> Value | None:
    if cotangents:
        function = getattr(reference.module, request.target)
        return gradients(function, request.arguments, cotangents, request.keywords)
    reply = reference.ask(request)
    return reply.value if isinstance(reply, Returned) else None


def _arrays(values: Iterable[Value]) -> Iterator[np.ndarray]:
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, tuple):
            yield from _arrays(value)
        elif isinstance(value, Linear):
            yield from _arrays((value.weight, value.bias))


def _cast(value: Value, source: np.dtype, target: np.dtype) -> Value:
    """Return `value` with its arrays of the type `source` cast to `target`."""
    if isinstance(value, np.ndarray):
        return value.astype(target) if value.dtype == source else value
    if isinstance(value, tuple):
        return tuple(_cast(item, source, target) for item in value)
    if isinstance(value, Linear):
        return Linear(_cast(value.weight, source, target), _cast(value.bias, source, target))
    return value


def gradients(
    function: Callable[..., Any],
    arguments: tuple[Value, ...],
    cotangents: tuple[Value, ...],
    keywords: Mapping[str, Value] | None = None,
) -> tuple[Value, ...]:
    """Return the gradients of the floating-point tensors in `arguments` and then in `keywords`.

    A layer's weight and bias are among them, and so is what a tuple holds. A tensor that no
    gradient reaches gets None. Raises RuntimeError or ValueError when the
    cotangents do not fit the results of the function.
    """
    import torch

    given = tuple(to_library(argument, "torch") for argument in arguments)
    named = {name: to_library(value, "torch") for name, value in (keywords or {}).items()}
    leaves = [leaf.requires_grad_() for leaf in _leaves((*given, *named.values()))]
    results = function(*given, **named)
    outputs = results if isinstance(results, tuple) else (results,)
    incoming = [to_library(cotangent, "torch") for cotangent in cotangents]
    # A result that no gradient reaches passes none on.
    reached = [pair for pair in zip(outputs, incoming, strict=True) if pair[1] is not None]
    sources, arriving = zip(*reached, strict=True)
    found = torch.autograd.grad(sources, leaves, arriving, allow_unused=True)
    return tuple(round_tripped(gradient, "torch") for gradient in found)


def _leaves(values: Iterable[Any]) -> Iterator[Any]:
    """Give the tensors that a gradient may reach, in the order in which the worker counts them."""
    import torch

    for value in values:
        if isinstance(value, torch.nn.Linear):
            yield from value.parameters()
        elif isinstance(value, tuple):
            yield from _leaves(value)
        elif isinstance(value, torch.Tensor) and value.is_floating_point():
            yield value
