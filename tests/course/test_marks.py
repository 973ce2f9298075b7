"""A term's marks: whatever people change in the gradebook, every output shows the same mark."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell
from nbgrader.api import Gradebook

from autograder.course.assignment_release import command_environment, release
from autograder.course.creation import Course, create_course
from autograder.course.gradebook_entries import read_gradebook
from autograder.course.settings import open_gradebook, read_settings
from autograder.course.stale_release import refuse_stale_release
from autograder.errors import KitError
from demo.sample_class import hand_in
from support.released_course import NAME, ROOT, copied, grade, released_course, sample_class

RIGHT, WRONG, LATE = "correct_einsum", "mistake_not_scaled", "correct_loops"
POLICY = "autograder.course.late_policy.LatePolicy"
QUESTION = "discussion"


@dataclass(frozen=True)
class Shown:
    """The mark of a student, wherever one is shown, as "20/25"."""

    gradebook: str
    csv: str
    student_page: str
    class_page: str
    terminal: str


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A course with a question of the instructor's own, in which three have handed in."""
    folder = tmp_path_factory.mktemp("marks")
    shutil.copytree(ROOT / "solutions", folder / "solutions")
    course = create_course(
        folder / "course",
        solutions=folder / "solutions",
        assignments=ROOT / "assignments",
        exercises=(NAME,),
    )
    notebook = course.source(NAME) / f"{NAME}.ipynb"
    book = nbformat.read(notebook, as_version=4)
    asked = {"grade": True, "solution": True, "locked": False, "points": 3, "schema_version": 3}
    facts = asked | {"grade_id": QUESTION, "task": False, "cell_type": "markdown"}
    book.cells.append(new_markdown_cell("Why is there a mask?", metadata={"nbgrader": facts}))
    nbformat.write(book, notebook)
    release(course, NAME)
    for student in sample_class(RIGHT, WRONG, LATE):
        hand_in_of(course, student.name)
    answered = course.submitted(NAME, LATE) / f"{NAME}.ipynb"
    book = nbformat.read(answered, as_version=4)
    book.cells[-1].source = "So that no token sees the future."
    nbformat.write(book, answered)
    with (course.directory / "nbgrader_config.py").open("a") as config:
        config.write('\nc.LateSubmissionPlugin.penalty_method = "zero"\n')
    return course


@pytest.fixture
def course(handed_in: Course, tmp_path: Path) -> Course:
    """Such a course, graded."""
    there = copied(handed_in, tmp_path / "course")
    assert grade(there).returncode == 0
    return there


def hand_in_of(course: Course, student: str, work: str = "") -> None:
    (made,) = sample_class(work or student)
    folder = course.submitted(NAME, student)
    shutil.rmtree(folder, ignore_errors=True)
    hand_in(made, course.exercise(NAME), course.release(NAME), folder)


@pytest.fixture
def book(course: Course) -> Iterator[Gradebook]:
    with Gradebook(f"sqlite:///{course.directory / 'gradebook.db'}") as opened:
        yield opened


def by_hand(book: Gradebook, cell: str, student: str, **given: float) -> None:
    """Enter points as formgrader does, which then takes the cell for looked at."""
    found = book.find_grade(cell, NAME, NAME, student)
    for name, points in given.items():
        setattr(found, name, points)
    found.needs_manual_grade = False
    book.db.commit()


def shown(course: Course, student: str, run: subprocess.CompletedProcess[str]) -> Shown:
    with Gradebook(f"sqlite:///{course.directory / 'gradebook.db'}") as opened:
        submission = opened.find_submission(NAME, student)
        mark = max(0.0, submission.score - submission.late_submission_penalty)
        entered = f"{mark:g}/{submission.max_score:g}"
    output = course.graded(NAME)
    with (output / "grades.csv").open(newline="") as file:
        row = next(row for row in csv.DictReader(file) if row["student"] == student)
    page = (output / "feedback" / f"{student}.html").read_text()
    whole = (output / "feedback" / "index.html").read_text()
    on_page = re.search(r"<strong>(\S+) of (\S+) points</strong>", page)
    row_head = rf'<th scope="row"><a href="[^"]*"><bdi>{student}</bdi></a></th>'
    in_class = re.search(rf'{row_head}\s*<td class="points">([^<*]+)', whole)
    in_table = re.search(rf"^{student} .*?(\S+/[\d.]+)", run.stdout, re.MULTILINE)
    assert on_page and in_class and in_table
    return Shown(
        entered,
        f"{row['points']}/{row['max_points']}",
        f"{on_page[1]}/{on_page[2]}",
        in_class[1],
        in_table[1],
    )


