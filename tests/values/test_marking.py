"""What a course gives points for: whole steps, or parts of them."""

from __future__ import annotations

import pytest

from autograder.values.symbols import MarkingRules, is_partly_marked
from autograder.values.verdict import (
    ChainVerdict,
    CheckVerdict,
    Finding,
    Outcome,
    StepVerdict,
    Verdict,
    told_once,
)

PARTLY = MarkingRules(partial_points=True)
WRONG = Finding(Outcome.WRONG_VALUES, "It is not right.")


def judged(points: float, *passes: bool, by_layer: bool = False, fault: bool = False) -> Verdict:
    failed = Finding(Outcome.INFRASTRUCTURE, "The worker did not start.") if fault else WRONG
    checks = tuple(
        CheckVerdict.of(f"check {number}", "values", None if each else failed)
        for number, each in enumerate(passes)
    )
    outcome = Outcome.PASSED if all(passes) else failed.outcome
    earned = points if outcome is Outcome.PASSED or by_layer else 0.0
    step = StepVerdict("softmax", "Softmax", outcome, earned, points, checks, False, by_layer)
    return Verdict("e", "ada", (step,), ChainVerdict(outcome), "", "", 0, "full", 0.0)


def test_without_partial_points_only_a_right_step_earns_any() -> None:
    assert MarkingRules().marked(judged(2, True, False)).points == 0
    assert MarkingRules().marked(judged(2, True, True)).points == 2


@pytest.mark.parametrize(
    ("points", "passes", "earned"),
    [
        (2, (True, False), 1),
        (2, (True, True, False), 1.25),
        (1, (True, True, False), 0.5),
        (2, (False, False), 0),
        (0, (True, False), 0),
        (0.25, (True, True, False), 0),
        (2, (True, True), 2),
    ],
)
def test_a_step_earns_its_share_of_the_checks_rounded_down_to_a_quarter(
    points: float, passes: tuple[bool, ...], earned: float
) -> None:
    marked = PARTLY.marked(judged(points, *passes))
    assert marked.points == earned
    assert is_partly_marked(marked.steps[0]) is (0 < earned < points)


@pytest.mark.parametrize("points", [0.25, 0.5, 1, 2, 3, 7, 10])
@pytest.mark.parametrize("checks", range(2, 12))
def test_a_step_that_is_not_right_never_earns_all_of_its_points(points: float, checks: int) -> None:
    passes = [True] * (checks - 1)
    assert PARTLY.marked(judged(points, *passes, False)).points < points


def test_what_the_layer_earns_and_a_fault_of_ours_stay_as_they_are() -> None:
    for verdict in (judged(2, False, by_layer=True), judged(2, True, False, fault=True)):
        assert PARTLY.marked(verdict) == verdict


def test_marking_twice_is_marking_once() -> None:
    once = PARTLY.marked(judged(2, True, False))
    assert PARTLY.marked(once) == once


# --- a check that is asked in several ways is counted and told once -------------------------------

VAGUE = Finding(Outcome.WRONG_VALUES, "numbers differ", vague=True)
NAMED = Finding(Outcome.WRONG_VALUES, "not scaled", misconception="not_scaled")


def check(name: str, finding: Finding | None = None) -> CheckVerdict:
    return CheckVerdict.of(name, f"title of {name}", finding)


def test_each_check_is_told_once_in_the_order_of_asking() -> None:
    asked = (check("first"), check("second"), check("first"), check("third"))
    assert [each.name for each in told_once(asked)] == ["first", "second", "third"]


def test_a_check_that_fails_in_one_way_fails_and_its_best_finding_is_told() -> None:
    assert told_once((check("a"), check("a", VAGUE), check("a", NAMED))) == (check("a", NAMED),)
    assert told_once((check("a", VAGUE), check("a"))) == (check("a", VAGUE),)
