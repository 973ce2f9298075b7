"""The array library of an exercise: imported and warmed up once, before any fork.

With PyTorch, imports and initialisation on a worker's first call would cost up
to 700 ms; done here, they cost no worker anything. There is only one thread,
since a fork of a process with a thread pool may hang forever.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import random
import sys
from typing import Any

import numpy as np

from autograder.protocol import wire

_LIKELY = ("dataclasses", "functools", "itertools", "math", "typing", "jaxtyping")


def warm_up(library: str) -> None:
    """Import and use what students are likely to use; raise ImportError when it is missing."""
    for name in _LIKELY:
        if importlib.util.find_spec(name):
            importlib.import_module(name)
    square = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    np.einsum("ij,jk->ik", np.exp(square), square @ square)
    np.linalg.svd(square)
    module = importlib.import_module(library)
    if library == "torch":
        _warm_up_torch(module)
    gc.collect()
    gc.freeze()  # or every collection in a worker would copy the whole library's pages


def _warm_up_torch(torch: Any) -> None:
    torch.set_num_threads(1)
    entry = torch.randn(2, 8, 8, requires_grad=True)
    linear = torch.nn.Linear(8, 8)
    (linear(entry) @ entry.transpose(-2, -1)).softmax(-1).sum().backward()
    torch.optim.AdamW(linear.parameters()).step()
    torch.set_num_threads(1)


def seed(number: int) -> None:
    """Seed every generator that student code may draw from."""
    random.seed(number)
    np.random.seed(number % (1 << 32))
    if torch := sys.modules.get("torch"):
        torch.default_generator.manual_seed(number)  # without looking for graphics cards


def to_library(value: wire.Value, library: str, dtype: str = "") -> Any:
    """Return what a student's function gets for a value that crossed the wire.

    A seed becomes a NumPy generator. With PyTorch, an array becomes a tensor and a linear layer
    a module. Floating-point numbers are cast to `dtype`, or left as they are when it is "".
    """
    if isinstance(value, wire.Seed):
        return np.random.default_rng(value.seed)
    if isinstance(value, tuple):
        return tuple(to_library(item, library, dtype) for item in value)
    if library == "torch" and isinstance(value, np.ndarray):
        torch = importlib.import_module("torch")
        tensor = torch.from_numpy(value)
        return tensor.to(getattr(torch, dtype)) if dtype and tensor.is_floating_point() else tensor
    if isinstance(value, np.ndarray):
        return value.astype(dtype) if dtype and value.dtype.kind == "f" else value
    if isinstance(value, wire.Linear):
        return _module(value, dtype)
    return value


def _module(linear: wire.Linear, dtype: str) -> Any:
    torch = importlib.import_module("torch")
    outputs, inputs = linear.weight.shape
    module = torch.nn.Linear(inputs, outputs, bias=linear.bias is not None)
    module.weight = torch.nn.Parameter(to_library(linear.weight, "torch", dtype))
    if linear.bias is not None:
        module.bias = torch.nn.Parameter(to_library(linear.bias, "torch", dtype))
    return module


def from_library(value: Any, library: str = "numpy") -> Any:
    """Return the form in which a student's value can cross the wire.

    A tensor becomes an array (bfloat16 as float32), and a linear layer its weight and bias. A
    NumPy array where tensors are expected becomes `Opaque`.
    """
    torch = sys.modules.get("torch")
    if torch and issubclass(type(value), torch.Tensor):
        plain = value.detach().cpu().resolve_conj()
        return (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()
    if torch and isinstance(value, torch.nn.Linear):
        bias = None if value.bias is None else from_library(value.bias)
        return wire.Linear(from_library(value.weight), bias)
    if library == "torch" and issubclass(type(value), np.ndarray):
        return wire.Opaque("numpy.ndarray")
    if type(value) in (tuple, list):
        return [from_library(item, library) for item in value]
    return value


def cast(instance: Any, dtype: str) -> Any:
    """Return an instance with its floating-point parameters as `dtype`.

    What is no module of PyTorch holds arrays, which came in that type.
    """
    torch = sys.modules.get("torch")
    if torch and isinstance(instance, torch.nn.Module):
        return instance.to(getattr(torch, dtype))
    return instance


def laid_out(value: Any, order: list[int]) -> Any:
    """Return an array or tensor with the same numbers, whose axes lie in memory in this order."""
    back = sorted(range(len(order)), key=order.__getitem__)
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value.transpose(order)).transpose(back)
    return value.permute(order).contiguous().permute(back)


def flipped(value: Any) -> Any:
    """Return an array or tensor with the numbers along its first axis in reverse, else `value`."""
    torch = sys.modules.get("torch")
    if torch and isinstance(value, torch.Tensor) and value.dim():
        return value.flip(0)
    return value[::-1].copy() if isinstance(value, np.ndarray) and value.ndim else value


def tracked(value: Any, leaves: list[Any]) -> Any:
    """Return an argument that passes gradients on; what receives them is added to `leaves`."""
    torch = sys.modules["torch"]
    if isinstance(value, torch.nn.Linear):
        leaves += value.parameters()
    elif isinstance(value, torch.Tensor) and value.is_floating_point():
        leaves.append(value.detach().requires_grad_())
        return leaves[-1].clone()  # which the code may change in place, as it may any tensor
    return value


def propagate(value: Any, gradient: Any) -> None:
    """Propagate gradients back from a result, or from each of several.

    Nothing is propagated from what has lost its connection to the inputs.
    """
    torch = sys.modules["torch"]
    several = isinstance(gradient, tuple)
    pairs = zip(value, gradient) if several else [(value, gradient)]
    connected = [pair for pair in pairs if getattr(pair[0], "requires_grad", False)]
    if connected:
        results, arriving = zip(*connected)
        torch.autograd.backward(results, arriving)


class Settings:
    """The settings of PyTorch that a student's code must leave as they are."""

    def __init__(self) -> None:
        self._before = self._now()

    def changed(self) -> list[str]:
        """Return the names of those that are not as they were."""
        now = self._now()
        return [name for name, setting in self._before.items() if now[name] != setting]

    def restore(self) -> None:
        """Set all of them as they were."""
        if self.changed():
            torch = sys.modules["torch"]
            torch.set_grad_enabled(self._before["set_grad_enabled"])
            torch.set_default_dtype(self._before["set_default_dtype"])

    def _now(self) -> dict[str, Any]:
        torch = sys.modules.get("torch")
        if torch is None:
            return {}
        return {
            "set_grad_enabled": torch.is_grad_enabled(),
            "set_default_dtype": torch.get_default_dtype(),
        }


