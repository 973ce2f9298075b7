"""Answers for a student's code that calls an earlier step: the reference's, or none.

The arguments come from untrusted code. What is computed from them is bounded before it
is computed, in the trusted process.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autograder.checks.reference import Reference
from autograder.inprocess import crossed
from autograder.request import Request, Returned
from autograder.signature import signature_of
from autograder.wire import Linear, Seed, Value
from autograder.worker.library import inward

LARGEST_ANSWER = 1 << 14
LARGEST_AXIS = 256


def lean(
    reference: Reference,
    step: str,
    arguments: tuple[Value, ...],
    keywords: Mapping[str, Value],
    cotangents: tuple[Value, ...] = (),
) -> Value | None:
    """Answer a call that a student's code makes of an earlier step; None refuses it.

    With `cotangents` (PyTorch only) the answer is the gradients of the tensors among the
    arguments, given those of the results.

    The arguments come from untrusted code, so only a call that fits the
    reference's signature is answered, axis by axis, and only a small one: the
    work and the memory it takes are bounded.
    """
    function = getattr(reference.module, step)
    try:
        bound = inspect.signature(function).bind(*arguments, **keywords)
    except TypeError:
        return None
    if not _fits(bound.arguments, dict(signature_of(function).parameters)):
        return None
    if cotangents:
        return gradients(function, (*arguments, *keywords.values()), cotangents)
    reply = reference.ask(Request(step, arguments, keywords))
    return reply.value if isinstance(reply, Returned) else None


def gradients(
    function: Callable[..., Any], arguments: tuple[Value, ...], cotangents: tuple[Value, ...]
) -> tuple[Value, ...]:
    """Return the gradients of the tensors in `arguments`, a layer's weight and bias among them.

    A tensor that no gradient reaches gets None. Raises RuntimeError or ValueError when the
    cotangents do not fit the results of the function.
    """
    import torch

    given = [inward(argument, "torch") for argument in arguments]
    leaves: list[torch.Tensor] = []
    for value in given:
        if isinstance(value, torch.nn.Linear):
            leaves += value.parameters()
        elif isinstance(value, torch.Tensor):
            leaves.append(value.requires_grad_())
    results = function(*given)
    outputs = results if isinstance(results, tuple) else (results,)
    due = [inward(cotangent, "torch") for cotangent in cotangents]
    # A result that no gradient reaches gives none to what it is made of.
    reached = [pair for pair in zip(outputs, due, strict=True) if pair[1] is not None]
    sources, arriving = zip(*reached, strict=True)
    found = torch.autograd.grad(sources, leaves, arriving, allow_unused=True)
    return tuple(crossed(gradient, "torch") for gradient in found)


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
