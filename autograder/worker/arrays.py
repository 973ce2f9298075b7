"""The array library of an exercise: imported and warmed up once, before any fork.

With PyTorch, imports and initialisation on a worker's first call would cost up
to 700 ms; done here, they cost no worker anything. There is only one thread,
since a fork of a process with a thread pool may hang forever.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import itertools
import operator
import random
import sys
from collections.abc import Collection, Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from autograder.worker import wire

_LIKELY = ("dataclasses", "functools", "itertools", "math", "typing", "jaxtyping")

# What a call makes is freed by counting: to search for cycles after each 700 objects took a
# twentieth of a worker's time.
_NEW_OBJECTS = 10_000


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
    gc.set_threshold(_NEW_OBJECTS)
    gc.freeze()  # or every collection in a worker would copy the whole library's pages


def _warm_up_torch(torch: Any) -> None:
    torch.set_num_threads(1)
    # For a product in half precision, oneDNN writes a program for each size, which takes a hundred
    # times as long as so small a product does without it. Above some 128 numbers a side it would
    # pay, but no check asks for so many in that precision; 512 a side take a tenth of a second.
    torch.backends.mkldnn.enabled = False
    entry = torch.randn(2, 8, 8, requires_grad=True)
    linear = torch.nn.Linear(8, 8)
    (linear(entry) @ entry.transpose(-2, -1)).softmax(-1).sum().backward()
    torch.set_num_threads(1)


def seed(number: int) -> None:
    """Seed every generator that student code may draw from."""
    random.seed(number)
    np.random.seed(number % (1 << 32))
    if torch := sys.modules.get("torch"):
        torch.default_generator.manual_seed(number)  # without looking for graphics cards


Generators = dict[int, np.random.Generator]  # by their seeds


def to_library(
    value: wire.Value, library: str, dtype: str = "", generators: Generators | None = None
) -> Any:
    """Return what a student's function gets for a value that crossed the wire.

    A seed becomes a NumPy generator; with `generators`, equal seeds become one and the same. With
    PyTorch, an array becomes a tensor and a linear layer a module. Floating-point numbers are cast
    to `dtype`, or left as they are when it is "".
    """
    if isinstance(value, np.ndarray):
        cast = dtype and value.dtype.kind == "f"
        if library == "torch":
            torch = sys.modules.get("torch") or importlib.import_module("torch")
            tensor = torch.from_numpy(value)
            return tensor.to(getattr(torch, dtype)) if cast else tensor
        return value.astype(dtype) if cast else value
    if isinstance(value, tuple):
        return tuple(to_library(item, library, dtype, generators) for item in value)
    if isinstance(value, wire.Seed):
        shared = {} if generators is None else generators
        if value.seed not in shared:
            shared[value.seed] = np.random.default_rng(value.seed)
        return shared[value.seed]
    if isinstance(value, wire.Linear):
        return _module(value, dtype)
    return value


def _module(linear: wire.Linear, dtype: str) -> Any:
    """Return PyTorch's own linear layer with these weights; no random number is drawn for it."""
    torch = importlib.import_module("torch")
    # Where it is defined: code may put something else in the place of `torch.nn.Linear`.
    kind = importlib.import_module("torch.nn.modules.linear").Linear
    module = kind.__new__(kind)
    torch.nn.Module.__init__(module)
    outputs, inputs = linear.weight.shape
    module.in_features, module.out_features = inputs, outputs
    for name, array in (("weight", linear.weight), ("bias", linear.bias)):
        values = None if array is None else to_library(array, "torch", dtype)
        module.register_parameter(name, None if values is None else torch.nn.Parameter(values))
    return module


def boolean_masks(values: list[Any], error: TypeError) -> list[Any] | None:
    """Return the values with arrays of only 0 and 1 as booleans, where `~` on one raised `error`.

    None when that is not what happened: a mask of numbers is right, and so is one of booleans.
    """
    if "'invert'" not in str(error):
        return None
    masks = [_as_mask(value) for value in values]
    return masks if any(map(operator.is_not, masks, values)) else None


def _as_mask(value: Any) -> Any:
    if type(value) is not np.ndarray or value.dtype.kind != "f":
        return value
    return value.astype(bool) if ((value == 0) | (value == 1)).all() else value


def is_number_mask(value: Any) -> bool:
    """Say whether a value is an array that holds only 0 and 1, as numbers."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iuf" or not value.ndim:
        return False
    return bool(((value == 0) | (value == 1)).all())


def as_boolean(value: Any) -> Any:
    """Return a mask of numbers as one of booleans, and anything else as it is."""
    plain = value.detach().numpy() if hasattr(value, "detach") else value
    if not is_number_mask(plain):
        return value
    return value.astype(bool) if isinstance(value, np.ndarray) else value.bool()


def cast(instance: Any, dtype: str) -> Any:
    """Return an instance with its floating-point parameters as `dtype`.

    What is no module of PyTorch, and holds none, holds arrays, which came in that type. Raises
    AttributeError for what only holds modules: nothing casts these with it.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return instance
    modules = (instance, *getattr(instance, "__dict__", {}).values())
    if any(isinstance(each, torch.nn.Module) for each in modules):
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


