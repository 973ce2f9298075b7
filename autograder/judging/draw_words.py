"""What leads on from a draw whose spread, mean or shape is wrong: a fact about its numbers."""

from __future__ import annotations

import numpy as np

_FEWEST = 32  # numbers of which a pattern is told
_MOST_FEW = 16  # different numbers, which no normal draw repeats
_BOUNDED = 3  # numbers at each end, of which a draw has one


def draw_words(array: np.ndarray, mean: float, told: str = "") -> str:
    """Return a fact about the numbers of a wrong draw with a question, or "".

    `mean` is the one that is asked for; `told` is what is said already to be wrong.
    """
    if array.size < _FEWEST or not np.isfinite(array).all():
        return ""
    return (
        _constant(array)
        or _repeated(array)
        or _few(array)
        or _zeros(array)
        or _one_sided(array, mean)
        or _bounded(array)
        or _even(array)
        or _off_centre(array, mean, told)
        or _of_tails(array)
    )


def _constant(array: np.ndarray) -> str:
    if np.ptp(array):
        return ""
    return (
        f"All its numbers are {float(array.flat[0]):.3g}. Which number of your call is the mean, "
        "and which one the standard deviation?"
    )


def _repeated(array: np.ndarray) -> str:
    for axis in range(array.ndim):
        if array.shape[axis] > 2 and not np.ptp(array, axis=axis).any():
            return (
                f"Along its axis {axis}, all numbers are equal. How many numbers does your call "
                "draw?"
            )
    return ""


def _few(array: np.ndarray) -> str:
    count = np.unique(array).size
    if count > min(_MOST_FEW, array.size // 4):
        return ""
    return f"It holds only {count} different numbers. Which distribution does your call draw from?"


def _zeros(array: np.ndarray) -> str:
    zero = array == 0
    if array.ndim == 2:
        above = np.triu(np.ones(array.shape, bool), k=1)
        below = np.tril(np.ones(array.shape, bool), k=-1)
        apart = {"above": above, "below": below, "above and below": above | below}
        for words, side in apart.items():
            if side.any() and np.array_equal(zero, side):
                return (
                    f"All its numbers {words} the diagonal are 0, and no others. Which line puts "
                    "them there?"
                )
    if zero.sum() < max(_BOUNDED, array.size // 16):
        return ""
    return f"{int(zero.sum())} of its {array.size} numbers are 0. Which line puts them there?"


def _one_sided(array: np.ndarray, mean: float) -> str:
    above = bool(array.min() >= mean)
    end = array.min() if above else array.max()
    # Numbers that are all far from the mean are drawn around another one.
    if not (above or end <= mean) or abs(end - mean) > array.std() / 4:
        return ""
    side = ("less than" if above else "greater than") + f" {mean:g}"
    if mean == 0:
        side = "negative" if above else "positive"
    return f"None of its numbers is {side}. What keeps them on one side of the mean?"


def _bounded(array: np.ndarray) -> str:
    low, high = float(array.min()), float(array.max())
    at_low, at_high = int((array == low).sum()), int((array == high).sum())
    ends = [(at_low, low), (at_high, high)]
    held = [f"{count} are exactly {end:.3g}" for count, end in ends if count >= _BOUNDED]
    if not held or np.unique(array).size < array.size // 4:
        return ""
    return (
        f"Of its numbers, {' and '.join(held)}, and none lies beyond. Which operation puts a "
        "bound on them?"
    )


def _even(array: np.ndarray) -> str:
    """Say that each tenth of the range holds as many numbers, where it does."""
    low, high = float(array.min()), float(array.max())
    counts = np.histogram(array, bins=10, range=(low, high))[0]
    if array.size < 200 or np.abs(counts - array.size / 10).max() > 5 * np.sqrt(array.size / 10):
        return ""
    return (
        f"They lie between {low:.3g} and {high:.3g}, as many near the ends as in the middle. Which "
        "distribution does your call draw from?"
    )


def _off_centre(array: np.ndarray, mean: float, told: str) -> str:
    centre = float(array.mean())
    if abs(centre - mean) < 6 * float(array.std()) / np.sqrt(array.size):
        return ""
    fact = "" if told == "mean" else f"Their mean is {centre:.3g}, and not {mean:g}. "
    return f"{fact}Around which number does your call draw?"


def _of_tails(array: np.ndarray) -> str:
    """Compare how many numbers lie far from the mean with a normal draw of the same spread."""
    apart = (array - array.mean()) / array.std()
    off = float((apart**4).mean()) - 3
    if abs(off) < 6 * np.sqrt(24 / array.size):
        return "Which number of your code sets how far from the mean they spread?"
    more = "More" if off > 0 else "Fewer"
    return (
        f"{more} of them lie far from the mean than in a normal draw of this spread. Which "
        "operation makes them so?"
    )
