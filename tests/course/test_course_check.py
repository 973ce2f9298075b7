"""`attn course check` says what is stale in a course, and which command settles it."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from autograder.course.creation import Course
from course.changing_course import (
    FIFTH,
    MORE_POINTS,
    OTHER_HINT,
    OTHER_PROSE,
    OTHER_STEP,
    add_question,
    attn,
    cell_facts,
    check,
    contents,
    nbgrader,
    new_course,
    rebuild,
    release,
    released_course,
    source,
    step_cell,
    update,
    write_source,
)
from support.written_exercise import changed


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "there"


@pytest.fixture
def course(root: Path) -> Course:
    return released_course(root)


def told(course: Course) -> str:
    """What is told about a course in which something is stale."""
    run = check(course)
    assert run.code == 1, run.out
    return run.out


def test_in_a_new_course_nothing_is_stale_and_nothing_is_written(course: Course) -> None:
    before = contents(course)
    run = check(course)
    assert run.code == 0 and "stale" not in run.out, run.out
    for words in ("source/ is up to date", "the release is", "nbgrader_config.py is up to date"):
        assert words in run.out
    assert contents(course) == before


def test_a_course_that_has_released_nothing_is_not_stale(root: Path) -> None:
    run = check(new_course(root))
    assert run.code == 0 and f"{FIFTH}: not released yet." in run.out, run.out


def test_a_course_without_its_configuration_is_told_where_the_kits_is(root: Path) -> None:
    course = new_course(root)
    (course.directory / "nbgrader_config.py").unlink()
    run = check(course)
    assert run.code == 2 and "the course has no nbgrader_config.py" in run.out, run.out
    assert (course.directory / ".course/made/nbgrader_config.py").is_file()
    assert ".course/made/nbgrader_config.py" in run.out


@pytest.mark.parametrize("name", ["my_test", "check_mine"])
def test_tests_that_nothing_would_run_are_refused_before_they_are_released(
    course: Course, name: str
) -> None:
    notebook = source(course)
    facts = cell_facts(name, grade=True, locked=True, points=3)
    notebook.cells.append(new_code_cell("assert center", metadata=facts))
    write_source(course, notebook)
    run = check(course)
    assert run.code == 2, run.out
    assert f"the graded cell {name!r} checks no step" in run.out
    assert str(course.source(FIFTH) / f"{FIFTH}.ipynb") in run.out and "own-steps/" in run.out


def test_changed_points_hints_and_prose_are_each_told(root: Path, course: Course) -> None:
    rebuild(root, MORE_POINTS, OTHER_HINT, OTHER_PROSE)
    said = told(course)
    for words in (
        "`center` is worth 4, before 2",
        "hints of `center` have changed",
        "the text before `center` has changed",
        "the list of the steps has changed",
        "`check_center` has 2 points in it, not 4",
        "attn course update",
    ):
        assert words in said


def test_steps_that_came_and_went_are_told_by_name(root: Path, course: Course) -> None:
    rebuild(root, *OTHER_STEP)
    said = told(course)
    assert "the step `deviation` is new" in said and "the step `spread` is gone" in said
    assert "it still has `check_spread`" in said


def test_an_exercise_that_is_not_built_again_is_told_with_the_command(
    root: Path, course: Course
) -> None:
    changed(root / "solutions" / FIFTH, MORE_POINTS)
    said = told(course)
    assert "has changed since it was built" in said
    assert f"attn build {root / 'solutions'}" in said


def test_a_source_that_was_edited_has_to_be_released_again_and_is_not_taken_for_stale(
    course: Course,
) -> None:
    add_question(course, "how")
    book = source(course)
    step_cell(
        book, "how"
    ).source += "\n### BEGIN SOLUTION\nTo be fair.\n### END SOLUTION"  # nbgrader clears it
    write_source(course, book)
    said = told(course)
    assert f"{FIFTH}: source/ is up to date." in said
    assert "the release is stale" in said and "`how` is not in it" in said
    assert f"nbgrader generate_assignment {FIFTH} --force" in said
    release(course)
    run = check(course)
    assert run.code == 0, run.out


def test_what_is_no_course_and_what_is_damaged_ends_with_a_cure(
    course: Course, tmp_path: Path
) -> None:
    run = attn("course", "check", tmp_path)
    assert run.code == 2 and "not a course" in run.out
    notebook = course.source(FIFTH) / f"{FIFTH}.ipynb"
    notebook.write_text('{"cells": [')
    run = check(course)
    assert run.code == 2 and "is not a notebook" in run.out and "cure:" in run.out
    notebook.write_text(nbformat.writes(nbformat.v4.new_notebook()))
    assert "`center` is put back" in told(course)


def test_what_students_fetch_is_compared_with_the_release(course: Course) -> None:
    exchange = course.directory.parent / "exchange"
    with (course.directory / "nbgrader_config.py").open("a") as config:
        config.write(f'\nc.Exchange.root = "{exchange}"\n')
    assert "the exchange" not in check(course).out, "there is none"
    exchange.mkdir()
    run = check(course)
    assert run.code == 0 and "not in the exchange yet" in run.out, run.out
    hand_out(run.out)
    run = check(course)
    assert run.code == 0 and "from the exchange is up to date" in run.out, run.out
    add_question(course, "how")
    release(course)
    said = told(course)
    assert "the release is up to date" in said and "from the exchange is stale" in said
    assert f"{FIFTH}.ipynb is not the one in the release" in said
    hand_out(said)
    run = check(course)
    assert run.code == 0 and "from the exchange is up to date" in run.out, run.out


def hand_out(said: str) -> None:
    """Run the command that was printed."""
    (command,) = [line for line in said.splitlines() if "nbgrader release_assignment" in line]
    _, _, folder, _, *words = command.split()
    nbgrader(*words[1:], folder=Path(folder))


def test_an_update_names_all_commands_until_students_get_it(root: Path, course: Course) -> None:
    (course.directory.parent / "exchange" / "course" / "outbound" / FIFTH).mkdir(parents=True)
    with (course.directory / "nbgrader_config.py").open("a") as config:
        config.write(f'\nc.Exchange.root = "{course.directory.parent / "exchange"}"\n')
    rebuild(root, OTHER_PROSE)
    said = [line.strip() for line in update(course).splitlines()]
    here = f"cd {course.directory} && nbgrader"
    assert said[-4:] == [
        f"next: {here} generate_assignment {FIFTH} --force",
        f"then: {here} release_assignment {FIFTH} --force",
        "who has it already moves that folder away and fetches again",
        f"then: attn grade {course.directory}",
    ]