def equal(value: Any, other: Any) -> bool:
    """Say whether two values are arrays or tensors that hold the same numbers."""
    torch = sys.modules.get("torch")
    if torch and isinstance(value, torch.Tensor) and isinstance(other, torch.Tensor):
        return bool(torch.equal(value, other))
    both = isinstance(value, np.ndarray) and isinstance(other, np.ndarray)
    return both and np.array_equal(value, other)


def snapshot(value: Any) -> list[Any]:
    """Return copies of the arrays or tensors of a result, to see later whether they are `alike`."""
    torch = sys.modules.get("torch")
    parts = value if type(value) in (tuple, list) else (value,)
    copies: list[Any] = []
    for part in parts:
        if torch and type(part) is torch.Tensor:
            copies.append(part.detach().clone())
        elif type(part) is np.ndarray and part.dtype.kind in "biufc":
            copies.append(part.copy())
    return copies


def alike(value: Any, copy: Any) -> bool:
    """Say whether two arrays or tensors hold the same, also where that is no number."""
    if equal(value, copy):  # as nearly always, and NaN is not sought then
        return True
    library = np if isinstance(value, np.ndarray) else sys.modules["torch"]
    return equal(library.nan_to_num(value), library.nan_to_num(copy))


def held(value: Any) -> Any:
    """Return a value that can be looked at twice: what a generator or `map` gives, as a tuple."""
    if isinstance(value, Iterator):
        return tuple(itertools.islice(value, wire.MAX_ITEMS + 1))
    return value


def put(instance: Any, name: str, value: Any) -> None:
    """Set an attribute by its dotted name; a PyTorch parameter is overwritten in place.

    A parameter of a lazy layer gets the shape of the value. Raises AttributeError where there is
    none to set.
    """
    *path, last = name.split(".")
    for part in path:
        instance = getattr(instance, part)
    if isinstance(instance, type | ModuleType):  # everybody shares it, in a notebook too
        raise AttributeError(f"{wire.type_name(instance)} object has no attribute {last!r}")
    torch = sys.modules.get("torch")
    current: Any = getattr(instance, last, None)
    if not (torch and issubclass(type(current), torch.nn.Parameter)):
        return _set(instance, last, value)
    if issubclass(type(current), torch.nn.parameter.UninitializedParameter):
        current.materialize(tuple(value.shape))
    with torch.no_grad():
        current.copy_(value)


def _set(instance: Any, name: str, value: Any) -> None:
    """Set a plain attribute, of a frozen dataclass too."""
    try:
        setattr(instance, name, value)
    except AttributeError:
        object.__setattr__(instance, name, value)


def read(instance: Any, name: str) -> Any:
    """Return an attribute by its dotted name; raise AttributeError when it does not exist.

    "*" stands for the names of all attributes, including a module's parameters and slots.
    """
    if name == "*":
        named = getattr(instance, "named_parameters", None)
        parameters = [str(key) for key, _ in named()] if named else []
        listed = (*getattr(instance, "__dict__", ()), *_slots(type(instance)))
        plain = [key for key in listed if not key.startswith("_") and key != "training"]
        return [*parameters, *plain][: wire.MAX_ITEMS]
    for part in name.split("."):
        instance = getattr(instance, part)
    return instance


def _slots(kind: type) -> Iterator[str]:
    """Give the names in `__slots__` of a class and of those that it builds on."""
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        yield from (slots,) if isinstance(slots, str) else slots


def shape(value: Any) -> tuple[int, ...] | None:
    """Return the shape of an array or tensor, whatever its class claims; None when it has none."""
    if issubclass(type(value), np.ndarray):
        return tuple(np.ndarray.shape.__get__(value))
    torch = sys.modules.get("torch")
    if not (torch and issubclass(type(value), torch.Tensor)):
        return None
    try:
        return tuple(torch.Tensor.size(value))
    except Exception:  # a nested tensor, or a parameter that waits for its first input
        return None


# An import in a submission's own code finds what its exercise has, on every machine alike.
#
# Without this, `import torch` in a NumPy exercise fails as "not found" where PyTorch is not
# installed, and anywhere else with whatever breaks first under the limits on memory and threads.
# It is no protection: the sandbox is. Code that gets around it meets those limits again.

_IMPORTING = ("importlib", "_frozen_importlib")


class ImportGuard:
    """Refuses packages that an exercise does not have to code in the files `own`.

    `packages` are those that it has, besides Python's own modules. A library's own imports are
    not asked about, so that it may load whatever it needs.
    """

    def __init__(self, packages: Collection[str], own: Collection[str]) -> None:
        self._there = {*sys.stdlib_module_names, *packages}
        self._own = own

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Leave the search to the others, or raise ModuleNotFoundError; see `sys.meta_path`."""
        if path is None and name not in self._there and self._asked_by_own_code():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None

    def install(self) -> None:
        """Ask this guard before every import from now on."""
        sys.meta_path.insert(0, self)

    def _asked_by_own_code(self) -> bool:
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and _is_import_system(frame):
            frame = frame.f_back
        return frame is not None and frame.f_code.co_filename in self._own


def _is_import_system(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(_IMPORTING)
