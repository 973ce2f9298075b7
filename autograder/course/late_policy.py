"""What being late costs: a policy for nbgrader's own late penalties, set in `nbgrader_config.py`.

nbgrader calls it once for each late hand-in, with the points that its work has in the gradebook.
"""

from __future__ import annotations

import math
from typing import Any

from nbgrader.plugins import BasePlugin
from traitlets import Bool, Float, TraitError

DAY = 24 * 60 * 60  # seconds


class LatePolicy(BasePlugin):
    """A part of the points for each day; nothing within the grace period."""

    grace_minutes = Float(
        0.0, min=0.0, help="Minutes after the deadline that cost nothing and count for nothing."
    ).tag(config=True)
    percent_per_day = Float(
        10.0, min=0.0, max=100.0, help="Percent of the earned points that each day costs."
    ).tag(config=True)
    points_per_day = Float(0.0, min=0.0, help="Points that each day costs, besides.").tag(
        config=True
    )
    begun_days = Bool(
        True, help="Whether a day that has begun counts as a whole one; else by the minute."
    ).tag(config=True)
    most_percent = Float(
        100.0, min=0.0, max=100.0, help="The most that lateness costs, in percent of the points."
    ).tag(config=True)
    zero_after_days = Float(
        math.inf, min=0.0, help="From so many days on, no points are left."
    ).tag(config=True)

    def __init__(self, **given: Any) -> None:
        """Raise `TraitError` for a setting that would be lost: a misspelt one, or NaN."""
        super().__init__(**given)
        known = sorted(LatePolicy.class_own_traits(config=True))
        for name in self.config[LatePolicy.__name__]:
            if name not in known:
                raise TraitError(f"LatePolicy has no {name}; there are: {', '.join(known)}")
            if math.isnan(getattr(self, name)):
                raise TraitError(f"LatePolicy: {name} is no number")

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        """Return the points that a hand-in loses; None for nothing.

        `score` is what it has earned, in points.
        """
        days = (total_seconds_late - 60 * self.grace_minutes) / DAY
        if days <= 0 or score <= 0:
            return None
        if days >= self.zero_after_days:
            return score
        counted = math.ceil(days) if self.begun_days else days
        cost = counted * (score * self.percent_per_day / 100 + self.points_per_day)
        return round(min(cost, score * self.most_percent / 100), 2) or None
