"""How the marks of a class are spread: how many students have which share of the points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.model.verdict import Verdict
from autograder.reports.gradebook_entry import GradebookEntries, max_points_of, points_of

TENTHS = 10


@dataclass(frozen=True)
class MarkRange:
    """How many students have a share of the points in one range; `words` name the range."""

    words: str
    students: int


@dataclass(frozen=True)
class MarkDistribution:
    """The ranges from the lowest to the highest, and how many students have no mark yet."""

    ranges: tuple[MarkRange, ...]
    not_graded: int

    @property
    def most(self) -> int:
        """The number of students in the fullest range, at least 1."""
        return max(1, *(each.students for each in self.ranges))


def mark_distribution(
    verdicts: Sequence[Verdict], entries: GradebookEntries
) -> MarkDistribution | None:
    """Return how the marks are spread, as the gradebook has them where it has `entries`.

    It is None where nobody could earn a point.
    """
    tenths: Counter[int] = Counter()
    not_graded, above = 0, False
    for verdict in verdicts:
        points, most = points_of(verdict, entries), max_points_of(verdict, entries)
        if points is None:
            not_graded += 1
        elif most > 0:
            # Sums of thirds of points fall short of a whole tenth by less than this.
            tenths[min(TENTHS, int(TENTHS * points / most + 1e-9))] += 1
            above = above or points > most + 1e-9
    if not tenths:
        return None
    ranges = (MarkRange(_words(tenth, above), tenths[tenth]) for tenth in range(TENTHS + 1))
    return MarkDistribution(tuple(ranges), not_graded)


def _words(tenth: int, above: bool) -> str:
    if tenth == TENTHS:
        return "all points or more" if above else "all points"
    low, high = 100 * tenth // TENTHS, 100 * (tenth + 1) // TENTHS
    return f"{low} to under {high} %" if tenth else f"under {high} %"
