"""Which size a number follows from, at all sizes that were seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from autograder.model.claim import Measure

_NEAR = 1e-3
_LARGEST = 4096  # of the numbers that somebody may have written down

Form = tuple[str, Callable[[int], float]]
_FORMS: tuple[Form, ...] = (
    ("{}", float),
    ("the square root of {}", math.sqrt),
    ("1 divided by {}", lambda size: 1 / size),
    ("1 divided by the square root of {}", lambda size: 1 / math.sqrt(size)),
    ("the square of {}", lambda size: float(size * size)),
    ("1 divided by the square of {}", lambda size: 1 / (size * size)),
)


def expression(measures: Sequence[Measure]) -> str:
    """Return the one expression that equals each number at its sizes, or "".

    Where a fixed number stands for a size, the expression holds that number.
    """
    fits = list(dict.fromkeys(_fits(measures)))
    if len(fits) == 1:
        return fits[0]
    return "" if fits else next(_fixed(measures), "")


def _fits(measures: Sequence[Measure]) -> Iterator[str]:
    same = all(_close(each.number, measures[0].number) for each in measures)
    if same and (_whole(measures[0].number) or _whole(1 / measures[0].number)):
        return  # a number that somebody may have written down, such as 2
    seen: set[tuple[int, ...]] = set()
    for name in _names(measures):
        sizes = tuple(dict(each.sizes)[name] for each in measures)
        if sizes in seen:
            continue  # another name of the same sizes
        seen.add(sizes)
        for words, value in _FORMS:
            if all(_close(each.number, value(size)) for each, size in zip(measures, sizes)):
                yield words.format(name)


def _fixed(measures: Sequence[Measure]) -> Iterator[str]:
    """Give expressions of a size and one fixed number, seen at two sizes or more."""
    for name in _names(measures):
        sizes = [dict(each.sizes)[name] for each in measures]
        if len(set(sizes)) < 2:
            continue
        for words, value in _FORMS[:4]:
            fixed = [each.number / value(size) for each, size in zip(measures, sizes)]
            if not all(_close(each, fixed[0]) for each in fixed):
                continue
            told = _told(fixed[0])
            if told:
                yield f"{words.format(name)}, {told}"


def _told(number: float) -> str:
    """Name a fixed number that somebody may have written down, or its square root."""
    for way, each in (("times", number), ("divided by", 1 / number)):
        if _whole(each):
            return f"{way} {round(each)}"
        if _whole(each * each):
            return f"{way} the square root of {round(each * each)}"
    return ""


def _names(measures: Sequence[Measure]) -> list[str]:
    """Return the names of the sizes that belong to every measure."""
    others = [dict(each.sizes) for each in measures[1:]]
    return [
        name
        for name, size in (measures[0].sizes if measures else ())
        if size > 1 and all(other.get(name, 0) > 1 for other in others)
    ]


def _close(number: float, wanted: float) -> bool:
    return math.isclose(number, wanted, rel_tol=_NEAR)


def _whole(number: float) -> bool:
    return 1.5 < number < _LARGEST and abs(number - round(number)) < _NEAR
