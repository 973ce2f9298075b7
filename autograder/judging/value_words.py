"""How messages name a value: its type, its shape, a place in it.

Axes are named by the letters of the reference's signature, such as B S D.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from autograder.values.sanitize import LONGEST_NAME, clean_line
from autograder.worker.wire import (
    CLASS,
    HIDING,
    META,
    NESTED,
    NO_INPUTS,
    NOT_LINEAR,
    QUANTIZED,
    SPARSE,
    TOO_LARGE,
    Linear,
    Opaque,
    Seed,
    Value,
)

# What does not cross although its type says little, in words.
_OPAQUE = {
    HIDING: "a masked array that hides some of its numbers",
    TOO_LARGE: "more numbers than can be sent back",
    NO_INPUTS: "a linear layer of 0 inputs",
    NOT_LINEAR: "a layer that does more than multiply by its weight and add its bias",
    META: 'a tensor on the device "meta", which holds no numbers',
    SPARSE: "a sparse tensor",
    QUANTIZED: "a quantized tensor",
    NESTED: "a nested tensor",
    "function": "a function",
    "builtin_function_or_method": "a function",
    "method": "a method",
}
_TEXT = re.compile(r"^ndarray of ([<>=|]?[US]\d+|StringDType\(.*)$")


def shape_words(shape: tuple[int, ...], axes: str | None) -> str:
    """Write a shape with its axis letters: (B=2, S=5, S=5), or (2, 5, 5) when they are unknown."""
    letters = axes.split() if axes else []
    if len(letters) != len(shape):
        return str(tuple(shape))
    return "(" + ", ".join(f"{axis}={size}" for axis, size in zip(letters, shape)) + ")"


def axis_words(axis: int, axes: str | None, count: int) -> str:
    """Name one of `count` axes: axis 1 (S), or axis 1 when the letters are unknown."""
    letters = axes.split() if axes else []
    return f"axis {axis} ({letters[axis]})" if len(letters) == count else f"axis {axis}"


def type_words(value: Value, noun: str = "array") -> str:
    """Name a value's type as a student would."""
    if value is None:
        return "None"
    if isinstance(value, np.ndarray):
        return f"{with_article(noun)} of shape {value.shape}"
    if isinstance(value, Linear):
        return "a linear layer"
    if isinstance(value, tuple):
        return f"a list or tuple of {len(value)}"
    if isinstance(value, Seed):
        return "a random generator"
    if isinstance(value, Opaque):
        return _opaque_words(value.type_name)
    return f"a single value of type {type(value).__name__}"


def _opaque_words(name: str) -> str:
    """Say what did not cross; its name comes from the student's process, and may be any text."""
    if name in _OPAQUE:
        return _OPAQUE[name]
    if _TEXT.search(name):
        return "an array that holds text, not numbers"
    kind = name.removeprefix(CLASS)
    if kind != name and len(kind) <= LONGEST_NAME and kind.isidentifier() and kind.isascii():
        return f"the class {kind} itself"
    name = clean_line(name, LONGEST_NAME)
    return f"an object of type {name}" if name else "an object"


def with_article(noun: str) -> str:
    """Return the noun with "a" or "an" before it."""
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def listed(words: Sequence[str]) -> str:
    """Join words, of which there is at least one: a, b and c."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def quoted(names: Iterable[str]) -> str:
    """Join names of code: `a`, `b` and `c`."""
    return listed([f"`{name}`" for name in names])


def range_words(low: float, high: float) -> str:
    """Say between which numbers others lie; those that are written alike are one number."""
    least, most = f"{low:.4g}", f"{high:.4g}"
    return f"about {least}" if least == most else f"numbers from {least} to {most}"


def first_place(marked: np.ndarray) -> tuple[int, ...]:
    """Return the index of the first entry that is marked."""
    return tuple(int(index) for index in np.argwhere(marked)[0])


def place_words(marked: np.ndarray, axes: str | None) -> str:
    """Say where the first marked entry stands: at [0, 1, 2] (axes B, S, S)."""
    index = ", ".join(str(index) for index in first_place(marked))
    letters = axes.split() if axes else []
    named = f" (axes {', '.join(letters)})" if len(letters) == marked.ndim else ""
    return f"at [{index}]{named}"
