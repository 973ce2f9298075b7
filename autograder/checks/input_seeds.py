"""The seeds that hidden inputs are drawn from: a hand-in's own, and one that hand-ins share."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from autograder.checks.marks import shares_inputs


@dataclass(frozen=True)
class InputSeeds:
    """Where hidden inputs are drawn from; None stands for the exercise's own seed.

    Those of the author's checks are drawn from `own`, of one hand-in. Those of the standing checks,
    and of an author's check that is run again with other sizes, are drawn from `shared`, which
    hand-ins share, so that they are computed once. None: from `own`, too. From `common`, one for
    a whole class, come the inputs by which equal mistakes are told; None: nobody wants to know.
    """

    own: int | None = None
    shared: int | None = None
    common: int | None = None

    def of(self, item: pytest.Item) -> int | None:
        """Return the seed of a check's inputs."""
        shared = self.shared_by(item)
        return self.own if shared is None else shared

    def shared_by(self, item: pytest.Item) -> int | None:
        """Return the seed of a check's inputs if hand-ins share them, and None if not."""
        return self.shared if shares_inputs(item) else None
