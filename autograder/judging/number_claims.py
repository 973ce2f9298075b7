"""Claims about every number by itself: a factor, a constant, a power, a bound."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autograder.judging.compare import FLOOR
from autograder.judging.difference import Difference
from autograder.judging.precision import decimals_of, decimals_words
from autograder.model.claim import Claim, Measure

_POWERS = {
    2.0: "the square of",
    3.0: "the cube of",
    0.5: "the square root of",
    -1.0: "1 divided by",
}
_NEARLY = 2e-3  # how far from 1 a factor is that is told as one near it


def about_numbers(seen: Difference) -> Iterator[Claim]:
    """Give what is true of all numbers of a result with the expected shape."""
    for claim in (
        _constant,
        _rounded,
        _factor,
        _absolute,
        _complement,
        _offset,
        _function,
        _dropped,
        _exchanged,
        _clipped,
    ):
        found = claim(seen)
        if found:
            yield found


def _constant(seen: Difference) -> Claim | None:
    first = seen.actual.flat[0] if seen.actual.size > 1 else np.nan
    if not np.isfinite(first) or (seen.actual != first).any():
        return None
    return Claim(
        "constant",
        f"{seen.label} holds the same number everywhere, {_number(seen, first)}.",
        "Which of the arguments does your result depend on?",
    )


def _number(seen: Difference, number: float) -> str:
    # Where scores may be forbidden, all that are as low as this are one.
    forbidden = number == FLOOR and (seen.expected == FLOOR).any()
    return "a very negative one" if forbidden else f"{number:.4g}"


def _rounded(seen: Difference) -> Claim | None:
    actual, expected = (np.asarray(each, np.float64) for each in (seen.actual, seen.expected))
    if actual.size < 3 or not np.isfinite(actual).all() or np.ptp(actual) == 0:
        return None
    digits = decimals_of(seen.actual)
    if digits is None or np.abs(actual - expected).max() * 10**digits > 0.5 + 1e-3:
        return None
    return Claim(
        "rounded",
        f"{seen.label} is what is expected, rounded to {decimals_words(digits)}.",
        "Numbers are rounded to be read, and not to be computed with. Which line does it?",
    )


def best_factor(seen: Difference) -> float | None:
    """Return the number which, times the expected array, is the result; None if there is none."""
    actual, expected = (np.asarray(each, np.float64) for each in (seen.actual, seen.expected))
    if not (np.isfinite(actual).all() and np.isfinite(expected).all()):
        return None
    weight = float((expected * expected).sum())
    if weight == 0 or np.count_nonzero(expected) < 3:
        return None
    factor = float((actual * expected).sum()) / weight
    return factor if seen.holds(seen.expected * factor) else None


def _factor(seen: Difference) -> Claim | None:
    factor = best_factor(seen)
    if factor is None:
        return None
    if abs(factor + 1) < 1e-4:
        return Claim(
            "sign",
            f"{seen.label} is -1 times what is expected: the size of each number is right, but "
            "its sign is the opposite.",
            "Where does a sign change, or where do two terms of a difference change places?",
        )
    if abs(factor - 1) < _NEARLY:
        # Told with more digits. With factors at other sizes, it is one kind of mistake.
        return Claim(
            "factor",
            f"{seen.label} is {factor:.7g} times what is expected, everywhere. That is nearly 1.",
            "Which number that you multiply or divide by has too few digits, or a small number "
            "added to it?",
            Measure(factor, seen.sizes),
        )
    return Claim(
        "factor",
        f"{seen.label} is {factor:.4g} times what is expected, everywhere.",
        "Which number do you multiply or divide by too much, or not at all?",
        Measure(factor, seen.sizes),
    )


def _absolute(seen: Difference) -> Claim | None:
    if not (seen.expected < 0).any() or not seen.holds(np.abs(seen.expected)):
        return None
    return Claim(
        "absolute",
        f"{seen.label} is right where a positive number is expected, but each negative one has "
        "lost its sign.",
        "Which operation makes a negative number positive?",
    )


def _complement(seen: Difference) -> Claim | None:
    binary = np.isin(seen.expected, (0, 1)).all() and np.isin(seen.actual, (0, 1)).all()
    if not binary or not seen.holds(1 - seen.expected):
        return None
    return Claim(
        "complement",
        f"{seen.label} has 0 wherever 1 is expected, and 1 wherever 0 is expected.",
        "What does a 1 stand for?",
    )


def _offset(seen: Difference) -> Claim | None:
    if seen.actual.size < 3:
        return None
    middle = float(np.median(seen.actual - seen.expected))
    if not np.isfinite(middle) or not seen.holds(seen.expected + middle):
        return None
    return Claim(
        "offset",
        f"{seen.label} is what is expected plus {middle:.4g}, everywhere.",
        "Where is a constant added?",
    )


def _function(seen: Difference) -> Claim | None:
    expected = seen.expected
    if np.unique(expected).size < 4:  # on 0 and 1, most powers are the same
        return None
    for power, words in _POWERS.items():
        if seen.holds(expected**power):
            return Claim("power", f"Each number of {_inner(seen)} is {words} the expected one.")
    if seen.holds(np.floor(expected)):
        fact = f"{seen.label} is what is expected, rounded down to whole numbers."
        return Claim("whole", fact, "Which operation keeps whole numbers only? `//` is one.")
    if seen.holds(np.log(expected)):
        return Claim("logarithm", f"{seen.label} is the logarithm of what is expected.")
    if seen.holds(np.exp(expected)):
        return Claim("exponential", f"{seen.label} is the exponential of what is expected.")
    return None


def _inner(seen: Difference) -> str:
    """Return the label for the middle of a sentence."""
    return seen.label[0].lower() + seen.label[1:]


def _dropped(seen: Difference) -> Claim | None:
    actual, expected = seen.actual, seen.expected
    kept = (actual != 0) & (expected != 0)
    dropped = int(((actual == 0) & (expected != 0)).sum())
    if not dropped or kept.sum() < 3 or ((actual != 0) & (expected == 0)).any():
        return None
    times = float(np.median(actual[kept] / expected[kept]))
    if times < 1 + _NEARLY or not seen.agree(actual[kept], expected[kept] * times).all():
        return None
    fact = (
        f"{seen.label} has {int((actual == 0).sum())} zeros, and its other numbers are "
        f"{times:.4g} times what is expected"
    )
    if _in_a_pattern(actual == 0):
        return Claim("zeros and factor", f"{fact}.", "Which line leaves numbers out?")
    return Claim(
        "dropout",
        f"{fact}, the way a dropout of {1 - 1 / times:.2g} leaves them.",
        "Which line draws at random which numbers stay?",
    )


def _in_a_pattern(zero: np.ndarray) -> bool:
    """Say whether zeros fill whole entries along an axis, or one side of a square's diagonal."""
    for axis in range(zero.ndim):
        others = tuple(other for other in range(zero.ndim) if other != axis)
        if zero.ndim > 1 and (zero == zero.all(axis=others, keepdims=True)).all():
            return True
    if zero.ndim < 2 or zero.shape[-1] != zero.shape[-2]:
        return False
    above = np.triu(np.ones(zero.shape[-2:], bool), k=1)
    return any((zero == side).all() for side in (above, above.T, above | above.T))


