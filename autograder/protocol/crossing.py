"""What of a student's value can cross the wire, and in which form.

A student may return anything that Python has. Whatever stands for arrays, such as a tensor, a
named tuple or a generator that unpacks, becomes arrays; of the rest only a name crosses. How much
is looked at is bounded before anything is copied: a view without strides holds more numbers than
any memory, and a list may hold itself.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.ma import MaskedArray, getmaskarray  # now: NumPy would import it when it is first asked

from autograder.protocol import wire
from autograder.protocol.wire import Opaque, type_name

# Names of what cannot cross, where its type would say too little. `judging` puts them into words.
HIDING, TOO_LARGE, NO_INPUTS = "masked array", "too large", "Linear of no inputs"
NOT_LINEAR = "layer that does more than a Linear"
META, SPARSE, QUANTIZED, NESTED = (
    f"{kind} tensor" for kind in ("meta", "sparse", "quantized", "nested")
)
CLASS = "class "  # and the name of the class

_MOST_VALUES = 1024  # in one value, at all depths: lists that hold each other multiply
# What makes an `nn.Linear` itself do more, where it is not empty.
_DOING_MORE = ("forward", "_forward_pre_hooks", "_forward_hooks", "_backward_hooks")
_UNPACKED: tuple[type, ...] = (deque, range, type({}.values()))
_PLAIN = frozenset(dtype.char for dtype in wire.NAMES)
_EXTENDED = {"f": np.float64, "c": np.complex128}


def from_library(value: Any, library: str = "numpy") -> wire.Value:
    """Return the form in which a student's value can cross the wire.

    A tensor becomes an array (bfloat16 as float32), a linear layer its weight and bias, and
    whatever unpacks like a tuple a list: a named tuple, a generator, an `nn.ModuleList`. What has
    no numbers to send becomes `Opaque`, and so does a NumPy array where tensors are expected.
    Raises what a student's generator raises.
    """
    if type(value) is np.ndarray and library != "torch" and _is_plain(value):
        return value  # which `_array` would return, too: nearly all values are such arrays
    return _Crossing(library).outward(value, 0)


def copied(value: wire.Value) -> wire.Value:
    """Return a value whose arrays the code may change."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, tuple):
        return tuple(copied(item) for item in value)
    if isinstance(value, wire.Linear):
        return wire.Linear(copied(value.weight), copied(value.bias))
    return value


def round_tripped(value: Any, library: str) -> wire.Value:
    """Return a copy of the value as it would arrive over the wire."""
    plain = from_library(value, library)
    if type(plain) is np.ndarray and plain.dtype in wire.NAMES and plain.ndim <= wire.MAX_AXES:
        return plain.copy()  # as below, but much sooner
    parts: list[bytes] = []
    facts = wire.encode(plain, parts)
    return wire.decode(facts, wire.Payload(b"".join(parts)))


def _is_plain(array: np.ndarray) -> bool:
    """Say whether an array of no subclass is small enough, and of a type that is sent as it is."""
    return array.dtype.char in _PLAIN and 0 < array.nbytes <= wire.MAX_PAYLOAD


