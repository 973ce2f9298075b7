"""Who holds an older release is not marked for what came with a later one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autograder.course.creation import Course
from autograder.course.gradebook_entries import read_gradebook
from autograder.platforms.mark_export import class_marks
from autograder.reports.grades_csv import read_outlines
from autograder.submission.cells import ASKED, Asked, asked_in
from course.changing_course import (
    FIFTH,
    OTHER_STEP,
    QUESTION,
    RIGHT,
    WRONG,
    add_question,
    by_hand,
    done,
    formgrader,
    grade,
    gradebook,
    hand_in,
    marks,
    needs_you,
    page_of,
    read,
    rebuild,
    release,
    released_course,
    row_of,
    update,
)

LATER = "how"


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """Ada has the first release; then comes a question, and Ben has the second."""
    made = released_course(tmp_path)
    release(made)
    hand_in(made, RIGHT)
    add_question(made, LATER)
    release(made)
    hand_in(made, WRONG)
    return made


def test_a_page_and_the_table_do_not_call_it_a_question_that_waits_for_its_points(
    course: Course,
) -> None:
    grade(course)
    page = page_of(course, RIGHT, "txt")
    told = f"`{LATER}` is not in the release that was handed in, and has no points."
    assert told in row_of(course, RIGHT)["reason"] and told in " ".join(page.split())
    assert (
        told not in row_of(course, WRONG)["reason"] and f"`{LATER}` is not graded yet" not in page
    )
    exported = class_marks(
        read_outlines(course.graded(FIFTH) / "verdicts"), read_gradebook(course, FIFTH)
    )
    assert exported[RIGHT].points is None
    assert exported[RIGHT].reason == f"`{LATER}` is not in the release that was handed in"


def test_a_question_that_a_student_never_saw_is_open_and_not_zero_in_both_ways(
    course: Course,
) -> None:
    def by_command() -> None:
        grade(course)

    def by_button() -> None:
        for student in (RIGHT, WRONG):
            done(formgrader(course).autograde(FIFTH, student, force=True))

    for graded in (by_command, by_button):
        graded()
        assert points_of(course, RIGHT, LATER) == (None, True, "not in the release")
        assert points_of(course, WRONG, LATER) == (0.0, False, "No response.")
        assert points_of(course, RIGHT, QUESTION) == (0.0, False, "No response."), "they saw that"
        by_hand(course, RIGHT, LATER, 0)  # what was there before does not matter


def test_the_list_says_who_never_saw_it_and_what_to_do_until_it_is_done(course: Course) -> None:
    (item,) = older(course)
    assert item["students"] == [RIGHT]
    assert item["reason"] == f"`{LATER}` is not in this student's release."
    assert f"fetch {FIFTH} again" in item["cure"] and "enter points" in item["cure"]
    assert f"`{LATER}` is not graded yet" not in str(needs_you(course)), "it is told once"
    by_hand(course, RIGHT, LATER, 3)
    assert older(course) == []
    assert marks(course)[RIGHT] > marks(course)[WRONG]


def test_a_cell_that_is_missing_from_a_notebook_that_does_not_say_is_told_with_a_doubt(
    course: Course,
) -> None:
    for student in (RIGHT, WRONG):
        path = course.submitted(FIFTH, student) / f"{FIFTH}.ipynb"
        book = json.loads(path.read_text())
        del book["metadata"]["attention_kit_asked"]
        path.write_text(json.dumps(book))
    (item,) = older(course)
    assert item["students"] == [RIGHT]
    assert "its release is older, or the cell was deleted" in item["reason"]


def test_a_question_that_a_student_deletes_has_been_asked(course: Course) -> None:
    path = course.submitted(FIFTH, WRONG) / f"{FIFTH}.ipynb"
    book = read(path)
    book.cells = [c for c in book.cells if c.metadata.get("nbgrader", {}).get("grade_id") != LATER]
    path.write_text(json.dumps(book))
    assert [item["students"] for item in older(course)] == [[RIGHT]]
    assert points_of(course, WRONG, LATER)[0] == 0.0


@pytest.mark.parametrize("noted", [{"a": 1}, ["a"] * 10_000, "a", 7, None])
def test_what_a_student_writes_there_is_bounded(noted: object) -> None:
    a: dict[str, object] = {"nbgrader": {"grade_id": "a"}}
    cells: list[dict[str, object]] = [{"metadata": each} for each in (a, 1, {})]
    assert asked_in({"metadata": {ASKED: noted}}, cells) == Asked(frozenset("a"), sure=False)
    assert asked_in({"metadata": noted}, cells) == Asked(frozenset("a"), sure=False)
    strange = ["a", 1, ["b"], "x" * 10_000]
    assert asked_in({"metadata": {ASKED: strange}}, []) == Asked(frozenset("a"), sure=True)


def test_a_step_that_came_later_is_told_too(tmp_path: Path) -> None:
    made = released_course(tmp_path)
    release(made)
    hand_in(made, RIGHT)
    rebuild(tmp_path, *OTHER_STEP)
    update(made)
    release(made)
    (item,) = older(made)
    assert item["reason"] == "`deviation` is not in this student's release."


def older(course: Course) -> list[dict[str, Any]]:
    """Grade, and return who holds an older release."""
    grade(course)
    return [item for item in needs_you(course) if item["kind"] == "older_release"]


def points_of(course: Course, student: str, cell: str) -> tuple[float | None, bool, str]:
    with gradebook(course) as book:
        entered = book.find_grade(cell, FIFTH, FIFTH, student)
        said = book.find_comment(cell, FIFTH, FIFTH, student).auto_comment or ""
        said = "not in the release" if "not in the release" in said else said
        return entered.auto_score, bool(entered.needs_manual_grade), said
