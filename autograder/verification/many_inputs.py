"""Known mistakes are caught and named on many inputs, because every hand-in gets its own.

The matrix shows a single draw, the exercise's own. Here the same is tried on many draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from autograder.verification.matrix import kill_matrix
from autograder.verification.naming import class_naming_gaps
from autograder.verification.trial import Trial

FIRST_SEED = 2_000_000
FEWEST = 2
VARIANTS_PER_MISTAKE = 10  # seeds for a variant per seed for a mistake, which takes longer


@dataclass(frozen=True)
class ManyInputs:
    """The result of `seeds` draws: the least margin of all, and a sentence for every gap."""

    seeds: int
    least_margin: float
    gaps: tuple[str, ...]


def seeds_for_mistakes(seeds: int) -> range:
    """Return the seeds for mistakes, when `seeds` seeds are tried for each variant."""
    count = max(FEWEST, seeds // VARIANTS_PER_MISTAKE)
    return range(FIRST_SEED, FIRST_SEED + count)


def on_many_inputs(trial: Trial, seeds: Iterable[int]) -> ManyInputs:
    """Try every known mistake on the inputs of each seed; report a gap with its first seed.

    Inside a class, where looking for a name takes most of the time, a seed is for a half of them.
    """
    tried, margin = 0, math.inf
    found: dict[str, tuple[str, ...]] = {}
    for place, seed in enumerate(seeds):
        drawn = trial.drawn_from(seed)
        matrix = kill_matrix(drawn)
        tried, margin = tried + 1, min([margin, *(row.margin for row in matrix.rows)])
        gaps = {row.misconception: row.gaps() for row in matrix.rows}
        gaps |= {gap: (gap,) for gap in class_naming_gaps(drawn, place % FEWEST, FEWEST)}
        for what, sentences in gaps.items():
            if sentences:
                found.setdefault(what, tuple(f"with seed {seed}, {each}" for each in sentences))
    return ManyInputs(tried, margin, tuple(gap for gaps in found.values() for gap in gaps))
