"""Entries of a gradebook in every report: the mark, and why it is not the automatic one."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from autograder.reports.class_page import ClassContext, points_words
from autograder.reports.class_summary import class_summary
from autograder.reports.grades_csv import grades_csv
from autograder.reports.roll import EnteredCell, GradebookEntry, changed_marks
from autograder.values.verdict import Outcome
from support.verdicts import EXERCISE, class_page, feedback_page, verdict

ADA = verdict("ada")
AUTOMATIC = tuple(
    EnteredCell(step.name, step.name, step.points, step.points) for step in EXERCISE.steps
)
QUESTION = EnteredCell("essay", "", 3.0)


def entry(*cells: EnteredCell, penalty: float = 0.0) -> GradebookEntry:
    """Ada's entry: the automatic points, but for `cells`, which may also be more."""
    changed = {cell.name: cell for cell in cells}
    kept = [changed.pop(cell.name, cell) for cell in AUTOMATIC]
    return GradebookEntry("ada", (*kept, *changed.values()), penalty)


def first(**facts: float | bool) -> EnteredCell:
    return replace(AUTOMATIC[0], **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("entered", "mark", "why"),
    [
        (entry(), "22/22", ""),
        (entry(first(by_hand=0.5)), "20.5/22*", "0.5 of 2 points by hand, in place of 2."),
        (entry(first(by_hand=2.0)), "22/22", ""),  # somebody has confirmed them
        (entry(first(by_hand=2.0, look_again=True)), "22/22*", "in place of 2; to be looked at"),
        (entry(first(extra=1.0, look_again=True)), "23/22*", "credit; to be looked at again."),
        (entry(first(by_hand=-0.00001)), "20/22*", "0 of 2 points by hand, in place of 2."),
        (entry(first(by_hand=1.0, look_again=True)), "21/22*", "in place of 2; to be looked at"),
        (entry(first(extra=1.0)), "23/22*", "1 point of extra credit."),
        (entry(penalty=1.0), "21/22*", "1 point off for being late."),
        (entry(penalty=30.0), "0/22*", "30 points off for being late."),
        (entry(QUESTION), "22/25", "`essay` is not graded yet."),
        (entry(replace(QUESTION, extra=1.0)), "22/25", "`essay` is not graded yet."),
        (entry(replace(QUESTION, automatic=0.0)), "22/25", "`essay`: 0 of 3 points."),
        (entry(replace(QUESTION, by_hand=2.0)), "24/25", "`essay`: 2 of 3 points."),
        (
            entry(replace(QUESTION, by_hand=2.0, look_again=True)),
            "24/25*",
            "`essay`: 2 of 3 points by hand; to be looked at again.",
        ),
    ],
)
def test_every_report_shows_the_mark_of_the_gradebook_and_why(
    entered: GradebookEntry, mark: str, why: str
) -> None:
    entries = {"ada": entered}
    points, most = mark.rstrip("*").split("/")
    assert points_words(ADA, entries) == mark
    row = next(csv.DictReader(io.StringIO(grades_csv(EXERCISE, [ADA], entries))))
    assert (row["points"], row["max_points"], row["automatic_points"]) == (points, most, "22")
    page = feedback_page(EXERCISE, ADA, entered)
    whole = class_page(EXERCISE, [ADA], ClassContext(entries))
    assert f"{points} of {most} points" in page and f">{mark}</td>" in whole
    assert why in row["reason"]
    assert why.replace("`essay`", "<code>essay</code>") in page
    assert bool(changed_marks([ADA], entries)) == mark.endswith("*")
    assert ("a star in the table" in whole.lower()) == mark.endswith("*")
    assert f"the median is {points} of {most}" in " ".join(class_summary(EXERCISE, [ADA], entries))


def test_the_points_of_a_step_are_those_of_the_gradebook_too() -> None:
    entries = {"ada": entry(first(by_hand=0.5))}
    row = next(csv.DictReader(io.StringIO(grades_csv(EXERCISE, [ADA], entries))))
    assert row["softmax"] == "0.5"
    assert "0.5 of 2 points</span>" in feedback_page(EXERCISE, ADA, entries["ada"])


def test_an_earlier_mark_stands_where_a_fault_of_ours_kept_the_work_from_being_judged() -> None:
    failed = replace(ADA.steps[0], outcome=Outcome.INFRASTRUCTURE, points=0.0)
    unjudged = replace(ADA, steps=(failed, *ADA.steps[1:]))
    entries = {"ada": entry()}
    assert points_words(unjudged, {}) == "?/22"
    assert points_words(unjudged, entries) == "22/22*"
    page = feedback_page(EXERCISE, unjudged, entries["ada"])
    assert "22 of 22 points" in page and "The mark is of an earlier run" in page
    row = next(csv.DictReader(io.StringIO(grades_csv(EXERCISE, [unjudged], entries))))
    assert (row["points"], row["automatic_points"]) == ("22", "")


def test_an_entry_in_which_nothing_was_ever_judged_is_no_mark() -> None:
    failed = replace(ADA.steps[0], outcome=Outcome.INFRASTRUCTURE, points=0.0)
    unjudged = replace(ADA, steps=(failed, *ADA.steps[1:]))
    blank = tuple(replace(cell, automatic=None) for cell in AUTOMATIC)
    entries = {"ada": GradebookEntry("ada", (*blank, replace(QUESTION, automatic=0.0)))}
    assert points_words(unjudged, entries) == "?/25"
    assert "Not graded yet" in feedback_page(EXERCISE, unjudged, entries["ada"])
    row = next(csv.DictReader(io.StringIO(grades_csv(EXERCISE, [unjudged], entries))))
    assert (row["points"], row["reason"], row["softmax"]) == ("", "", "")
    assert changed_marks([unjudged], entries) == ()


def test_the_reason_for_a_small_mark_is_not_cut() -> None:
    changed = [replace(cell, by_hand=0.5) for cell in AUTOMATIC]
    entries = {"ada": entry(*changed, penalty=1.0)}
    row = next(csv.DictReader(io.StringIO(grades_csv(EXERCISE, [ADA], entries))))
    assert "1 point off for being late." in row["reason"]
    assert all(f"`{step.name}`" in row["reason"] for step in EXERCISE.steps)


def test_a_program_reads_points_less_rounded_than_people() -> None:
    entries = {"ada": entry(first(by_hand=1 / 3))}
    row = next(csv.DictReader(io.StringIO(grades_csv(EXERCISE, [ADA], entries))))
    assert (row["points"], row["softmax"]) == ("20.3333", "0.3333")
    assert points_words(ADA, entries) == "20.33/22*"


def test_the_name_of_a_question_cannot_be_markup_or_a_formula() -> None:
    cell = EnteredCell("=1+1<script>\n", "", 3.0, 1.0)
    entries = {"ada": entry(cell, first(by_hand=1.0))}
    assert "<script>" not in class_page(EXERCISE, [ADA], ClassContext(entries))
    assert "<script>" not in feedback_page(EXERCISE, ADA, entries["ada"])
    assert "\n" not in changed_marks([ADA], entries)[0]