def _exchanged(seen: Difference) -> Claim | None:
    """Claim that one number stands wherever a certain other one is expected, and nowhere else."""
    wrong = ~seen.agree(seen.actual, seen.expected)
    if wrong.sum() < 3 or wrong.all() or np.ptp(seen.expected[wrong]) or np.ptp(seen.actual[wrong]):
        return None
    wanted, given = float(seen.expected[wrong][0]), float(seen.actual[wrong][0])
    if (seen.expected == wanted).sum() != wrong.sum():
        return None
    return Claim(
        "another number",
        f"Where {wanted:.4g} is expected, {_inner(seen)} holds {given:.4g}. Its other numbers are "
        "right.",
        "Which line decides what stands in these places?",
    )


def _clipped(seen: Difference) -> Claim | None:
    low, high = float(seen.actual.min()), float(seen.actual.max())
    wrong = ~seen.agree(seen.actual, seen.expected)  # a last digit is no bound
    below, above = wrong & (seen.expected < low), wrong & (seen.expected > high)
    cut = int(below.sum() + above.sum())
    # The least or the largest number of any array bounds it: one that is cut proves nothing.
    ends = (below.sum() == 0 or below.sum() > 2) and (above.sum() == 0 or above.sum() > 2)
    if cut < 3 or cut > seen.expected.size - 3 or not ends:
        return None
    # One number that stands in the place of another is no bound.
    if any(side.any() and np.ptp(seen.expected[side]) == 0 for side in (below, above)):
        return None
    if not seen.holds(np.clip(seen.expected, low, high)):
        return None
    sides = [f"no number is below {low:.4g}"] if below.any() else []
    sides += [f"no number is above {high:.4g}"] if above.any() else []
    return Claim(
        "clipped",
        f"{seen.label} is right apart from numbers that are cut off: {' and '.join(sides)}.",
        "Which operation puts a bound on the numbers?",
    )
