"""One thing that is true of a wrong result, until the claims of a step are put together."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """A number that was found in a result, and the sizes that it may follow from.

    `sizes` are pairs of a name and a size, such as ("the size of axis 1 (S)", 5).
    """

    number: float
    sizes: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Claim:
    """A true sentence about a wrong result, and a question to look at.

    Claims of one `kind` say the same about the results of several checks. One that does not
    lead stands behind the bare fact, such as that of a wrong shape. One that is `weak` says where
    numbers differ, or by how much, but not what was done to them.
    """

    kind: str
    fact: str
    look: str = ""
    measure: Measure | None = None
    leads: bool = True
    weak: bool = False
