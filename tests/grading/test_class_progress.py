"""The bar says how many hand-ins are judged, how fast, and with what result."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.progress import Task

from autograder.grading.class_run import ClassProgress
from autograder.values.verdict import ChainVerdict, Outcome, StepVerdict, Verdict
from support.shown import console_of, text_on


def verdict(points: float, outcome: Outcome = Outcome.PASSED) -> Verdict:
    step = StepVerdict("softmax", "Softmax", outcome, points, 4.0, ())
    chain = ChainVerdict(outcome)
    return Verdict("toy", "anna", (step,), chain, "code", "exercise", 0, "full", 0.1)


def shown(total: int, kept: list[Verdict], added: list[Verdict], width: int = 100) -> str:
    """The last line that is drawn."""
    console = console_of(width)
    with ClassProgress(console, "toy", total, kept) as bar:
        for each in added:
            bar.add(each)
    return text_on(console).strip().splitlines()[-1]


def test_results_are_counted() -> None:
    fault = verdict(0.0, Outcome.INFRASTRUCTURE)
    line = shown(9, [], [verdict(4.0), verdict(4.0), verdict(1.5), verdict(0.0), fault])
    assert line.startswith("grading toy")
    assert "5/9" in line and line.endswith("2 all right, 1 in part, 1 nothing right, 1 not graded")


def test_where_there_are_no_points_right_steps_are_counted() -> None:
    outcomes = ((Outcome.PASSED,) * 2, (Outcome.PASSED, Outcome.RAISED), (Outcome.RAISED,) * 2)
    optional = [
        replace(
            verdict(0.0), steps=tuple(StepVerdict("a", "A", each, 0.0, 0.0, ()) for each in two)
        )
        for two in outcomes
    ]
    assert shown(3, [], optional).endswith("1 all right, 1 in part, 1 nothing right")


@pytest.fixture
def two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every task looks as if it had begun two seconds ago."""
    monkeypatch.setattr(Task, "elapsed", 2.0)


@pytest.mark.usefixtures("two_seconds")
def test_the_pace_is_that_of_this_run_and_says_how_long_it_will_take() -> None:
    line = shown(1000, [verdict(4.0)] * 400, [verdict(4.0)] * 30)
    assert "430/1000 15/s 0:00:38 left 430 all right" in line


@pytest.mark.usefixtures("two_seconds")
def test_at_the_end_stands_how_long_it_took() -> None:
    assert "8/8 4.0/s 0:00:02 8 all right" in shown(8, [], [verdict(4.0)] * 8)


@pytest.mark.usefixtures("two_seconds")
def test_it_fits_into_eighty_columns() -> None:
    line = shown(100, [], [verdict(4.0)] * 30 + [verdict(2.0)] * 20, width=80)
    assert "50/100 25/s 0:00:02 left 30 all right, 20 in part" in line and len(line) <= 80
