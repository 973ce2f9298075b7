"""What a probe shows of some code: results and everything that goes along with them, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograder.judging.inprocess import copied
from autograder.model.request import Request
from autograder.protocol import arrays
from autograder.protocol.call import Call, perform
from autograder.protocol.crossing import from_library
from autograder.protocol.wire import SEEDS, Linear, Seed, Value
from autograder.verification.mutants.probing import Probe
from autograder.verification.mutants.quiet import enable_gradients, gradients_enabled, quiet


@dataclass(frozen=True)
class Observation:
    """What came of a probe; `error` is the type of the exception, and then nothing else is set.

    kinds: the types and dtypes of the result. gradients: of every input and parameter, None where
    none arrives. changed: the numbers of the arguments that were overwritten. enabled: whether
    gradients are still recorded afterwards. seeds: of which generators that all code shares a call
    sets the seed, which only a second call shows.
    """

    error: str = ""
    value: Value = None
    kinds: Any = None
    gradients: tuple[Value, ...] | None = None
    changed: tuple[int, ...] = ()
    attributes: Mapping[str, tuple[Any, Value]] = field(default_factory=dict)
    enabled: bool = True
    seeds: tuple[str, ...] = ()


def observe(names: Mapping[str, Any], probe: Probe, library: str) -> Observation:
    """Put a probe to the code in a namespace; what the code raises is part of what is seen."""
    arrays.seed(1)
    with quiet():
        try:
            return _twice(names, probe, library) if probe.twice else _once(names, probe, library)
        except Exception as error:
            return Observation(error=type(error).__name__)
        finally:
            enable_gradients(library)


def _once(names: Mapping[str, Any], probe: Probe, library: str) -> Observation:
    request = probe.request
    target = names[request.target]
    if request.method is not None:  # one instance for everything that is asked
        made = target(*_live(request.arguments, "", library))
        instance, target = made, lambda *_: made
    else:
        instance = None
    if probe.first is not None:
        perform(target, _call(probe.first, library))
    call = _call(request, library, strided=probe.strided)
    leaves = _leaves(call) if probe.gradient else []
    performed = perform(target, call)
    enabled = gradients_enabled(library) and "set_grad_enabled" not in performed.observations
    enable_gradients(library)
    if probe.gradient and instance is not None:
        leaves += [each for _, each in sorted(instance.named_parameters())]
    given = request.method_arguments if request.method else request.arguments
    read = {
        name: (_kinds(value), _data(value, library))
        for name, value in performed.attributes.items()
        if name != "*"
    }
    return Observation(
        value=_data(performed.value, library),
        kinds=_kinds(performed.value),
        gradients=_gradients(performed.value, leaves, library) if probe.gradient else None,
        changed=_changed(given, performed.after, request.dtype, library),
        attributes=read,
        enabled=enabled,
        seeds=tuple(seed for seed in SEEDS if seed in performed.observations),
    )


def _twice(names: Mapping[str, Any], probe: Probe, library: str) -> Observation:
    """Draws from generators of two seeds, and of the first again: which parts are the same?"""
    request, drawn = probe.request, []
    for turn in (0, 1, 0):
        arguments = [
            Seed(value.seed + turn) if isinstance(value, Seed) else value
            for value in request.arguments
        ]
        made = names[request.target](*_live(arguments, "", library), **dict(request.keywords))
        read = [getattr(made, name, None) for name in request.read if name != "*"]
        drawn.append(_data(tuple(read) if request.read else made, library))
    parts = [one if isinstance(one, tuple) else (one,) for one in drawn]
    words = ("other numbers", "equal numbers")
    first, second, again = parts
    pairs = (*zip(first, second), *zip(first, again))
    return Observation(value=tuple(words[_equal(one, other)] for one, other in pairs))


def _equal(one: Value, other: Value) -> bool:
    if isinstance(one, Linear) and isinstance(other, Linear):
        return bool(np.array_equal(one.weight, other.weight))
    # A few numbers say nothing, and sizes are the same in both.
    return isinstance(one, np.ndarray) and one.size > 3 and bool(np.array_equal(one, other))


def _live(values: Any, dtype: str, library: str) -> list[Any]:
    return [arrays.to_library(copied(value), library, dtype) for value in values]


def _call(request: Request, library: str, strided: bool = False) -> Call:
    def own(value: Value) -> Any:
        live = _live([value], request.dtype, library)[0]
        return _strided(live) if strided else live

    return Call(
        arguments=[own(value) for value in request.arguments],
        keywords={name: own(value) for name, value in request.keywords.items()},
        method=request.method,
        method_arguments=[own(value) for value in request.method_arguments],
        attributes={
            name: _live([value], request.dtype, library)[0]
            for name, value in request.attributes.items()
        },
        read=list(request.read),
        before=list(request.before),
        calls=request.calls,
        dtype=request.dtype,
        backward=_live([request.backward], request.dtype, library)[0],
        layouts=[],
        earlier=[],
        recording=True,
    )


def _strided(value: Any) -> Any:
    """Return the same array, laid out in memory with its axes reversed."""
    if isinstance(value, np.ndarray) and value.ndim > 1:
        return np.ascontiguousarray(value.T).T
    if type(value).__name__ == "Tensor" and value.dim() > 1:
        reverse = tuple(reversed(range(value.dim())))
        return value.permute(reverse).contiguous().permute(reverse)
    return value


def _leaves(call: Call) -> list[Any]:
    """Ask for the gradients of the tensors and layers among the inputs; return them."""
    import torch

    found: list[Any] = []
    inputs = call.method_arguments if call.method else call.arguments
    for value in (*inputs, *call.keywords.values()):
        if isinstance(value, torch.nn.Linear):
            found += value.parameters()
        elif isinstance(value, torch.Tensor) and value.is_floating_point():
            found.append(value.requires_grad_())
    return found


def _gradients(value: Any, leaves: list[Any], library: str) -> tuple[Value, ...]:
    import torch

    results = value if isinstance(value, tuple | list) else (value,)
    weighted = [
        (each * torch.linspace(0.5, 1.5, each.numel(), dtype=each.dtype).reshape(each.shape)).sum()
        for each in results
    ]
    found = torch.autograd.grad(sum(weighted[1:], weighted[0]), leaves, allow_unused=True)
    return tuple(None if each is None else _data(each, library) for each in found)


def _changed(given: Any, after: list[Any], dtype: str, library: str) -> tuple[int, ...]:
    numbers = []
    for number, (before, now) in enumerate(zip(given, after)):
        if isinstance(before, np.ndarray | Linear):
            asked, left = _data(_live([before], dtype, library)[0], library), _data(now, library)
            if not _same(asked, left):
                numbers.append(number)
    return tuple(numbers)


def _same(one: Value, other: Value) -> bool:
    if isinstance(one, Linear) and isinstance(other, Linear):
        return _same(one.weight, other.weight) and _same(one.bias, other.bias)
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other, equal_nan=True))
    return one is other


def _kinds(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return (type(value).__name__, *map(_kinds, value))
    if type(value).__name__ == "Linear":
        weight = value.weight
        return ("Linear", value.bias is not None, str(weight.dtype), weight.requires_grad)
    return (type(value).__name__, str(getattr(value, "dtype", "")).removeprefix("torch."))


def _data(value: Any, library: str) -> Value:
    """Return a value as data of its own, which later calls do not change."""
    if isinstance(value, tuple | list):
        return tuple(_data(part, library) for part in value)
    return copied(from_library(value, library))
