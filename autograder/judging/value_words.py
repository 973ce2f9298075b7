"""How messages name a value: its type, its shape, a place in it, the tokens that it is about.

Axes are named by the letters of the reference's signature, such as B S D.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
    "ndarray of object": "an array that holds objects of Python, not numbers",
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


# A result in the words of the tokens that it is about: “it” gives “cat” 0.31; 0.63 is expected.
#
# An example that a text works by hand has a name for every token. So what is wrong of it can be
# said of one token, and looked up in the text.

# Letters for a sequence axis. An array that ends with the same one twice is (query, key).
SEQUENCE = ("S", "N", "T", "L")
MOST_NUMBERS = 8  # of a token, in a sentence
LARGE = 1e5  # from here on, a number is written with its power of ten


@dataclass(frozen=True)
class Tokens:
    """The names of the tokens of an example, and the place of the one that its text follows."""

    names: tuple[str, ...]
    followed: int

    def labels(self, shape: Sequence[int], axes: str | None) -> tuple[str, ...]:
        """Return the names of the tokens along the sequence axis of an array, () without one."""
        letters = (axes or "").split()
        sizes = [size for letter, size in zip(letters, shape) if letter in SEQUENCE]
        return self.names[: sizes[0]] if len(letters) == len(shape) and sizes else ()

    def row_of(self, wrong: np.ndarray) -> tuple[int, ...] | None:
        """Return the place of the token's row to tell of: in a head, say, and in the sequence.

        wrong: where a result differs, (..., tokens, entries of a token). It is the row of the token
        that is followed, if that is wrong, else the first that is; None if none is.
        """
        places = [tuple(map(int, place[:-1])) for place in np.argwhere(wrong)]
        followed = [place for place in places if place[-1] == self.followed]
        return next(iter(followed or places), None)

    def compared(
        self, yours: np.ndarray, expected: np.ndarray, wrong: np.ndarray, axes: str | None
    ) -> str:
        """Say in a sentence what one token gets in place of what is expected, "" if nothing can be.

        yours, expected, wrong: one array each, its difference, and where that counts, of a shape
        (..., tokens, tokens) or (..., tokens, numbers of a token).
        """
        place, letters = self.row_of(wrong), (axes or "").split()
        if place is None or not self.labels(wrong.shape, axes) or letters[-2] not in SEQUENCE:
            return ""
        name, rows = self.names[place[-1]], (yours[place], expected[place], wrong[place])
        where = entry_words(place[:-1], letters, wrong.shape)
        mine = f"in {where}, your “{name}”" if where else f"your “{name}”"
        if letters[-1] == letters[-2]:
            return f"{mine} gives {self._share(*rows)}"
        return f"{mine} is {_vector(*rows[:2])}" if len(rows[0]) <= MOST_NUMBERS else ""

    def _share(self, yours: np.ndarray, expected: np.ndarray, wrong: np.ndarray) -> str:
        """Say what a row gives to one token; in a row that is rearranged, whose share that is."""
        if np.allclose(np.sort(yours), np.sort(expected), rtol=1e-5, atol=1e-7):
            for place in np.flatnonzero(wrong):
                owners = np.flatnonzero(np.isclose(expected, yours[place], rtol=1e-5, atol=1e-7))
                if len(owners) == 1:
                    return f"“{self.names[place]}” what “{self.names[owners[0]]}” should get."
        worst = _worst(yours, expected, wrong)
        got, wanted = _apart(yours[worst], expected[worst])
        return f"“{self.names[worst]}” {got}, and {wanted} is expected."


def entry_words(place: Sequence[int], letters: Sequence[str], shape: Sequence[int]) -> str:
    """Name an entry of the leading axes, "" if there is only one: head 1."""
    return ", ".join(
        f"{letter.removesuffix('s')} {number}"
        for letter, number, size in zip(letters, place, shape)
        if size > 1
    )


def vector_words(numbers: np.ndarray) -> str:
    """Write the numbers of a token, with two digits: (3.50, 0.57, 0.51)."""
    return f"({', '.join(_written(float(each), 2) for each in numbers)})"


def _vector(yours: np.ndarray, expected: np.ndarray) -> str:
    pairs = [_apart(*pair) for pair in zip(yours, expected)]
    got, wanted = (", ".join(each) for each in zip(*pairs))
    return f"({got}), and ({wanted}) is expected."


def _worst(yours: np.ndarray, expected: np.ndarray, wrong: np.ndarray) -> int:
    """Return the place of the largest difference; one that is no number counts as such."""
    with np.errstate(all="ignore"):
        apart = np.where(wrong, np.abs(yours - expected), -1.0)
    return int(np.argmax(np.where(wrong & ~np.isfinite(apart), np.inf, apart)))


def _apart(yours: float, expected: float) -> tuple[str, str]:
    """Write two numbers with as many digits, from two to nine, as it takes to tell them apart."""
    for digits in (2, 4, 6, 9):
        texts = _written(yours, digits), _written(expected, digits)
        if texts[0] != texts[1] or yours == expected:
            return texts
    return _written(yours, 2), _written(expected, 2)


def _written(value: float, digits: int) -> str:
    if not np.isfinite(value) or abs(value) >= LARGE:
        return f"{value:.{max(digits - 2, 1)}g}".replace("e+0", "e").replace("e+", "e")
    return f"{value + 0.0:.{digits}f}"