def put(instance: Any, name: str, value: Any) -> None:
    """Set an attribute by its dotted name; a PyTorch parameter is overwritten in place."""
    *path, last = name.split(".")
    for part in path:
        instance = getattr(instance, part)
    torch = sys.modules.get("torch")
    if torch and isinstance(getattr(instance, last, None), torch.nn.Parameter):
        with torch.no_grad():
            getattr(instance, last).copy_(value)
    else:
        setattr(instance, last, value)


def read(instance: Any, name: str) -> Any:
    """Return an attribute by its dotted name; raise AttributeError when it does not exist.

    "*" stands for the names of all attributes, including a module's parameters.
    """
    if name == "*":
        named = getattr(instance, "named_parameters", None)
        parameters = [str(key) for key, _ in named()] if named else []
        plain = [key for key in vars(instance) if not key.startswith("_") and key != "training"]
        return [*parameters, *plain]
    for part in name.split("."):
        instance = getattr(instance, part)
    return instance


def shape(value: Any) -> tuple[int, ...] | None:
    """Return the shape of an array or tensor, whatever its class claims; else None."""
    if issubclass(type(value), np.ndarray):
        return tuple(np.ndarray.shape.__get__(value))
    torch = sys.modules.get("torch")
    if torch and issubclass(type(value), torch.Tensor):
        return tuple(torch.Tensor.size(value))
    return None
