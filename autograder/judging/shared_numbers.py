"""Which numbers stand in two arrays that are drawn apart: copies of a part are no new draw."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

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
