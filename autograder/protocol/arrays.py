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
    a module; floating-point numbers are cast to `dtype`, or left as they are when it is "".
    """
    if isinstance(value, wire.Seed):
        return np.random.default_rng(value.seed)
    if isinstance(value, tuple):
        return tuple(to_library(item, library, dtype) for item in value)
    if library == "torch" and isinstance(value, np.ndarray):
        torch = importlib.import_module("torch")
        tensor = torch.from_numpy(value)
        return tensor.to(getattr(torch, dtype)) if dtype and tensor.is_floating_point() else tensor
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
    """Return a module with its floating-point parameters as `dtype`."""
    return instance.to(getattr(importlib.import_module("torch"), dtype))


def propagate(value: Any, gradient: Any) -> None:
    """Propagate a gradient back from a result."""
    value.backward(gradient)


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
