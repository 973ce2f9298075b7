"""Answers of the reference to calls that students' code made of earlier steps.

Most hand-ins that lean on the reference ask the same: their other steps are right, and so are the
arrays that they pass on. The questions come from untrusted code, so what is kept has a bound, and
what was not asked for long makes room.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping

import numpy as np

from autograder.protocol.wire import Linear, Value, arrays_in

MOST_KEPT, MOST_BYTES = 8_192, 32 * 1024 * 1024
LARGEST_KEPT = 256 * 1024  # bytes of one answer
_FACTS = 512  # bytes that an answer takes beside those of its arrays


class GivenAnswers:
    """The last answers that were given, by a digest of the call."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, tuple[Value | None, int]] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, key: bytes) -> bool:
        return key in self._kept

    def again(self, key: bytes) -> Value | None:
        """Return an answer that was given before; None is a refusal."""
        self._kept.move_to_end(key)
        return self._kept[key][0]

    def keep(self, key: bytes, answer: Value | None) -> None:
        """Keep an answer, unless it is large."""
        size = _size(answer)
        if size > LARGEST_KEPT or key in self._kept:
            return
        self._kept[key] = answer, size
        self._bytes += size
        while len(self._kept) > MOST_KEPT or self._bytes > MOST_BYTES:
            _, (_, left) = self._kept.popitem(last=False)
            self._bytes -= left

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()
        self._bytes = 0


def key_of(
    step: str,
    arguments: tuple[Value, ...],
    keywords: Mapping[str, Value],
    cotangents: tuple[Value, ...],
) -> bytes:
    """Return a digest of a call: equal calls have equal ones, and no others."""
    digest = hashlib.blake2b(digest_size=32)
    _add((step, arguments, tuple(keywords.items()), cotangents), digest)
    return digest.digest()


def _add(value: object, digest: hashlib.blake2b) -> None:
    """Add a value, with its kind and its length, so that no other value adds the same."""
    if isinstance(value, np.ndarray):
        digest.update(f"a{value.dtype.str}{value.shape}".encode())
        digest.update(value.tobytes())
    elif isinstance(value, tuple):
        digest.update(b"(%d" % len(value))
        for item in value:
            _add(item, digest)
    elif isinstance(value, Linear):
        digest.update(b"l%d" % value.trainable)
        _add((value.weight, value.bias), digest)
    else:
        text = f"{type(value).__name__} {value!r}".encode("utf-8", "backslashreplace")
        digest.update(b"v%d " % len(text) + text)


def _size(answer: Value | None) -> int:
    return _FACTS + sum(array.nbytes for array in arrays_in(answer))
