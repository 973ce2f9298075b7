"""What was drawn and computed for the inputs of one seed, so that it need not be done again."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from autograder.checks.known_walks import KnownWalks
from autograder.checks.passing_replies import PassingReplies
from autograder.judging.diagnosis import Candidate
from autograder.model.given_answers import GivenAnswers
from autograder.model.request import Reply, Request

# Stands for the inputs that sizes are tried with while checks are collected; no seed is negative.
COLLECTING = -1


@dataclass(frozen=True)
class Memory:
    """The reference's answers by the keys of their requests, what was drawn, and what passed.

    `singles` are what known mistakes of a function give. `passing` and `walks` hold what passed a
    check, by its place among all checks.
    """

    expected: dict[bytes, Reply] = field(default_factory=dict)
    singles: dict[bytes, tuple[Candidate, ...]] = field(default_factory=dict)
    drawn: dict[Hashable, Any] = field(default_factory=dict)
    passing: dict[int, PassingReplies] = field(default_factory=dict)
    walks: dict[int, KnownWalks] = field(default_factory=dict)


@dataclass(frozen=True)
class ReplayedMistakes:
    """What one known mistake, or two, in a layer give for a request, by its key."""

    singles: dict[bytes, tuple[Candidate, ...]] = field(default_factory=dict)
    pairs: dict[bytes, tuple[Candidate, ...]] = field(default_factory=dict)


class Memories:
    """A memory of the inputs of one hand-in, and one for each seed that many hand-ins share.

    `given` are answers to calls of students' code, which may be those of any hand-in.
    """

    def __init__(self) -> None:
        self.undrawn: dict[bytes, Reply] = {}  # for requests that hold nothing drawn
        self.given = GivenAnswers()
        self._shared: dict[int, Memory] = {}
        self.forget_hand_in()

    def forget_hand_in(self) -> None:
        """Forget what belongs to one hand-in only."""
        self.own, self.replayed = Memory(), ReplayedMistakes()
        self.now = self.own

    def use(self, shared: int | None) -> None:
        """Use the memory of the seed `shared` from now on, or that of the hand-in."""
        self.now = self.own if shared is None else self._shared.setdefault(shared, Memory())

    def repeated(
        self, seeds: Iterable[int | None]
    ) -> Iterator[tuple[Hashable, tuple[Request, ...]]]:
        """Give what checks ask with the inputs of these seeds, whatever it is answered.

        Each comes with what stands for it: the seed, and the check's place among all checks.
        """
        for seed in seeds:
            memory = self._shared.get(seed) if seed is not None else None
            for place, passing in memory.passing.items() if memory else ():
                if passing.requests:
                    yield (seed, place), passing.requests

    def clear(self) -> None:
        """Forget everything."""
        self.undrawn.clear()
        self.given.clear()
        self._shared.clear()
        self.forget_hand_in()
