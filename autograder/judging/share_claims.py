"""Claims about shares: how sharp the rows are, what sums to 1 in their place, what is masked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from autograder.judging.difference import Difference
from autograder.model.claim import Claim, Measure

MOST_AXES = 4


def about_shares(seen: Difference) -> Iterator[Claim]:
    """Give what is true of a result whose rows, or the expected ones, are shares that sum to 1."""
    if not np.isfinite(seen.actual).all():
        return
    if not seen.shares:
        yield from _too_soon(seen)
        return
    found = _temperature(seen) or _equal_shares(seen)
    if found:
        yield found
    elif sums_to_one(seen, (seen.expected.ndim - 1,)):
        yield from _shifted(seen)
        yield from _masked(seen)
        yield from _some_kept(seen)
    else:
        found = _sums_of_other_rows(seen)
        yield from [found] if found else _other_sums(seen)


def _too_soon(seen: Difference) -> Iterator[Claim]:
    """Claim that a result holds shares where none are expected."""
    if np.isin(seen.expected, (0, 1)).all() and np.isin(seen.actual, (0, 1)).all():
        return  # a mask may have a single 1 in each row
    several = seen.actual.ndim > 1 and seen.actual.shape[-1] > 2
    if several and not (seen.actual < 0).any() and sums_to_one(seen, (seen.actual.ndim - 1,)):
        yield Claim(
            "shares too soon",
            "Each row of your result sums to 1, as after a softmax. No shares are expected here.",
            "Which step of the layer turns scores into shares?",
        )


def _temperature(seen: Difference) -> Claim | None:
    """Claim that the rows are those of scores times a number, if there is such a number."""
    expected, actual = (np.asarray(each, np.float64) for each in (seen.expected, seen.actual))
    told = (expected > 1e-6) & (actual > 1e-12)
    if told.sum(axis=-1).max() < 2:
        return None
    ours, theirs = (_apart(each, told) for each in (expected, actual))
    spread = float((ours * ours).sum())
    if spread < 1e-6:
        return None
    times = float((ours * theirs).sum()) / spread
    if abs(times) < 1e-3 or (times < 0 and not (expected > 0).all()):
        return None
    powers = np.where(expected > 0, expected, 0.0) ** times
    wanted = powers / powers.sum(axis=-1, keepdims=True)
    if not seen.agree(seen.actual, wanted.astype(seen.expected.dtype)).all():
        return None
    if times < 0:
        return Claim(
            "turned round",
            "Each row sums to 1, but the larger a score is, the smaller is its share. It is the "
            f"softmax of {times:.4g} times the right scores.",
            "Where do the scores change their sign, or the two sides of a difference places?",
        )
    way, largest = ("sharp", "too large") if times > 1 else ("flat", "too small")
    return Claim(
        "temperature",
        f"Each row sums to 1, but is too {way}: its largest share is {largest}. It is the softmax "
        f"of {times:.4g} times the right scores.",
        "What are the scores multiplied or divided by before the softmax? Or is another number "
        "than e raised to them?",
        Measure(times, seen.sizes),
    )


def _apart(shares: np.ndarray, told: np.ndarray) -> np.ndarray:
    """Return the logarithms of the shares that are `told`, less their mean in each row; else 0."""
    logarithms = np.where(told, np.log(np.where(told, shares, 1.0)), 0.0)
    count = np.maximum(told.sum(axis=-1, keepdims=True), 1)
    return np.where(told, logarithms - logarithms.sum(axis=-1, keepdims=True) / count, 0.0)


def _shifted(seen: Difference) -> Iterator[Claim]:
    """Claim that the scores of a row are not all shifted by one number."""
    expected, actual = (np.asarray(each, np.float64) for each in (seen.expected, seen.actual))
    told = (expected > 1e-12) & (actual > 1e-12)
    if not told.all() or min(expected.shape[-1:], default=0) < 2:
        return
    shift = _apart(actual, told) - _apart(expected, told)
    for axis in range(shift.ndim - 1):
        if shift.shape[axis] < 2 or shift.size // shift.shape[axis] < 3 or np.ptp(shift) < 1e-2:
            continue
        wanted = expected * np.exp(shift.mean(axis=axis, keepdims=True))
        wanted /= wanted.sum(axis=-1, keepdims=True)
        if seen.agree(seen.actual, wanted.astype(seen.expected.dtype)).all():
            yield Claim(
                "shifted",
                "Each row sums to 1, but the scores of a row are shifted by different numbers: by "
                f"the same one everywhere along {seen.axis(axis)}.",
                "A row keeps its shares only if it is shifted as a whole. Along which axis is what "
                "you take off computed?",
            )
            return


def _equal_shares(seen: Difference) -> Claim | None:
    count = seen.expected.shape[-1]
    if not seen.agree(seen.actual, np.full_like(seen.expected, 1 / count)).all():
        return None
    return Claim(
        "equal shares",
        "Each row sums to 1, as expected, but all its shares are equal: 1 divided by the size of "
        f"{seen.axis(seen.expected.ndim - 1)}.",
        "Do your weights depend on the scores?",
    )


def _masked(seen: Difference) -> Iterator[Claim]:
    """Give what is true of the keys that a query may not see, in a square of shares."""
    size = seen.expected.shape[-1]
    if not seen.square or size < 2:
        return
    later = np.triu(np.ones((size, size), bool), k=1)
    here, there = (np.where(later, each, 0.0) for each in (seen.actual, seen.expected))
    if (there == 0).all() and (here[..., :-1, :] > 0).any(axis=-1).all():
        yield Claim(
            "future",
            "Each row sums to 1, but queries give shares to later keys: they see the future.",
            "Which entries of the scores belong to later keys?",
        )
    elif (here == 0).all() and (there[..., :-1, :] > 0).any(axis=-1).all():
        yield Claim(
            "no future",
            "Each row sums to 1, but later keys get no share. Here every query may see them.",
            "Where are scores forbidden?",
        )


def _some_kept(seen: Difference) -> Iterator[Claim]:
    """Claim that some shares are 0, and the others have grown by one factor in each row."""
    kept = seen.actual > 0
    left = np.where(kept, seen.expected, 0.0)
    if kept.all() or not seen.agree(seen.actual, left / left.sum(axis=-1, keepdims=True)).all():
        return
    many = int(kept.sum(axis=-1).max())
    least = np.sort(seen.expected, axis=-1)[..., -many, None]
    if (kept == (seen.expected >= least)).all() and many > 1:
        fact = (
            f"Each row sums to 1, but only the {many} largest shares of a row are left: the others "
            "are 0."
        )
    else:
        fact = (
            "Each row sums to 1, but some shares are 0 where one is expected. The others have "
            "grown by one factor in each row."
        )
    yield Claim("kept", fact, "Which line drops shares or scores?")


def _sums_of_other_rows(seen: Difference) -> Claim | None:
    """Claim that the share at (i, j) is divided by the sum of row j in place of row i."""
    size = seen.expected.shape[-1]
    if seen.expected.ndim < 2 or seen.expected.shape[-2] != size or size < 3:
        return None
    if not ((seen.actual > 0) & (seen.expected > 1e-9)).all():
        return None
    times = np.log(seen.actual / seen.expected)
    # The logarithm of row i's sum, less that of row 0's, if each is divided by another one's.
    sums = times[..., :, :1]
    wanted = seen.expected * np.exp(sums - sums.swapaxes(-2, -1))
    if not seen.agree(seen.actual, wanted).all():
        return None
    return Claim(
        "sums of other rows",
        "The shares on the diagonal are right. The others are divided by the sum of another row: "
        "the one at (i, j) by that of row j.",
        "Which axes does broadcasting pair up when you divide by the sums?",
    )


def _other_sums(seen: Difference) -> Iterator[Claim]:
    """Give over which axes the shares sum to 1, where it is not over each row."""
    count = seen.expected.ndim
    if count > MOST_AXES or (seen.actual < 0).any():
        return
    for many in range(1, count + 1):
        for axes in combinations(range(count), many):
            entries = int(np.prod([seen.expected.shape[axis] for axis in axes]))
            if entries > 1 and seen.actual.size >= 3 and sums_to_one(seen, axes):
                yield _summed_over(seen, axes)
                return


def _summed_over(seen: Difference, axes: tuple[int, ...]) -> Claim:
    names = [seen.axis(axis) for axis in axes]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    together = " together" if len(names) > 1 else ""
    last = seen.axis(seen.expected.ndim - 1)
    return Claim(
        f"sums over {axes}",
        f"The shares sum to 1 along {listed}{together}. They are expected to sum to 1 along {last} "
        "alone.",
        "Along which axis do the keys of one query lie?",
    )


def sums_to_one(seen: Difference, axes: tuple[int, ...]) -> bool:
    sums = np.asarray(seen.actual.sum(axis=axes))
    return bool(seen.agree(sums, np.ones_like(sums)).all())
