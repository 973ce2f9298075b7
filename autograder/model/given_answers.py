"""Answers that the reference gave to workers' questions, as the bytes that were sent.

Most hand-ins that lean on the reference ask the same: their other steps are right, and so are the
arrays that they pass on. What comes with the same bytes is answered without being read. It is
asked by untrusted code, so what is kept has a bound, and what was not asked for long makes room.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass

from autograder.protocol import wire

MOST_KEPT, MOST_BYTES = 8_192, 32 * 1024 * 1024
LARGEST_KEPT = 256 * 1024  # bytes of one answer
_BESIDE = 512  # bytes that an answer takes beside its own


@dataclass(frozen=True)
class GivenAnswer:
    """An answer about `step`: what its frame holds but for the number of the question."""

    step: str
    facts: bytes
    payload: bytes

    def frame(self, number: int) -> bytes:
        """Return the frame that answers the question `number`."""
        head = b'{"answer": %d, %s' % (number, self.facts)
        return wire.frame_of(head, [self.payload])

    @property
    def size(self) -> int:
        """The bytes that it takes."""
        return _BESIDE + len(self.facts) + len(self.payload)


class GivenAnswers:
    """The last answers that were given, by a digest of the question."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, GivenAnswer] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def again(self, key: bytes) -> GivenAnswer | None:
        """Return an answer that was given before, if it is still kept."""
        found = self._kept.get(key)
        if found:
            self._kept.move_to_end(key)
        return found

    def keep(self, key: bytes, answer: GivenAnswer) -> None:
        """Keep an answer, unless it is large."""
        if answer.size > LARGEST_KEPT or key in self._kept:
            return
        self._kept[key] = answer
        self._bytes += answer.size
        while len(self._kept) > MOST_KEPT or self._bytes > MOST_BYTES:
            _, left = self._kept.popitem(last=False)
            self._bytes -= left.size

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()
        self._bytes = 0


def key_of(facts: bytes, payload: bytes) -> bytes:
    """Return a digest of a question's JSON and of its arrays: equal questions have equal ones."""
    digest = hashlib.blake2b(b"%d " % len(facts), digest_size=32)
    digest.update(facts)
    digest.update(payload)
    return digest.digest()
