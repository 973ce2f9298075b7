"""How an array that a step is given differs from the expected one of the same shape."""

from __future__ import annotations

import numpy as np

from autograder.judging.call_deviation import alike
from autograder.judging.compare import FLOOR


def array_words(given: np.ndarray, wanted: np.ndarray) -> str:
    """Say what a call gets in place of an array, as in: it gets twice what is expected."""
    if given.ndim > 1 and alike(given.swapaxes(-2, -1), wanted):
        return "what is expected with its last two axes exchanged"
    is_mask = ((wanted == 0) | (wanted == 1)).all()
    if is_mask and alike(given, 1 - wanted.astype(np.float64)):
        return "what is expected the wrong way round, with 1 for 0 and 0 for 1"
    times = factor(given, wanted)
    if times:
        return f"{times:.4g} times what is expected"
    coarse = given.dtype.kind == wanted.dtype.kind == "f" and given.dtype != wanted.dtype
    if coarse and np.allclose(given, wanted, rtol=1e-2, atol=1e-2):
        return f"what is expected, rounded to {given.dtype.name}"
    return _weakly_hidden(given, wanted) or "other numbers than expected"


def factor(given: np.ndarray, wanted: np.ndarray) -> float:
    """Return the one number that turns the expected array into another, 0 if there is none.

    Hidden scores stay hidden.
    """
    seen = wanted > FLOOR
    if not {given.dtype.kind, wanted.dtype.kind} <= set("f") or not wanted[seen].any():
        return 0.0
    part, whole = given[seen], wanted[seen]
    place = np.argmax(np.abs(whole))
    with np.errstate(all="ignore"):
        times = float(part[place] / whole[place])
    same = np.isfinite(times) and bool((given[~seen] <= FLOOR).all())
    return times if same and np.isfinite(whole).all() and alike(part, times * whole) else 0.0


def _weakly_hidden(given: np.ndarray, wanted: np.ndarray) -> str:
    """Say which number stands for hidden scores, where all others are right."""
    hidden = wanted <= FLOOR
    numbers = np.unique(given[hidden])
    if len(numbers) != 1 or numbers[0] <= FLOOR or not np.isfinite(numbers[0]):
        return ""
    if not alike(given[~hidden], wanted[~hidden]):
        return ""
    return (
        f"{numbers[0]:.4g} for the hidden scores, of which the softmax still makes a share; the "
        "others are right"
    )
