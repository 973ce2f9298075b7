"""What being late costs, by the policy that a course can choose."""

from __future__ import annotations

import pytest
from traitlets import TraitError
from traitlets.config import Config

from autograder.course.late_policy import DAY, LatePolicy


def penalty(score: float, seconds: float, **settings: float) -> float | None:
    policy = LatePolicy(config=Config(LatePolicy=settings))
    return policy.late_submission_penalty("ada", score, seconds)


@pytest.mark.parametrize(
    ("seconds", "points"),
    [(0, None), (1, 2), (DAY, 2), (DAY + 1, 4), (3.5 * DAY, 8), (40 * DAY, 20)],
)
def test_each_day_that_has_begun_costs_a_tenth_of_the_points(
    seconds: float, points: float | None
) -> None:
    assert penalty(20, seconds) == points


def test_the_grace_period_costs_nothing_and_counts_for_nothing() -> None:
    assert penalty(20, 900, grace_minutes=15) is None
    assert penalty(20, DAY + 900, grace_minutes=15) == 2
    assert penalty(20, DAY + 901, grace_minutes=15) == 4


def test_lateness_costs_no_more_than_the_most_and_from_some_day_on_everything() -> None:
    assert penalty(20, 9 * DAY, most_percent=50) == 10
    assert penalty(20, 7 * DAY, most_percent=50, zero_after_days=7) == 20
    assert penalty(20, 7 * DAY - 1, most_percent=50, zero_after_days=7) == 10


def test_days_cost_points_or_parts_of_days_their_part() -> None:
    assert penalty(20, 2 * DAY, percent_per_day=0, points_per_day=1.5) == 3
    assert penalty(2, 9 * DAY, percent_per_day=0, points_per_day=1.5) == 2
    assert penalty(20, DAY / 2, begun_days=False) == 1


def test_who_has_no_points_loses_none() -> None:
    assert penalty(0, DAY) is None
    assert penalty(0, 9 * DAY, zero_after_days=1) is None


@pytest.mark.parametrize(
    "wrong",
    [{"percent_per_day": 120}, {"grace_minutes": -1}, {"points_per_day": float("nan")}],
)
def test_a_setting_out_of_range_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(TraitError):
        penalty(20, DAY, **wrong)


def test_a_misspelt_setting_is_not_passed_over() -> None:
    with pytest.raises(TraitError, match=r"no percent_per_dya; there are: .*percent_per_day"):
        penalty(20, DAY, percent_per_dya=5)
