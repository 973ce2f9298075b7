"""Walks through the chain of the steps: the reference's own, and those of students that passed."""

from __future__ import annotations

from dataclasses import dataclass

from autograder.model.request import Reply, Request
from autograder.protocol.wire import Value

_MOST_KEPT = 4  # ways to round: right steps differ in nothing else


@dataclass(frozen=True)
class StepCall:
    """One call on the way: what a step was asked and what it gave."""

    request: Request
    reply: Reply


@dataclass(frozen=True)
class RightWalk:
    """The calls of the reference's own walk, and what comes out at the end."""

    calls: tuple[StepCall, ...]
    end: Value


@dataclass
class KnownWalks:
    """What is known of a chain on inputs that hand-ins share: the reference's walk, and some that
    passed. Whoever gives the same replies to the same requests passes again."""

    right: RightWalk | None = None
    passing: tuple[tuple[StepCall, ...], ...] = ()

    def keep(self, passed: tuple[StepCall, ...]) -> None:
        """Keep a walk that passed, the last ones first."""
        others = (walk for walk in self.passing if walk is not passed)
        self.passing = (passed, *others)[:_MOST_KEPT]
