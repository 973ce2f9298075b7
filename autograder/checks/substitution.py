"""Answers for a student's code that calls an earlier step: the reference's, or none.

The arguments come from untrusted code. What is computed from them is bounded before it
is computed, in the trusted process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any

import numpy as np

from autograder.checks.fitting import fitting_call
from autograder.checks.reference import Reference
from autograder.checks.written_values import written_values
from autograder.judging.inprocess import copied, round_tripped
from autograder.model.request import Request
from autograder.protocol.arrays import Generators, held, to_library
from autograder.protocol.autograd import weighted_sum
from autograder.protocol.call import result_of
from autograder.protocol.wire import Linear, Seed, Value

HALF, SINGLE = np.dtype(np.float16), np.dtype(np.float32)


def reference_answer(
    reference: Reference,
    step: str,
    arguments: tuple[Value, ...],
    keywords: Mapping[str, Value],
    cotangents: tuple[Value, ...] = (),
) -> Value | None:
    """Answer a call that a student's code makes of an earlier step; None refuses it.

    Raises what the reference raises.

    With `cotangents` (PyTorch only) the answer is the gradients of the tensors among the
    arguments, given those of the results.

    The arguments come from untrusted code. So a call is answered only when it fits
    the reference's signature, axis by axis, and is small: the work and the memory it
    takes are bounded. Half precision, which no processor multiplies fast, is computed in
    single precision and answered in half.
    """
    function = getattr(reference.module, step)
    fitting = fitting_call(function, arguments, keywords, written_values(reference.exercise.folder))
    if fitting is None:
        return None
    arguments, keywords = fitting
    dtypes = {array.dtype for array in _arrays((*arguments, *keywords.values(), *cotangents))}
    if {dtype for dtype in dtypes if dtype.kind == "f"} != {HALF}:
        return _answer(reference, step, arguments, keywords, cotangents)
    wide = _cast((arguments, tuple(keywords.values()), cotangents), HALF, SINGLE)
    answer = _answer(reference, step, wide[0], dict(zip(keywords, wide[1])), wide[2])
    with np.errstate(over="ignore"):  # what is too large for half precision is infinite in it
        return _cast(answer, SINGLE, HALF)


def unanswerable_steps(reference: Reference, request: Request) -> tuple[str, ...]:
    """Return the steps that the reference would not answer for while a class does `request`.

    Of a hand-in whose step is wrong, a later one could then lose points for it. Raises KitError.
    """
    written = written_values(reference.exercise.folder)
    found: list[str] = []

    def plain(value: Any) -> Value:  # of a generator, a worker hands over a seed
        generator = isinstance(value, np.random.Generator)
        return Seed(0) if generator else round_tripped(value, reference.exercise.library)

    def watched(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)  # its annotations name the axes
        def step(*arguments: Any, **keywords: Any) -> Any:
            given, named = tuple(map(plain, arguments)), map(plain, keywords.values())
            if fitting_call(function, given, dict(zip(keywords, named)), written) is None:
                found.append(name)
            return function(*arguments, **keywords)

        return step

    steps = {name: watched(name, each) for name, each in reference.functions.items()}
    with reference.replaced(steps):
        reference.ask(request)
    return tuple(dict.fromkeys(found))


def _answer(
    reference: Reference,
    step: str,
    arguments: tuple[Value, ...],
    keywords: Mapping[str, Value],
    cotangents: tuple[Value, ...],
) -> Value | None:
    function, library = getattr(reference.module, step), reference.exercise.library
    if cotangents:
        return gradients(function, arguments, cotangents, keywords)
    generators = Generators()

    def own(value: Value) -> Any:
        return to_library(copied(value), library, generators=generators)

    given, named = list(map(own, arguments)), {name: own(each) for name, each in keywords.items()}
    with np.errstate(all="ignore"):
        return round_tripped(held(result_of(function, given, named)), library)


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
    gradient reaches gets None. Raises ValueError when the cotangents do not fit the results of the
    function, and RuntimeError when no gradient passes through them.
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
    if any(output.shape != arriving.shape for output, arriving in reached):
        raise ValueError("the gradients do not have the shapes of the results")
    if not any(output.requires_grad for output, _ in reached):
        raise RuntimeError("no gradient passes through the results")
    found = torch.autograd.grad(weighted_sum(reached), leaves, allow_unused=True)
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
