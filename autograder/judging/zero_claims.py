"""Claims about zeros: which entries of a result are 0, where all the others are right."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autograder.judging.difference import Difference
from autograder.judging.entry_claims import MOST_PLACES, entries
from autograder.model.claim import Claim

GRADIENT = ".grad"  # behind the name of a parameter


def about_zeros(seen: Difference) -> Iterator[Claim]:
    """Give which entries are 0, where all the others are right."""
    wrong = ~seen.agree(seen.actual, seen.expected)
    if wrong.all() or seen.actual[wrong].any():
        return
    count = int(wrong.sum())
    if count > 1 and ((seen.expected < 0) == wrong).all():
        yield Claim(
            "cut at zero",
            f"{count} of the {wrong.size} numbers{seen.of_label} are 0 where negative ones are "
            "expected, and all the others are right.",
            "Which line cuts off what is below 0?",
        )
    for axis in range(seen.expected.ndim):
        others = tuple(other for other in range(seen.expected.ndim) if other != axis)
        whole = np.asarray(wrong.any(axis=others))
        if not whole.all() and not np.compress(whole, seen.actual, axis).any():
            yield _along(seen, axis, [int(place) for place in np.flatnonzero(whole)])
            return
    if count > 1:
        yield Claim(
            "zeros",
            f"{count} of the {wrong.size} numbers{seen.of_label} are 0, and all the others are "
            "right.",
            "Which line leaves numbers out?",
        )


def _along(seen: Difference, axis: int, places: list[int]) -> Claim:
    """Claim that the entries at `places` along an axis hold nothing but 0."""
    size = seen.expected.shape[axis]
    parameter = seen.label.removesuffix(f"{GRADIENT}`")
    if parameter == seen.label or axis:
        fact = f"{entries(places, size)} 0 everywhere, and the others are right."
        return Claim(
            f"zero {axis}",
            f"Along {seen.axis(axis)}{seen.of_label}, {fact}",
            "Which line leaves these entries out?",
        )
    third = _share_of(places, size)
    rows = f"row {places[0]}{third} gets" if len(places) == 1 else f"{_listed(places)}{third} get"
    return Claim(
        f"zero {axis}",
        f"In {parameter}`, {rows} no gradient. The others get the right one.",
        "Which result is made with these rows? Where is its way to the output cut?",
    )


def _listed(places: list[int]) -> str:
    if places == list(range(places[0], places[-1] + 1)) and len(places) > 2:
        return f"the rows {places[0]} to {places[-1]}"
    if len(places) <= MOST_PLACES:
        return f"the rows {', '.join(map(str, places[:-1]))} and {places[-1]}"
    return f"{len(places)} of the rows"


def _share_of(places: list[int], count: int) -> str:
    """Say which third of the rows these are, where they are one."""
    for number, words in enumerate(("first", "second", "last")):
        if count % 3 == 0 and places == list(range(number * count // 3, (number + 1) * count // 3)):
            return f", the {words} third of all rows,"
    return ""
