"""A value of a worked example as JSON, and back: an array is one line of text."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.protocol.wire import Linear, Opaque, Seed, Value

# Of results: two more than the strictest tolerance needs. Inputs are written exactly.
DIGITS = 8
# Nobody reads more than these: a larger array is written as its bytes, packed.
MOST_NUMBERS = 300


def written_values(values: Mapping[str, Value], digits: int | None = None) -> dict[str, Any]:
    """Return values with names as JSON; see `written_value`."""
    return {name: written_value(value, digits) for name, value in values.items()}


def written_value(value: Value, digits: int | None = None) -> Any:
    """Return a value as JSON; its numbers exactly, or rounded to `digits` that count."""
    if isinstance(value, np.ndarray):
        if value.size > MOST_NUMBERS:
            packed = base64.b64encode(zlib.compress(value.tobytes(), 9)).decode("ascii")
            return {"dtype": value.dtype.name, "packed": packed, "shape": list(value.shape)}
        # As text, so that an array stays on one line.
        facts = {"dtype": value.dtype.name, "numbers": json.dumps(_numbers(value, digits))}
        # Nested lists say how many numbers there are along each axis, unless there are none.
        return facts if value.size else {**facts, "shape": list(value.shape)}
    if isinstance(value, Seed):
        return {"seed": value.seed}
    if isinstance(value, Linear):
        parts = written_values({"weight": value.weight, "bias": value.bias}, digits)
        return parts if value.trainable else {**parts, "trainable": False}
    if isinstance(value, tuple):
        return {"items": [written_value(item, digits) for item in value]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return {"opaque": value.type_name}


def _numbers(array: np.ndarray, digits: int | None) -> Any:
    if array.ndim:
        return [_numbers(row, digits) for row in array]
    number = array.item()
    if isinstance(number, bool | int):
        return number
    if not math.isfinite(number):
        return str(number)
    # str() of a float32 is the shortest text that is read back as the same float32.
    return float(f"{number:.{digits}g}") if digits else float(str(array))


def read_value(facts: Any) -> Value:
    """Return the value that was written as `facts`."""
    if not isinstance(facts, dict):
        return facts
    if "packed" in facts:
        content = zlib.decompress(base64.b64decode(facts["packed"]))
        return np.frombuffer(content, facts["dtype"]).reshape(facts["shape"]).copy()
    if "numbers" in facts:
        numbers = _floats(json.loads(facts["numbers"]))
        array = np.array(numbers, dtype=facts["dtype"])
        return array.reshape(facts["shape"]) if "shape" in facts else array
    if "seed" in facts:
        return Seed(facts["seed"])
    if "opaque" in facts:
        return Opaque(facts["opaque"])
    if "weight" in facts:
        parts = read_value(facts["weight"]), read_value(facts["bias"])
        return Linear(*parts, facts.get("trainable", True))
    return tuple(read_value(item) for item in facts["items"])


def _floats(numbers: Any) -> Any:
    if isinstance(numbers, list):
        return [_floats(number) for number in numbers]
    return float(numbers) if isinstance(numbers, str) else numbers
