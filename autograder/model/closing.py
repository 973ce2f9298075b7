"""What an author says at the end of an exercise: what was built, and what to read next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FurtherReading:
    """A paper, book or page to read next; `place` is how to find it, and `why` one sentence."""

    title: str
    by: str
    year: int
    place: str
    why: str

    @property
    def sentence(self) -> str:
        """The title, with a full stop where it does not end as a sentence does."""
        return self.title if self.title.endswith(("?", "!", ".")) else f"{self.title}."

    @property
    def source(self) -> str:
        """Who wrote it, when, and where it is."""
        return f"{self.by}, {self.year}. {self.place}"


@dataclass(frozen=True)
class Closing:
    """The sentences on what was `built`, and what to read next, in order."""

    built: str = ""
    reading: tuple[FurtherReading, ...] = ()


def read_closing(facts: Mapping[str, Any]) -> Closing:
    """Read the table `[closing]`; raise `KeyError`, `TypeError` or `ValueError` if it is wrong."""
    closing = Closing(
        **{**facts, "reading": tuple(FurtherReading(**r) for r in facts.get("reading", ()))}
    )
    texts = [closing.built, *(text for each in closing.reading for text in (each.title, each.why))]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("[closing] holds something that is not text")
    return closing