class _Crossing:
    """One value on its way out, and how much of it may still be looked at."""

    def __init__(self, library: str) -> None:
        self._library = library
        self._values, self._bytes = _MOST_VALUES, wire.MAX_PAYLOAD

    def outward(self, value: Any, depth: int) -> wire.Value:
        kind, torch = type(value), sys.modules.get("torch")
        self._values -= 1
        if self._values < 0:
            return Opaque(type_name(value))
        if torch and issubclass(kind, torch.Tensor):
            ordinary = kind in (torch.Tensor, torch.nn.Parameter)
            array = self._ordinary(value) if ordinary else None
            return self._tensor(value, torch) if array is None else array
        if torch and issubclass(kind, torch.nn.Linear):
            return self._linear(value, torch)
        if issubclass(kind, np.ndarray | np.generic):
            foreign = self._library == "torch" and issubclass(kind, np.ndarray)
            return Opaque("numpy.ndarray") if foreign else self._array(value)
        if issubclass(kind, type):
            return Opaque(CLASS + wire.name_of(value))
        items = _items(value, torch)
        return value if items is None else self._sequence(value, items, depth)

    def _sequence(self, value: Any, items: Iterable[Any], depth: int) -> wire.Value:
        if depth >= wire.MAX_DEPTH:
            return Opaque(type_name(value))
        first = list(islice(items, wire.MAX_ITEMS + 1))  # it may never end
        if len(first) > wire.MAX_ITEMS:
            return Opaque(f"{type_name(value)[:40]} of more than {wire.MAX_ITEMS}")
        return [self.outward(item, depth + 1) for item in first]

    def _array(self, value: Any) -> np.ndarray | Opaque:
        array = np.asarray(value)
        if not self._has_room(array.shape, array.itemsize):
            return Opaque(TOO_LARGE)
        if array.dtype.kind not in "biufc":
            return Opaque(f"{type_name(value)[:30]} of {array.dtype}"[:80])
        if issubclass(type(value), MaskedArray) and getmaskarray(value).any():
            return Opaque(HIDING)
        if array.dtype.kind in _EXTENDED and array.dtype.newbyteorder("<") not in wire.NAMES:
            return array.astype(_EXTENDED[array.dtype.kind])  # extended precision
        return array

    def _ordinary(self, tensor: Any) -> np.ndarray | Opaque | None:
        """Return the array that PyTorch itself makes of a tensor; None where it makes none."""
        try:
            if tensor.is_conj() or tensor.is_neg():  # written out first, it could be any size
                return None
            array: np.ndarray = tensor.numpy(force=True)
        except Exception:  # bfloat16, or a kind that has no numbers to give
            return None
        room = self._has_room(array.shape, max(4, array.itemsize))
        return array if room else Opaque(TOO_LARGE)

    def _tensor(self, value: Any, torch: Any) -> np.ndarray | Opaque:
        try:
            with torch._C.DisableTorchFunctionSubclass():
                told = _told(value, torch)
                if not told and not self._has_room(value.shape, max(4, value.element_size())):
                    told = TOO_LARGE
                if told:
                    return Opaque(told)
                plain = value.detach().cpu().resolve_conj().resolve_neg()
                plain = plain.float() if plain.dtype == torch.bfloat16 else plain
                return np.asarray(plain.as_subclass(torch.Tensor).numpy())
        except Exception:  # of a kind that has no numbers to give; it is for the host to say so
            return Opaque(type_name(value))

    def _linear(self, layer: Any, torch: Any) -> wire.Linear | Opaque:
        weight, bias = layer.weight, layer.bias
        # A layer that waits for its first input has 0 inputs on the wire, and no other has.
        waits = issubclass(type(weight), torch.nn.parameter.UninitializedParameter)
        if waits:
            zero = torch.zeros(1, dtype=weight.dtype)
            weight = zero[:0].expand(layer.out_features, 0)
            bias = None if bias is None else zero.expand(layer.out_features)
        weight, bias = self.outward(weight, 0), self.outward(bias, 0)
        if not (isinstance(weight, np.ndarray) and weight.ndim == 2):
            return Opaque(type_name(layer))
        if not (bias is None or (isinstance(bias, np.ndarray) and bias.ndim == 1)):
            return Opaque(type_name(layer))
        if not waits and not weight.shape[1]:
            return Opaque(NO_INPUTS)
        if not waits and not _is_linear(layer, torch):
            return Opaque(NOT_LINEAR)
        return wire.Linear(weight, bias, all(part.requires_grad for part in layer.parameters()))

    def _has_room(self, shape: Iterable[int], itemsize: int) -> bool:
        """Take the room for an array, if it is there."""
        # An array with no numbers may have long axes beside the empty one.
        needed = math.prod(size for size in shape if size) * itemsize
        if needed > self._bytes:
            return False
        self._bytes -= needed
        return True


def _items(value: Any, torch: Any) -> Iterable[Any] | None:
    """Return what a value unpacks to, in an order; None for what is no sequence."""
    kind = type(value)
    for base in (tuple, list):
        if issubclass(kind, base):
            return base.__iter__(value)
    modules = (torch.nn.ModuleList, torch.nn.ParameterList) if torch else ()
    unpacks = issubclass(kind, (*_UNPACKED, *modules)) or issubclass(kind, Iterator)
    return value if unpacks else None


def _is_linear(layer: Any, torch: Any) -> bool:
    """Say whether a layer computes x Wᵀ + b, and nothing more in a subclass or a hook."""
    own = vars(layer)
    if type(layer) is torch.nn.Linear and not any(map(own.get, _DOING_MORE)):
        return True
    with torch.no_grad():
        probe = torch.linspace(-1, 1, 2 * layer.weight.shape[1]).reshape(2, -1)
        probe = probe.to(layer.weight.dtype)
        result = layer(probe)
        expected = torch.nn.functional.linear(probe, layer.weight, layer.bias)
    if not issubclass(type(result), torch.Tensor):
        return False
    alike = (result.shape, result.dtype) == (expected.shape, expected.dtype)
    return alike and bool(torch.allclose(result, expected, equal_nan=True))


def _told(tensor: Any, torch: Any) -> str:
    """Name a tensor that has no plain numbers, or return ""."""
    if tensor.is_meta:
        return META
    if tensor.is_nested:
        return NESTED
    if tensor.is_quantized:
        return QUANTIZED
    return "" if tensor.layout == torch.strided else SPARSE
