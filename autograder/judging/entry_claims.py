"""Claims about a part of a result: entries that are right, alike, or off in one way."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autograder.judging.difference import Difference
from autograder.model.claim import Claim

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
