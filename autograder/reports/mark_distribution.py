"""How the marks of a class are spread: the middle, who is far below it, and in which shares."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.model.symbols import number
from autograder.model.verdict import Verdict
from autograder.reports.gradebook_entry import GradebookEntries, max_points_of, points_of

TENTHS = 10
_ROUNDING = 1e-9  # sums of thirds of points fall short of a whole number by less than this


@dataclass(frozen=True)
class MarkRange:
    """How many students have a share of the points in one range; `words` name the range."""

    words: str
    students: int


@dataclass(frozen=True)
class MarkDistribution:
    """The marks of a class in numbers, all in points.

    `of` are the most points, None where students have different ones. Half of the class lies
    between the two numbers of `middle`. `low` are the ids of who has less than half of the points,
    the lowest first. `ranges` go from the lowest to the highest.
    """

    graded: int
    not_graded: int
    full: int
    median: float
    middle: tuple[float, float]
    of: float | None
    low: tuple[str, ...]
    ranges: tuple[MarkRange, ...]

    @property
    def most(self) -> int:
        """The number of students in the fullest range, at least 1."""
        return max(1, *(each.students for each in self.ranges))

    @property
    def median_words(self) -> str:
        """The median as "20 of 22"."""
        return number(self.median) + ("" if self.of is None else f" of {number(self.of)}")

    @property
    def middle_words(self) -> str:
        """The marks between which half of the class lies, as "13 to 22"."""
        low, high = map(number, self.middle)
        return low if low == high else f"{low} to {high}"


def mark_distribution(
    verdicts: Sequence[Verdict], entries: GradebookEntries
) -> MarkDistribution | None:
    """Return how the marks are spread, as the gradebook has them where it has `entries`.

    It is None where nobody could earn a point.
    """
    marks = [
        (points, max_points_of(verdict, entries), verdict.student)
        for verdict in verdicts
        if (points := points_of(verdict, entries)) is not None
    ]
    if not any(most > 0 for _, most, _ in marks):
        return None
    shares = [(points / most, student) for points, most, student in marks if most > 0]
    tenths = Counter(min(TENTHS, int(TENTHS * share + _ROUNDING)) for share, _ in shares)
    above = any(share > 1 + _ROUNDING for share, _ in shares)
    all_points = [points for points, _, _ in marks]
    return MarkDistribution(
        graded=len(marks),
        not_graded=len(verdicts) - len(marks),
        full=sum(points >= most for points, most, _ in marks),
        median=statistics.median(all_points),
        middle=_middle_half(all_points),
        of=marks[0][1] if len({most for _, most, _ in marks}) == 1 else None,
        low=tuple(student for share, student in sorted(shares) if share < 0.5 - _ROUNDING),
        ranges=tuple(MarkRange(_words(each, above), tenths[each]) for each in range(TENTHS + 1)),
    )


def _middle_half(points: Sequence[float]) -> tuple[float, float]:
    if len(points) == 1:
        return points[0], points[0]
    low, _, high = statistics.quantiles(points, n=4, method="inclusive")
    return low, high


def _words(tenth: int, above: bool) -> str:
    if tenth == TENTHS:
        return "all points or more" if above else "all points"
    low, high = 100 * tenth // TENTHS, 100 * (tenth + 1) // TENTHS
    return f"{low} to under {high} %" if tenth else f"under {high} %"
