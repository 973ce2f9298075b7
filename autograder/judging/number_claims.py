"""Claims about every number by itself: a factor, a constant, a power, a bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from autograder.judging.compare import (
    FLOOR,
    ResultSpec,
    agree,
    comparable,
    decimals_of,
    decimals_words,
    is_lower,
)
from autograder.judging.value_words import axis_words
from autograder.model.verdict import Claim, Measure

# Two arrays that should be equal and are not, and the words for them.

RESULT = "The result"  # what a student calls a single array


@dataclass(frozen=True, eq=False)
class Difference:
    """The array that came back, the expected one, and what a student calls the first.

    `axes` names those of `expected`, as "B S D", or is None; `precision` says how near numbers
    have to be to count as equal; `sizes` are the sizes that the question is about, by name.
    """

    actual: np.ndarray
    expected: np.ndarray
    label: str
    axes: str | None
    precision: str
    sizes: tuple[tuple[str, int], ...] = ()

    def agree(self, actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """Say per entry whether two arrays of one shape agree."""
        return agree(actual, expected, self.precision)

    def holds(self, wanted: np.ndarray) -> bool:
        """Say whether the result is `wanted`, which has to be told from one and the same number."""
        if wanted.shape != self.actual.shape or not np.isfinite(wanted).all():
            return False
        if not self.agree(self.actual, wanted).all():
            return False
        return not self.agree(np.full_like(wanted, np.median(wanted)), wanted).all()

    def axis(self, axis: int) -> str:
        """Name an axis of the expected array: axis 1 (S)."""
        return axis_words(axis, self.axes, self.expected.ndim)

    @property
    def of_label(self) -> str:
        """What to put behind a place: " of `keys`", or "" for the only array."""
        return f" of {self.label}" if self.label != RESULT else ""

    @property
    def square(self) -> bool:
        """Whether the last two axes are the same one twice, such as S S."""
        letters = (self.axes or "").split()[-2:]
        return self.expected.ndim > 1 and len(letters) == 2 and letters[0] == letters[1]

    @property
    def shares(self) -> bool:
        """Whether the expected rows are shares: not negative, and each sums to 1."""
        rows = self.expected
        if rows.ndim == 0 or rows.shape[-1] < 2 or (rows < 0).any():
            return False
        return bool(self.agree(rows.sum(axis=-1), np.ones(rows.shape[:-1], rows.dtype)).all())


def numbers(array: np.ndarray, form: ResultSpec) -> np.ndarray:
    """Return an array in floating point, since booleans cannot be subtracted and integers wrap."""
    array = comparable(array, form.compare)
    return array.astype(np.float64) if array.dtype.kind in "biu" else array


def near(array: np.ndarray, form: ResultSpec) -> str:
    """Return the precision in which to compare an array: its own, where that is lower."""
    return array.dtype.name if is_lower(array, form.precision) else form.precision


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


# Claims about a part of a result: entries that are right, alike, or off in one way.

MOST_PLACES = 6  # that are listed one by one
CLOSE_LOOK = "Where is a small number added, a large one cut off, or precision lost?"


def about_rows(seen: Difference) -> Iterator[Claim]:
    """Give what is true of whole rows along an axis of a result with the expected shape."""
    for axis in range(seen.expected.ndim):
        if seen.expected.shape[axis] > 1:
            claim = _alike(seen, axis)
            if claim:
                yield claim
    for axis in reversed(range(seen.expected.ndim)):
        claim = _row_factor(seen, axis) or _row_offset(seen, axis)
        if claim:
            yield claim
            return


def _alike(seen: Difference, axis: int) -> Claim | None:
    actual, expected = (np.moveaxis(each, axis, 0) for each in (seen.actual, seen.expected))
    if not seen.agree(actual, np.broadcast_to(actual[:1], actual.shape)).all():
        return None
    if seen.agree(expected, np.broadcast_to(expected[:1], expected.shape)).all():
        return None
    if seen.agree(actual, np.full_like(actual, actual.flat[0])).all():
        return None  # it is one number everywhere, along each axis alike
    return Claim(
        "alike",
        f"{seen.label} is the same for every entry along {seen.axis(axis)}. It is expected to "
        "differ.",
        "Where does your code look at the entries one by one?",
        weak=True,
    )


def _row_factor(seen: Difference, axis: int) -> Claim | None:
    if seen.expected.shape[axis] < 2:
        return None
    actual, expected = (np.asarray(each, np.float64) for each in (seen.actual, seen.expected))
    weight = (expected * expected).sum(axis=axis, keepdims=True)
    if not weight.all() or not np.isfinite(weight).all():
        return None
    factors = (actual * expected).sum(axis=axis, keepdims=True) / weight
    if (
        (np.abs(factors) < 1e-3).any()
        or np.ptp(factors) < 1e-3
        or not seen.holds(seen.expected * factors)
    ):
        return None
    rows = axis == seen.expected.ndim - 1
    sums = " So the sums of the rows differ from 1." if seen.shares and rows else ""
    only, line = _only_axis(seen, factors), "row" if rows else "line"
    if only and not sums:
        fact = (
            f"Along {only}{seen.of_label}, each entry is multiplied by a number of its own, "
            f"{_from_to(factors)}, whatever its place on the other axes."
        )
    else:
        fact = (
            f"Along {seen.axis(axis)}{seen.of_label}, the entries of a {line} are in the right "
            f"proportion. But each {line} is multiplied by a number of its own, "
            f"{_from_to(factors)}.{sums}"
        )
    return Claim("row factor", fact, "Which sum or size do you divide by?")


def _from_to(numbers: np.ndarray) -> str:
    return f"from {float(numbers.min()):.4g} to {float(numbers.max()):.4g}"


def _only_axis(seen: Difference, numbers: np.ndarray) -> str:
    """Name the only axis along which numbers differ, or return ""."""
    sizes = enumerate(numbers.shape)
    differ = [axis for axis, size in sizes if size > 1 and np.ptp(numbers, axis=axis).max() > 1e-3]
    return seen.axis(differ[0]) if len(differ) == 1 else ""


def _row_offset(seen: Difference, axis: int) -> Claim | None:
    if seen.expected.shape[axis] < 2:
        return None
    off = np.median(seen.actual - seen.expected, axis=axis, keepdims=True)
    if not np.isfinite(off).all() or np.ptp(off) < 1e-3 or not seen.holds(seen.expected + off):
        return None
    only, line = _only_axis(seen, off), "row" if axis == seen.expected.ndim - 1 else "line"
    if only:
        return Claim(
            "row offset",
            f"Along {only}{seen.of_label}, each entry is off by a number of its own, "
            f"{_from_to(off)}, whatever its place on the other axes.",
            f"What is added, or taken away, along {only}?",
        )
    return Claim(
        "row offset",
        f"Along {seen.axis(axis)}{seen.of_label}, the entries of each {line} are all off by "
        f"one and the same number: {_from_to(off)}.",
        f"What is added to, or taken away from, whole {line}s?",
    )


def about_triangle(seen: Difference) -> Iterator[Claim]:
    """Give on which side of the diagonal all wrong entries of a square lie."""
    if not seen.square:
        return
    wrong = ~seen.agree(seen.actual, seen.expected)
    size = seen.expected.shape[-1]
    above = np.triu(np.ones((size, size), bool), k=1)
    diagonal, below = np.eye(size, dtype=bool), above.T
    sides = {"above the diagonal": above, "on the diagonal": diagonal, "below the diagonal": below}
    hit = [words for words, side in sides.items() if (wrong & side).any()]
    if len(hit) == 1 and size > 2:
        fact = f"{seen.label} is right except {hit[0]}."
        if not seen.actual[np.broadcast_to(sides[hit[0]], wrong.shape)].any():
            fact = (
                f"{seen.label} is 0 everywhere {hit[0]}, but other numbers are expected there too. "
                "All the others are right."
            )
        meets = {"above the diagonal": "the keys of later tokens"}
        meets["below the diagonal"] = "the keys of earlier tokens"
        key = meets.get(hit[0], "the key of its own token")
        yield Claim(hit[0], fact, f"There, a query meets {key}. What does your code do there?")


def about_entries(seen: Difference) -> Iterator[Claim]:
    """Give which entries along one axis are right, where the others are not."""
    right = seen.agree(seen.actual, seen.expected)
    for axis in range(seen.expected.ndim):
        others = tuple(other for other in range(seen.expected.ndim) if other != axis)
        whole = right.all(axis=others)
        if 0 < whole.sum() < whole.size:
            right_ones = entries([int(place) for place in np.flatnonzero(whole)], whole.size)
            along = f"Along {seen.axis(axis)}{seen.of_label}"
            fact = f"{along}, {right_ones} right, but the others are not."
            yield Claim(f"entries {axis}", fact, weak=True)
            return


def entries(places: list[int], count: int) -> str:
    """Name the entries at `places` of `count`; when they are too many to list, say how many."""
    if len(places) == 1:
        return f"entry {places[0]} is"
    first, last = places[0], places[-1]
    if len(places) == last - first + 1 > 2:
        return f"the entries {first} to {last} are"
    if len(places) <= MOST_PLACES:
        return f"the entries {', '.join(map(str, places[:-1]))} and {last} are"
    return f"{len(places)} of the {count} entries are"


def about_closeness(seen: Difference) -> Iterator[Claim]:
    """Give by how much a result is off, where it is nearly right."""
    off, sizes = np.abs(seen.actual - seen.expected), np.abs(seen.expected)
    # A few large numbers would make all the others look right.
    small = min(float(sizes.max(initial=0.0)), 4 * float(np.median(sizes)) if sizes.size else 0.0)
    largest = float(off.max(initial=0.0))
    if not 0 < largest < 5e-3 * small:
        return
    yield Claim(
        "close",
        f"{seen.label} is nearly right: no number is off by more than {_rounded_up(largest)}. But "
        "that is too much.",
        CLOSE_LOOK,
        weak=True,
    )


def _rounded_up(number: float) -> str:
    """Write a number with two digits, and not less than it is."""
    unit = 10.0 ** (np.floor(np.log10(number)) - 1)
    return f"{np.ceil(number / unit) * unit:.2g}"