def autograde(course: Course) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "nbgrader", "autograde", NAME, "--force"],
        cwd=course.directory,
        env=command_environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def report(course: Course) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "autograder.cli", "report", str(course.directory)],
        env=os.environ | {"COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def same(mark: str) -> Shown:
    return Shown(mark, mark, mark, mark, mark)


@pytest.mark.slow
def test_before_anybody_changes_a_mark_only_the_open_question_is_told(
    handed_in: Course, tmp_path: Path
) -> None:
    course = copied(handed_in, tmp_path / "course")
    run = grade(course)
    assert shown(course, RIGHT, run) == same("22/25")
    # Of the others, nbgrader takes the empty cell for an answer worth nothing.
    assert f"needs you: {LATE}: `discussion` is not graded yet." in run.stdout
    assert f"2 students ({RIGHT}, {WRONG}): a .py has no place for `discussion`." in run.stdout
    assert "in the gradebook than" not in run.stdout and "*" not in run.stdout


@pytest.mark.slow
def test_points_by_hand_extra_credit_and_an_own_question_count_everywhere(
    course: Course, book: Gradebook
) -> None:
    by_hand(book, "check_softmax", RIGHT, manual_score=1.5)
    by_hand(book, "check_scale_scores", WRONG, extra_credit=1)
    by_hand(book, QUESTION, LATE, manual_score=2)
    run = grade(course)
    assert shown(course, RIGHT, run) == same("21.5/25")
    assert shown(course, WRONG, run) == same("21/25")
    assert shown(course, LATE, run) == same("24/25")
    for words in (
        f"{RIGHT}: 21.5 of 25, 22 automatic. `softmax`: 1.5 of 2 points by hand, in place of 2. "
        "`discussion`: 0 of 3 points.",
        "`scale_scores`: 1 point of extra credit.",
        "Other points in the gradebook than the automatic ones: 2 students.",
    ):
        assert words in " ".join(run.stdout.split())


@pytest.mark.slow
def test_who_is_late_sees_the_penalty_everywhere(course: Course, book: Gradebook) -> None:
    (course.submitted(NAME, LATE) / "timestamp.txt").write_text("2026-03-02 12:00:00 UTC")
    book.update_or_create_assignment(NAME, duedate="2026-03-01 12:00:00 UTC")
    run = grade(course)
    assert shown(course, LATE, run) == same("0/25")
    page = (course.graded(NAME) / "feedback" / f"{LATE}.html").read_text()
    book.db.expire_all()
    book.find_assignment(NAME).duedate = None
    book.db.commit()
    assert shown(course, LATE, grade(course)) == same("22/25")
    assert "22 points off for being late." in page and "Your code by itself earns 22 of 22" in page


@pytest.mark.slow
def test_a_mark_by_hand_on_work_that_has_changed_is_listed_until_somebody_decides(
    course: Course, book: Gradebook
) -> None:
    by_hand(book, "check_scale_scores", WRONG, manual_score=0.5)
    told = "`scale_scores`: 0.5 of 2 points by hand, in place of 0"
    assert f"{told}." in grade(course).stdout
    hand_in_of(course, WRONG, RIGHT)
    told = "`scale_scores`: 0.5 of 2 points by hand, in place of 2; to be looked at again."
    assert told in grade(course).stdout
    assert told in grade(course).stdout
    book.db.expire_all()
    by_hand(book, "check_scale_scores", WRONG, manual_score=2)
    assert "looked at again" not in grade(course).stdout


@pytest.mark.slow
def test_other_work_with_the_same_points_is_listed_too(course: Course, book: Gradebook) -> None:
    by_hand(book, "check_softmax", RIGHT, manual_score=1)
    hand_in_of(course, RIGHT, LATE)
    assert "in place of 2; to be looked at again." in grade(course).stdout


def test_points_that_changed_after_the_release_are_refused_before_anybody_is_judged(
    course: Course,
) -> None:
    file = course.solutions / NAME / "exercise.toml"
    text = file.read_text()
    file.write_text(text.replace("points = 2", "points = 3", 1))
    before = read_gradebook(course, NAME)
    run = grade(course)
    assert run.returncode == 2
    assert "is worth 3 now, and 2 in the gradebook" in run.stderr
    assert f"nbgrader generate_assignment {NAME} --force" in run.stderr
    assert read_gradebook(course, NAME) == before
    file.write_text(text)
    assert grade(course).returncode == 0


@pytest.mark.slow
def test_nbgrader_autograde_refuses_them_too(course: Course) -> None:
    file = course.solutions / NAME / "exercise.toml"
    text = file.read_text()
    file.write_text(text.replace("points = 2", "points = 3", 1))
    run = autograde(course)
    file.write_text(text)
    assert run.returncode != 0
    assert "is worth 3 now, and 2 in the gradebook" in run.stderr


@pytest.mark.slow
def test_steps_that_changed_after_the_release_are_refused(tmp_path: Path) -> None:
    course = released_course(tmp_path / "course")
    exercise = course.exercise(NAME)
    one_less = replace(exercise, steps=exercise.steps[1:])
    another = replace(exercise.steps[0], name="normalize")
    with open_gradebook(course, read_settings(course), NAME) as (_, notebook):
        refuse_stale_release(course, exercise, notebook)
        with pytest.raises(KitError, match="the gradebook still has softmax"):
            refuse_stale_release(course, one_less, notebook)
        with pytest.raises(KitError, match="the gradebook lacks normalize"):
            refuse_stale_release(
                course, replace(exercise, steps=(another, *exercise.steps)), notebook
            )
        released = course.release(NAME) / f"{NAME}.ipynb"
        text = released.read_text().replace('"points": 2.0', '"points": 1.0', 1)
        released.write_text(text)
        with pytest.raises(KitError, match="and 1 in the released notebook"):
            refuse_stale_release(course, exercise, notebook)


@pytest.mark.slow
@pytest.mark.parametrize("damaged", ["", "{}", '{"cells": [', "[]", "[" * 100_000, '{"cells": 3}'])
def test_a_damaged_graded_notebook_is_written_again_and_looked_at_again(
    course: Course, book: Gradebook, damaged: str
) -> None:
    by_hand(book, "check_softmax", LATE, manual_score=1.5)
    file = course.autograded(NAME, LATE) / f"{NAME}.ipynb"
    file.unlink()
    file.write_text(damaged)
    run = grade(course)
    assert run.returncode == 0 and "Traceback" not in run.stderr
    assert "to be looked at again" in run.stdout
    assert "So that no token sees the future." in file.read_text()


@pytest.mark.slow
def test_a_task_of_the_instructors_is_graded_by_hand(handed_in: Course, tmp_path: Path) -> None:
    course = copied(handed_in, tmp_path / "course")
    notebook = course.source(NAME) / f"{NAME}.ipynb"
    book = nbformat.read(notebook, as_version=4)
    facts: dict[str, object] = {"grade": False, "solution": False, "locked": True, "task": True}
    facts |= {"points": 4, "grade_id": "project", "schema_version": 3, "cell_type": "markdown"}
    book.cells.append(new_markdown_cell("Describe your layer.", metadata={"nbgrader": facts}))
    nbformat.write(book, notebook)
    release(course, NAME)
    run = grade(course)
    assert run.returncode == 0, run.stderr
    assert shown(course, LATE, run) == same("22/29")
    assert "`project` is not graded yet." in run.stdout
    with Gradebook(f"sqlite:///{course.directory / 'gradebook.db'}") as opened:
        by_hand(opened, "project", LATE, manual_score=3)
    assert shown(course, LATE, grade(course)) == same("25/29")


def test_an_own_question_may_be_called_as_a_check_is(tmp_path: Path) -> None:
    course = released_course(tmp_path / "course")
    with open_gradebook(course, read_settings(course), NAME) as (opened, notebook):
        own = {"name": "check_understanding", "notebook": NAME, "assignment": NAME}
        opened.add_grade_cell(**own, max_score=3, cell_type="markdown")
        opened.add_solution_cell(**own)
        refuse_stale_release(course, course.exercise(NAME), notebook)


def test_without_the_released_notebook_nobody_is_graded(tmp_path: Path) -> None:
    course = released_course(tmp_path / "course", sample_class(RIGHT))
    (course.release(NAME) / f"{NAME}.ipynb").unlink()
    run = grade(course)
    assert run.returncode == 2 and "the released notebook" in run.stderr


@pytest.mark.slow
def test_points_for_a_part_of_the_checks_are_the_same_everywhere(course: Course) -> None:
    hand_in_of(course, "part", "mistake_weights_too_large")
    assert shown(course, "part", grade(course)) == same("20/25")
    facts = course.directory / "attn.toml"
    facts.write_text("partial_points = true\n" + facts.read_text())
    early = report(course)
    assert early.returncode == 2 and "part" in early.stderr and "attn grade" in early.stderr
    run = grade(course)
    assert "4 of 4 submissions were judged before" in run.stdout
    assert shown(course, "part", run) == same("21/25")
    assert shown(course, RIGHT, run) == same("22/25")
    page = (course.graded(NAME) / "feedback" / "part.html").read_text()
    assert "in 1 of 2 checks" in page and "1 of 2 points" in page
    assert shown(course, "part", report(course)) == same("21/25")
    by_nbgrader = autograde(course)
    assert by_nbgrader.returncode == 0, by_nbgrader.stderr
    assert shown(course, "part", report(course)) == same("21/25")


@pytest.mark.slow
def test_the_late_policy_of_the_configuration_costs_what_it_says(
    course: Course, book: Gradebook
) -> None:
    configuration = course.directory / "nbgrader_config.py"
    offered = r"^# (c\.(?:AssignLatePenalties|LatePolicy)\..*)$"
    lines = re.findall(offered, configuration.read_text(), re.MULTILINE)
    assert len(lines) >= 2, "the configuration offers the policy"
    configuration.write_text(configuration.read_text() + "\n".join(["", *lines, ""]))
    (course.submitted(NAME, LATE) / "timestamp.txt").write_text("2026-03-02 12:00:00 UTC")
    book.update_or_create_assignment(NAME, duedate="2026-03-01 12:30:00 UTC")
    run = grade(course)
    assert shown(course, LATE, run) == same("19.8/25")
    assert "2.2 points off for being late." in " ".join(run.stdout.split())


def test_a_wrong_setting_of_the_late_policy_is_told_with_its_file(
    course: Course, book: Gradebook
) -> None:
    with (course.directory / "nbgrader_config.py").open("a") as config:
        config.write(f'\nc.AssignLatePenalties.plugin_class = "{POLICY}"\n')
        config.write("c.LatePolicy.percent_per_day = 200\n")
    book.update_or_create_assignment(NAME, duedate="2026-03-01 12:00:00 UTC")
    (course.submitted(NAME, LATE) / "timestamp.txt").write_text("2026-03-02 12:00:00 UTC")
    run = grade(course)
    assert run.returncode == 2 and "percent_per_day" in run.stderr and "200" in run.stderr
    assert f"nbgrader_config.py, for {LATE}" in run.stderr and " object at " not in run.stderr


@pytest.mark.slow
def test_the_best_attempt_counts_everywhere_where_the_course_says_so(course: Course) -> None:
    with (course.directory / "attn.toml").open("a") as facts:
        facts.write('[attempts]\ncounts = "best"\n')
    hand_in_of(course, RIGHT, WRONG)
    run = grade(course)
    assert shown(course, RIGHT, run) == same("22/25")
    words = "The mark is of another attempt: that one earned 22 points, this one 20."
    assert f"{RIGHT}: 22 of 25, 20 automatic. {words}" in " ".join(run.stdout.split())
    page = (course.graded(NAME) / "feedback" / f"{RIGHT}.html").read_text()
    assert words in page and "they are not scaled" in page
    assert shown(course, RIGHT, report(course)) == same("22/25")
    by_nbgrader = autograde(course)
    assert by_nbgrader.returncode == 0, by_nbgrader.stderr
    assert shown(course, RIGHT, report(course)) == same("22/25")
    text = (course.directory / "attn.toml").read_text()
    (course.directory / "attn.toml").write_text(text.replace('"best"', '"last"'))
    assert shown(course, RIGHT, grade(course)) == same("20/25")


@pytest.mark.slow
def test_the_penalty_is_that_of_the_attempt_that_counts_and_not_of_the_last(
    course: Course, book: Gradebook
) -> None:
    with (course.directory / "attn.toml").open("a") as facts:
        facts.write('[attempts]\ncounts = "best"\n')
    with (course.directory / "nbgrader_config.py").open("a") as config:
        config.write(f'\nc.AssignLatePenalties.plugin_class = "{POLICY}"\n')
    book.update_or_create_assignment(NAME, duedate="2026-03-01 12:00:00 UTC")
    for day, work, mark in ((2, RIGHT, "19.8/25"), (4, WRONG, "19.8/25")):
        hand_in_of(course, RIGHT, work)
        (course.submitted(NAME, RIGHT) / "timestamp.txt").write_text(f"2026-03-0{day} 11:00:00 UTC")
        assert shown(course, RIGHT, grade(course)) == same(mark)
    by_nbgrader = autograde(course)
    assert by_nbgrader.returncode == 0, by_nbgrader.stderr
    assert shown(course, RIGHT, report(course)) == same("19.8/25")
