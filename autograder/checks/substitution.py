"""Answers for a student's code that calls an earlier step: the reference's, or none.

The arguments come from untrusted code. What is computed from them is bounded before it
is computed, in the trusted process.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from autograder.checks.reference import Reference
from autograder.judging.inprocess import round_tripped
from autograder.model.request import Request, Returned
from autograder.model.signature import signature_of
from autograder.protocol.arrays import to_library
from autograder.protocol.wire import Linear, Seed, Value

LARGEST_ANSWER = 1 << 14
LARGEST_AXIS = 256
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
    takes are bounded. Half precision, which no processor multiplies fast, is computed
    in single precision and answered in half.
    """
    function = getattr(reference.module, step)
    try:
        bound = inspect.signature(function).bind(*arguments, **keywords)
    except TypeError:
        return None
    if not _fits(bound.arguments, dict(signature_of(function).parameters)):
        return None
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
        arguments = (*request.arguments, *request.keywords.values())
        return gradients(function, arguments, cotangents)
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
    function: Callable[..., Any], arguments: tuple[Value, ...], cotangents: tuple[Value, ...]
) -> tuple[Value, ...]:
    """Return the gradients of the tensors in `arguments`, a layer's weight and bias among them.

    A tensor that no gradient reaches gets None. Raises RuntimeError or ValueError when the
    cotangents do not fit the results of the function.
    """
    import torch

    given = [to_library(argument, "torch") for argument in arguments]
    leaves: list[torch.Tensor] = []
    for value in given:
        if isinstance(value, torch.nn.Linear):
            leaves += value.parameters()
        elif isinstance(value, torch.Tensor):
            leaves.append(value.requires_grad_())
    results = function(*given)
    outputs = results if isinstance(results, tuple) else (results,)
    incoming = [to_library(cotangent, "torch") for cotangent in cotangents]
    # A result that no gradient reaches passes none on.
    reached = [pair for pair in zip(outputs, incoming, strict=True) if pair[1] is not None]
    sources, arriving = zip(*reached, strict=True)
    found = torch.autograd.grad(sources, leaves, arriving, allow_unused=True)
    return tuple(round_tripped(gradient, "torch") for gradient in found)


def _fits(arguments: Mapping[str, Value], axes: Mapping[str, str | None]) -> bool:
    sizes: dict[str, int] = {}
    for name, value in arguments.items():
        letters = axes.get(name)
        if letters is None:
            if not _is_small(value):
                return False
            continue
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
            return False
        if value.ndim != len(letters.split()) or not 0 < value.size <= LARGEST_ANSWER:
            return False
        for letter, size in zip(letters.split(), value.shape):
            if size > LARGEST_AXIS or sizes.setdefault(letter, size) != size:
                return False
    return True


def _is_small(value: Value) -> bool:
    if isinstance(value, Linear):
        return all(size <= LARGEST_AXIS for size in value.weight.shape)
    small = type(value) is int and 0 <= value <= LARGEST_AXIS
    return small or type(value) is bool or isinstance(value, Seed)
