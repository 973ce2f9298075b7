"""The array protocol between the trusted side and the worker with the student's code.

A frame is `magic | u32 header length | u64 payload length | JSON header | raw
little-endian arrays`. Nothing is ever unpickled. Decoding a worker's frame ends
in a value or in `WireError`, however its bytes were forged: lengths are capped
before anything is allocated, types are checked exactly, and everything outside
the closed list of kinds arrives as `Opaque`.

Of the kit, only this package and `worker/` are loaded beside a student's code.
"""

from __future__ import annotations

import json
import math
import struct
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.ma import MaskedArray, getmaskarray

MAGIC = b"ATN1"
PREFIX = struct.Struct("<4sIQ")
IMPORTING = b'{"importing": true}'  # the header with which a worker says so
MAX_HEADER = 256 * 1024
MAX_PAYLOAD = 64 * 1024 * 1024
MAX_AXES = 8
MAX_AXIS = 1 << 28
MAX_ITEMS = 64
MAX_DEPTH = 4
# How much of an exception is reported, in characters and in shapes: enough to see what went wrong.
# Code has no other way to carry numbers out of the sandbox.
MESSAGE, CODE, NAME, SHAPES = 200, 200, 80, 12
# What is seen of a call beside its value: settings that it leaves changed in PyTorch, by the
# functions of `torch` that set them, what `parameters()` of an instance leaves out or adds, whether
# a call changes its mode, of training or evaluation, whether it has PyTorch record gradients for
# what it is given, whether a later call changes its result, and of which generator that all code
# shares a call sets the seed.
HIDDEN, ADDED, MODE = "hidden parameters", "added parameters", "changed mode"
RECORDED = "recorded arguments"
OVERWRITTEN = "overwritten result"
SEEDS = PYTHON_SEED, NUMPY_SEED, TORCH_SEED = "random.seed", "np.random.seed", "torch.manual_seed"
OF_ANY_LIBRARY = (OVERWRITTEN, PYTHON_SEED, NUMPY_SEED)
OF_TORCH = ("set_grad_enabled", "set_default_dtype", HIDDEN, ADDED, MODE, RECORDED, TORCH_SEED)
OBSERVATIONS = (*OF_ANY_LIBRARY, *OF_TORCH)
DTYPES = {
    name: np.dtype(f"<{name}" if name[-1] != "1" else ("?" if name == "b1" else name))
    for name in "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
_ARRAYS = (np.ndarray, np.generic)
_name_of = type.__dict__["__name__"].__get__


class WireError(Exception):
    """The bytes are not a frame of this protocol."""


@dataclass(frozen=True)
class Opaque:
    """A value that does not cross the wire; only the name of its type does."""

    type_name: str


@dataclass(frozen=True)
class Seed:
    """A NumPy random generator: what crosses is the seed it is made from."""

    seed: int


@dataclass(frozen=True)
class Linear:
    """A linear layer of PyTorch: `weight` (out, in), and `bias` (out,) or None.

    `trainable` says whether all its parameters receive gradients.
    """

    weight: np.ndarray
    bias: np.ndarray | None
    trainable: bool = True


# numpy.ndarray | bool | int | float | str | None | tuple[Value, ...] | Opaque | Seed | Linear
Value = Any


def arrays_in(value: Value) -> Iterator[np.ndarray]:
    """Give the arrays in a value: itself, those of a linear layer, those in a tuple, in order."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from arrays_in(item)
    elif isinstance(value, Linear):
        yield from arrays_in((value.weight, value.bias))


def encode(value: Value, payload: list[bytes], depth: int = 0) -> dict[str, Any]:
    """Describe `value` as JSON facts; the bytes of its arrays are appended to `payload`."""
    # By `type`, which a student's class cannot forge, unlike what `isinstance` looks at.
    if issubclass(type(value), _ARRAYS):
        return _encoded_array(value, payload)
    if value is None or type(value) in (bool, str):
        return {"kind": "plain", "value": value}
    if type(value) is int and abs(value) < 1 << 63:
        return {"kind": "plain", "value": value}
    if type(value) is float:
        return {"kind": "float", "value": value.hex()}
    if type(value) in (tuple, list) and len(value) <= MAX_ITEMS and depth < MAX_DEPTH:
        items = [encode(item, payload, depth + 1) for item in value]
        return {"kind": "sequence", "items": items}
    if issubclass(type(value), Opaque):
        return {"kind": "opaque", "type": value.type_name}
    if issubclass(type(value), Linear):
        parts = (value.weight, value.bias)
        items = [encode(part, payload, depth + 1) for part in parts]
        return {"kind": "linear", "items": items, "trainable": value.trainable}
    if issubclass(type(value), Seed):
        return {"kind": "seed", "seed": value.seed}
    if issubclass(type(value), np.random.Generator):
        return {"kind": "seed", "seed": 0}
    return {"kind": "opaque", "type": type_name(value)}


def _encoded_array(value: Any, payload: list[bytes]) -> dict[str, Any]:
    array = np.asarray(value)
    if array.ndim > MAX_AXES:
        return {"kind": "opaque", "type": f"{type_name(value)[:40]} of {array.ndim} axes"}
    name = NAMES.get(array.dtype)
    if name is None and array.dtype.kind in "biufc":  # the other order of bytes, or extended
        array = array.astype(array.dtype.newbyteorder("<"))
        name = NAMES.get(array.dtype)
    if name is None:
        return {"kind": "opaque", "type": f"{type_name(value)[:30]} of {array.dtype}"[:80]}
    if array.dtype.kind == "b":
        array = array.view(np.uint8) != 0  # of an array that nobody filled, any byte may be true
    payload.append(array.tobytes())
    return {"kind": "array", "dtype": name, "shape": list(array.shape)}


def type_name(value: Any) -> str:
    """Return the name of a value's type, at most 80 characters of it, whatever its class claims."""
    return name_of(type(value))


def name_of(kind: type) -> str:
    """Return the name of a class, at most 80 characters of it, whatever its metaclass claims."""
    return str.__getitem__(_name_of(kind), slice(80))


def decode(facts: Any, payload: Payload, depth: int = 0) -> Value:
    """Rebuild the value that `facts` describes; raise `WireError` for anything forged."""
    if type(facts) is not dict or depth > MAX_DEPTH:
        raise WireError("a value is not described by an object")
    match facts.get("kind"):
        case "array":
            return _array(facts, payload)
        case "plain":
            return _plain(facts.get("value"))
        case "float":
            return _float(facts.get("value"))
        case "sequence":
            return _items(facts, payload, depth)
        case "linear":
            return _linear(_items(facts, payload, depth), facts.get("trainable", True))
        case "seed":
            seed = facts.get("seed")
            if type(seed) is not int or not 0 <= seed < 1 << 63:
                raise WireError("a seed is not a number")
            return Seed(seed)
        case "opaque":
            return Opaque(text(facts.get("type"), 80))
        case _:
            raise WireError("a value is of an unknown kind")


class Payload:
    """The raw bytes behind a header, handed out array by array, in order."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = memoryview(data)  # of which nothing is copied here
        self._taken = 0

    def __len__(self) -> int:
        return len(self._data)

    def again(self) -> Payload:
        """Return the same bytes, to be taken from the first one on."""
        return Payload(self._data)

    def take(self, count: int) -> memoryview:
        """Return the next `count` bytes; raise `WireError` when there are fewer."""
        if count > len(self._data) - self._taken:
            raise WireError("the payload is shorter than its arrays")
        self._taken += count
        return self._data[self._taken - count : self._taken]

    def end(self) -> None:
        """Raise `WireError` unless every byte was used."""
        if self._taken != len(self._data):
            raise WireError("the payload is longer than its arrays")


def _items(facts: dict[str, Any], payload: Payload, depth: int) -> tuple[Value, ...]:
    items = facts.get("items")
    if type(items) is not list or len(items) > MAX_ITEMS:
        raise WireError("a sequence has no list of items, or too many")
    return tuple(decode(item, payload, depth + 1) for item in items)


def _linear(parts: tuple[Value, ...], trainable: Any) -> Linear:
    if type(trainable) is not bool:
        raise WireError("a linear layer can be trained or not, and nothing else")
    weight, bias = parts if len(parts) == 2 else (None, None)
    if not isinstance(weight, np.ndarray) or weight.ndim != 2:
        raise WireError("a linear layer has no weight of two axes")
    if bias is not None and not (isinstance(bias, np.ndarray) and bias.ndim == 1):
        raise WireError("a linear layer's bias does not have one axis")
    return Linear(weight, bias, trainable)


def _array(facts: dict[str, Any], payload: Payload) -> np.ndarray:
    name, shape = facts.get("dtype"), facts.get("shape")
    if type(name) is not str or name not in DTYPES:
        raise WireError("an array has no known dtype")
    if type(shape) is not list or len(shape) > MAX_AXES:
        raise WireError("an array has no shape, or too many axes")
    dtype = DTYPES[name]
    count, without_empty = dtype.itemsize, 1
    for size in shape:
        if type(size) is not int or not 0 <= size <= MAX_AXIS:
            raise WireError("an axis has no valid size")
        count *= size
        without_empty *= size or 1
    if without_empty > MAX_PAYLOAD:
        raise WireError("an array without numbers has axes too long for NumPy")
    data = payload.take(count)
    if name == "b1" and data and np.frombuffer(data, np.uint8).max() > 1:
        raise WireError("a boolean is neither 0 nor 1")
    return np.frombuffer(data, dtype=dtype).reshape(shape).copy()


def _plain(value: Any) -> bool | int | str | None:
    if value is None or type(value) is bool:
        return value
    if type(value) is int and abs(value) < 1 << 63:
        return value
    if type(value) is str:
        return text(value, 4096)
    raise WireError("a plain value is of an unknown type")


def _float(value: Any) -> float:
    if type(value) is not str or len(value) > 40:
        raise WireError("a float is not written as text")
    try:
        return float.fromhex(value)
    except (ValueError, OverflowError):
        raise WireError("a float is not written in hexadecimal") from None


def text(value: Any, longest: int) -> str:
    """Return text cut to `longest` characters; raise `WireError` when `value` is not text."""
    if type(value) is not str:
        raise WireError("text was expected")
    return value[:longest].encode("utf-8", "replace").decode("utf-8")


def frame(header: dict[str, Any], payload: list[bytes]) -> bytes:
    """Return the bytes of one frame; raise `WireError` when it would be over the caps."""
    return frame_of(to_json(header), payload)


def to_json(header: dict[str, Any]) -> bytes:
    """Return a header as it is sent."""
    return _ENCODER.encode(header).encode()


def frame_of(head: bytes, payload: list[bytes]) -> bytes:
    """Return the bytes of one frame, whose header is written already; raise as `frame`."""
    size = sum(len(part) for part in payload)
    if len(head) > MAX_HEADER or size > MAX_PAYLOAD:
        raise WireError(f"a frame of {len(head)} + {size} bytes is over the limit")
    return b"".join([PREFIX.pack(MAGIC, len(head), size), head, *payload])


def read_prefix(data: bytes) -> tuple[int, int]:
    """Return (header length, payload length) of a frame; raise `WireError` when over the caps."""
    magic, head, size = PREFIX.unpack(data)
    if magic != MAGIC or head > MAX_HEADER or size > MAX_PAYLOAD:
        raise WireError("the beginning of a frame is wrong, or it is over the limit")
    return head, size


def read_frame(head: bytes, payload: bytes) -> tuple[dict[str, Any], Payload]:
    """Return the header of a frame, and what its values take their arrays from."""
    return read_header(head), Payload(payload)


def read_header(data: bytes) -> dict[str, Any]:
    """Return the JSON object of a frame; raise `WireError` for anything else."""
    try:
        header = _DECODER.decode(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise WireError("a header is not valid JSON") from None
    if type(header) is not dict:
        raise WireError("a header is not an object")
    return header


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key appears twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_ENCODER = json.JSONEncoder(allow_nan=False)
_DECODER = json.JSONDecoder(object_pairs_hook=_no_duplicates, parse_constant=_no_constant)


# Bytes as they come over a channel, taken out frame by frame: the same on both ends.


class FrameBuffer:
    """What was received and is not used yet."""

    def __init__(self) -> None:
        self._held = bytearray()

    def add(self, part: bytes) -> None:
        """Add bytes that have come."""
        self._held += part

    def take(self) -> tuple[bytes, bytes] | None:
        """Return header and payload of the next frame as they came; None until all of it is there.

        Raises `WireError` as soon as its beginning is wrong.
        """
        held = self._held
        if len(held) < PREFIX.size:
            return None
        head, size = read_prefix(bytes(held[: PREFIX.size]))
        whole = PREFIX.size + head + size
        if len(held) < whole:
            return None
        with memoryview(held) as view:  # to cut the bytes themselves would copy them thrice
            frame = bytes(view[PREFIX.size : whole - size]), bytes(view[whole - size : whole])
        del held[:whole]
        return frame


# What of a student's value can cross the wire, and in which form.
#
# A student may return anything that Python has. Whatever stands for arrays, such as a tensor, a
# named tuple or a generator that unpacks, becomes arrays; of the rest only a name crosses. How
# much is looked at is bounded before anything is copied: a view without strides holds more
# numbers than any memory, and a list may hold itself.

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
_PLAIN = frozenset(dtype.char for dtype in NAMES)
_EXTENDED = {"f": np.float64, "c": np.complex128}


def from_library(value: Any, library: str = "numpy") -> Value:
    """Return the form in which a student's value can cross the wire.

    A tensor becomes an array (bfloat16 as float32), a linear layer its weight and bias, and
    whatever unpacks like a tuple a list: a named tuple, a generator, an `nn.ModuleList`. What has
    no numbers to send becomes `Opaque`, and so does a NumPy array where tensors are expected.
    Raises what a student's generator raises.
    """
    if type(value) is np.ndarray and library != "torch" and _is_plain(value):
        return value  # which `_array` would return, too: nearly all values are such arrays
    return _Crossing(library).outward(value, 0)


def copied(value: Value) -> Value:
    """Return a value whose arrays the code may change."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, tuple):
        return tuple(copied(item) for item in value)
    if isinstance(value, Linear):
        return Linear(copied(value.weight), copied(value.bias))
    return value


def round_tripped(value: Any, library: str) -> Value:
    """Return a copy of the value as it would arrive over the wire."""
    plain = from_library(value, library)
    if type(plain) is np.ndarray and plain.dtype in NAMES and plain.ndim <= MAX_AXES:
        return plain.copy()  # as below, but much sooner
    parts: list[bytes] = []
    facts = encode(plain, parts)
    return decode(facts, Payload(b"".join(parts)))


def _is_plain(array: np.ndarray) -> bool:
    """Say whether an array of no subclass is small enough, and of a type that is sent as it is."""
    return array.dtype.char in _PLAIN and 0 < array.nbytes <= MAX_PAYLOAD


class _Crossing:
    """One value on its way out, and how much of it may still be looked at."""

    def __init__(self, library: str) -> None:
        self._library = library
        self._values, self._bytes = _MOST_VALUES, MAX_PAYLOAD

    def outward(self, value: Any, depth: int) -> Value:
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
            return Opaque(CLASS + name_of(value))
        items = _crossing_items(value, torch)
        return value if items is None else self._sequence(value, items, depth)

    def _sequence(self, value: Any, items: Iterable[Any], depth: int) -> Value:
        if depth >= MAX_DEPTH:
            return Opaque(type_name(value))
        first = list(islice(items, MAX_ITEMS + 1))  # it may never end
        if len(first) > MAX_ITEMS:
            return Opaque(f"{type_name(value)[:40]} of more than {MAX_ITEMS}")
        return [self.outward(item, depth + 1) for item in first]

    def _array(self, value: Any) -> np.ndarray | Opaque:
        array = np.asarray(value)
        if not self._has_room(array.shape, array.itemsize):
            return Opaque(TOO_LARGE)
        if array.dtype.kind not in "biufc":
            return Opaque(f"{type_name(value)[:30]} of {array.dtype}"[:80])
        if issubclass(type(value), MaskedArray) and getmaskarray(value).any():
            return Opaque(HIDING)
        if array.dtype.kind in _EXTENDED and array.dtype.newbyteorder("<") not in NAMES:
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

    def _linear(self, layer: Any, torch: Any) -> Linear | Opaque:
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
        return Linear(weight, bias, all(part.requires_grad for part in layer.parameters()))

    def _has_room(self, shape: Iterable[int], itemsize: int) -> bool:
        """Take the room for an array, if it is there."""
        # An array with no numbers may have long axes beside the empty one.
        needed = math.prod(size for size in shape if size) * itemsize
        if needed > self._bytes:
            return False
        self._bytes -= needed
        return True


def _crossing_items(value: Any, torch: Any) -> Iterable[Any] | None:
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
