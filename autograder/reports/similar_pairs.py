"""Hand-ins whose code is more alike than chance makes it, as the class page shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autograder.model.symbols import count


@dataclass(frozen=True)
class SimilarPair:
    """Two students, the steps in which they share rare code, and the code of some of these steps.

    `part` is how much of the rare code of both is shared, from 0 to 1. `examples` holds for a step
    what each of the two wrote, without comments.
    """

    students: tuple[str, str]
    steps: tuple[str, ...]
    part: float
    examples: tuple[tuple[str, str, str], ...] = ()

    def words(self, titles: Mapping[str, str]) -> str:
        """Return in words what the two share; `titles` are those of the steps."""
        named = [titles[step] for step in self.steps if step in titles]
        others = len(self.steps) - len(named)
        listed = [*named, *([count(others, "further function")] if others else [])]
        where = ", ".join(listed)
        return f"{round(100 * self.part)} % of their rare code is the same, in: {where}."


@dataclass(frozen=True)
class SimilarCode:
    """The pairs to be shown, how many there are in all, and whether anybody was not compared."""

    pairs: tuple[SimilarPair, ...] = ()
    found: int = 0
    left_out: int = 0

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is to be said about the pairs that are not shown and the code that was not read."""
        more = self.found - len(self.pairs)
        told = [f"{count(more, 'further pair')} of this kind."] if more > 0 else []
        if self.left_out:
            told.append(f"The code of {count(self.left_out, 'student')} could not be compared.")
        return tuple(told)


NOTHING_SIMILAR = SimilarCode()
