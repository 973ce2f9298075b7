"""Which numbers stand in two arrays that are drawn apart: copies of a part are no new draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from autograder.model.request import Reply, Request, Returned
from autograder.model.verdict import Evidence, Finding, Outcome
from autograder.protocol.wire import SEEDS

# Of separate float32 draws, fewer than one number in a thousand agrees by chance.
_SHARE, _FEWEST = 0.05, 8


def repetitions(ordered: np.ndarray) -> int:
    """Return how many numbers of an array that is in order equal one before them."""
    return int(np.count_nonzero(ordered[1:] == ordered[:-1]))


def sharing(arrays: Mapping[str, np.ndarray]) -> tuple[str, str] | None:
    """Return the names of the first two arrays of which one holds many numbers of the other."""
    if repetitions(np.sort(np.concatenate([each.ravel() for each in arrays.values()]))) < _FEWEST:
        return None  # as nearly always, and soon seen
    names = list(arrays)
    for place, second in enumerate(names):
        for first in names[:place]:
            shared = int(np.isin(arrays[second], arrays[first]).sum())
            smaller = min(arrays[first].size, arrays[second].size)
            if shared >= max(_FEWEST, _SHARE * smaller):
                return first, second
    return None


def with_seed(finding: Finding, request: Request, ask: Callable[[Request], Reply]) -> Finding:
    """Return the finding on draws that are not separate, with the seed that the code sets.

    That is seen when the same is asked twice in a row. No known mistake is named then, since none
    sets one.
    """
    bare = finding.evidence.bare if finding.evidence else finding
    if not bare.cause or finding.outcome is not Outcome.WRONG_VALUES:
        return finding
    _, again = ask(request), ask(request)
    seen = again.observations if isinstance(again, Returned) else ()
    seed = next((name for name in SEEDS if name in seen), "")
    if not seed:
        return finding
    look = (
        f"Your code also sets a seed (`{seed}`): whatever is drawn after that is the same every "
        "time. Is it set again before each draw?"
    )
    told = replace(bare, look=look)
    return replace(told, evidence=Evidence(told, ()))
