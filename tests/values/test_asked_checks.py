"""A check that is asked in several ways is counted and told once."""

from __future__ import annotations

from autograder.values.verdict import CheckVerdict, Finding, Outcome, told_once

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
