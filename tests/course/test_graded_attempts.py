"""Which attempt counts where students may hand in again: the last or the best, of the first few."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from autograder.course.graded_attempts import (
    FILE,
    AttemptRules,
    CountedAttempt,
    StepPoints,
    noted_attempts,
)
from autograder.errors import KitError
from autograder.values.symbols import DEFAULT_RULES, MarkingRules
from autograder.values.verdict import CheckVerdict, Finding, Outcome, Verdict
from support.verdicts import EXERCISE, verdict

WRONG = Finding(Outcome.WRONG_VALUES, "It is not right.")
BEST, LAST = AttemptRules("best"), AttemptRules()
ALL = sum(step.points for step in EXERCISE.steps)


def attempt(code: str, *wrong: str) -> Verdict:
    found = verdict("ada", **dict.fromkeys(wrong, WRONG))
    return replace(found, code_hash=code * 64)


def points_of(
    folder: Path, judged: Verdict, rules: AttemptRules, marking: MarkingRules = DEFAULT_RULES
) -> dict[str, StepPoints]:
    counted = counted_after(folder, judged, rules, marking=marking)
    return {student: attempt.points for student, attempt in counted.items()}


def counted_after(
    folder: Path,
    judged: Verdict,
    rules: AttemptRules,
    at: datetime | None = None,
    marking: MarkingRules = DEFAULT_RULES,
) -> dict[str, CountedAttempt]:
    """The attempt that counts after one that was handed in `at` some time was graded."""
    notes = noted_attempts(folder, [judged], {"ada": at})
    notes.save()
    return notes.counted(EXERCISE, [judged], rules, marking)


def mark(folder: Path, judged: Verdict, rules: AttemptRules) -> float:
    """The points that count after an attempt was graded."""
    counted = points_of(folder, judged, rules)
    return sum(counted["ada"].values()) if counted else judged.points


FULL, ONE_WRONG, TWO_WRONG = (
    attempt("a"),
    attempt("b", "softmax"),
    attempt("c", "softmax", "scale_scores"),
)
OTHER_WRONG = attempt("d", "softmax")


def test_without_a_rule_the_last_attempt_counts(tmp_path: Path) -> None:
    assert [mark(tmp_path, each, LAST) for each in (FULL, TWO_WRONG)] == [ALL, TWO_WRONG.points]


def test_the_best_attempt_stays_the_best_and_a_better_one_takes_its_place(tmp_path: Path) -> None:
    marks = [mark(tmp_path, each, BEST) for each in (TWO_WRONG, ONE_WRONG, TWO_WRONG, FULL)]
    assert marks == [TWO_WRONG.points, ONE_WRONG.points, ONE_WRONG.points, ALL]


def test_a_right_step_earns_exactly_its_points_however_they_are_written(tmp_path: Path) -> None:
    third = replace(EXERCISE, steps=(replace(EXERCISE.steps[0], points=1 / 3), *EXERCISE.steps[1:]))
    notes = noted_attempts(tmp_path, [FULL], {})
    points = notes.counted(third, [FULL], BEST, DEFAULT_RULES)["ada"].points
    assert points[third.steps[0].name] == 1 / 3


def test_what_was_graded_before_there_was_a_rule_counts_too(tmp_path: Path) -> None:
    mark(tmp_path, FULL, LAST)
    assert mark(tmp_path, TWO_WRONG, BEST) == ALL


def test_only_the_first_attempts_count_and_the_same_code_is_no_further_one(tmp_path: Path) -> None:
    two = AttemptRules("best", most=2)
    marks = [mark(tmp_path, each, two) for each in (TWO_WRONG, TWO_WRONG, ONE_WRONG, FULL)]
    assert marks == [TWO_WRONG.points, TWO_WRONG.points, ONE_WRONG.points, ONE_WRONG.points]
    assert mark(tmp_path, FULL, AttemptRules("last", most=1)) == TWO_WRONG.points


def test_code_that_is_judged_otherwise_now_counts_as_it_is_judged_now(tmp_path: Path) -> None:
    mark(tmp_path, FULL, BEST)
    judged_again = replace(TWO_WRONG, code_hash=FULL.code_hash)
    assert mark(tmp_path, judged_again, BEST) == TWO_WRONG.points


def test_an_attempt_keeps_its_share_when_points_change(tmp_path: Path) -> None:
    mark(tmp_path, FULL, BEST)
    steps = tuple(replace(step, points=2 * step.points) for step in EXERCISE.steps)
    doubled = replace(EXERCISE, steps=steps)
    notes = noted_attempts(tmp_path, [TWO_WRONG], {})
    counted = notes.counted(doubled, [TWO_WRONG], BEST, DEFAULT_RULES)
    assert sum(counted["ada"].points.values()) == 2 * ALL


def test_how_late_it_is_is_that_of_the_attempt_that_counts(tmp_path: Path) -> None:
    monday, hour = datetime(2026, 3, 2), 60 * 60
    handed_in = (TWO_WRONG, 0), (ONE_WRONG, 1), (TWO_WRONG, 2), (OTHER_WRONG, 5), (FULL, 9)
    before = [
        counted_after(tmp_path, each, BEST, monday + timedelta(hours=hours))["ada"].seconds_before
        for each, hours in handed_in
    ]
    # The third is the first again, and the fourth earns no more than the second.
    assert before == [0, 0, 1 * hour, 4 * hour, 0]
    again = counted_after(tmp_path, TWO_WRONG, BEST, monday + timedelta(hours=11))["ada"]
    assert again.seconds_before == 2 * hour and sum(again.points.values()) == ALL


@pytest.mark.parametrize("rules", [BEST, AttemptRules("last", most=2)])
def test_the_same_code_again_was_handed_in_when_it_came_first(
    tmp_path: Path, rules: AttemptRules
) -> None:
    monday, hour = datetime(2026, 3, 2), 60 * 60
    handed_in = (FULL, 0), (FULL, 2), (ONE_WRONG, 5), (FULL, 9)
    for each, hours in handed_in:
        counted = counted_after(tmp_path, each, rules, monday + timedelta(hours=hours))["ada"]
    assert sum(counted.points.values()) == ALL and counted.seconds_before == 9 * hour


def test_a_time_that_becomes_known_later_is_that_of_the_attempt(tmp_path: Path) -> None:
    monday, hour = datetime(2026, 3, 2), 60 * 60
    counted_after(tmp_path, FULL, BEST, None)
    assert counted_after(tmp_path, FULL, BEST, monday)["ada"].seconds_before == 0
    counted_after(tmp_path, FULL, BEST, None)  # and what is unknown again changes nothing
    later = counted_after(tmp_path, ONE_WRONG, BEST, monday + timedelta(hours=3))["ada"]
    assert later.seconds_before == 3 * hour


def test_nobody_is_the_later_for_an_attempt_that_seems_to_come_after_the_last(
    tmp_path: Path,
) -> None:
    monday = datetime(2026, 3, 2)
    counted_after(tmp_path, FULL, BEST, monday + timedelta(hours=1))
    assert counted_after(tmp_path, ONE_WRONG, BEST, monday)["ada"].seconds_before == 0


def test_the_time_of_an_attempt_may_be_unknown(tmp_path: Path) -> None:
    for first, second in ((None, datetime(2026, 3, 2)), (datetime(2026, 3, 2), None)):
        folder = tmp_path / str(first)
        folder.mkdir()
        counted_after(folder, FULL, BEST, first)
        assert counted_after(folder, ONE_WRONG, BEST, second)["ada"].seconds_before == 0


def test_earlier_attempts_earn_by_the_rules_of_now_and_not_by_those_of_then(tmp_path: Path) -> None:
    first, *rest = ONE_WRONG.steps
    half = (
        CheckVerdict("a", "", Outcome.PASSED),
        CheckVerdict("b", "", Outcome.WRONG_VALUES),
    )
    partly = replace(ONE_WRONG, steps=(replace(first, checks=half), *rest))
    parts, alone = MarkingRules(partial_points=True), MarkingRules(layer_earns_steps=False)
    points_of(tmp_path, partly, BEST)
    with_parts = points_of(tmp_path, TWO_WRONG, BEST, parts)["ada"]
    assert with_parts[first.name] == first.max_points / 2
    assert points_of(tmp_path, parts.marked(partly), BEST)["ada"][first.name] == 0.0
    layer = replace(FULL.steps[0], outcome=Outcome.NOT_WRITTEN, by_layer=True)
    by_layer = replace(FULL, steps=(layer, *FULL.steps[1:]), code_hash="d" * 64)
    assert points_of(tmp_path, by_layer, BEST)["ada"][layer.name] == layer.max_points
    assert points_of(tmp_path, TWO_WRONG, BEST, alone)["ada"][layer.name] == 0.0


def test_what_could_not_be_judged_is_no_attempt(tmp_path: Path) -> None:
    mark(tmp_path, ONE_WRONG, BEST)
    ours = replace(FULL.steps[0], outcome=Outcome.INFRASTRUCTURE, points=0.0)
    fault = replace(FULL, steps=(ours, *FULL.steps[1:]))
    assert points_of(tmp_path, fault, BEST) == {}
    assert mark(tmp_path, TWO_WRONG, BEST) == ONE_WRONG.points


def test_who_goes_back_to_an_earlier_attempt_has_its_points_again(tmp_path: Path) -> None:
    three = AttemptRules("last", most=3)
    marks = [mark(tmp_path, each, three) for each in (FULL, TWO_WRONG, FULL)]
    assert marks == [ALL, TWO_WRONG.points, ALL]


def test_a_file_that_could_not_be_read_is_no_attempt(tmp_path: Path) -> None:
    steps = tuple(replace(each, outcome=Outcome.REJECTED, points=0.0) for each in FULL.steps)
    unread = replace(FULL, steps=steps, code_hash="")
    assert points_of(tmp_path, unread, BEST) == {}
    marks = [mark(tmp_path, each, AttemptRules("best", most=1)) for each in (ONE_WRONG, unread)]
    assert marks == [ONE_WRONG.points, ONE_WRONG.points]


@pytest.mark.parametrize(
    "text", ["{", "[1]", '{"ada": [{}]}', '{"ada": [{"code_hash": "a", "shares": {"softmax": 7}}]}']
)
def test_damaged_notes_are_refused_and_stay(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(KitError, match="earlier attempts cannot be read"):
        mark(tmp_path, FULL, BEST)
    assert (tmp_path / FILE).read_text() == text
