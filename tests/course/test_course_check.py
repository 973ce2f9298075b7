"""`attn course check` says what is stale in a course, and which command settles it."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from autograder.course.creation import Course
from support.changing_course import (
    FIFTH,
    MORE_POINTS,
    OTHER_HINT,
    OTHER_PROSE,
    OTHER_STEP,
    add_question,
    attn,
    contents,
    new_course,
    rebuild,
    release,
    source,
    write_source,
)
from support.written_exercise import changed


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a course that has released its exercise."""
    root = tmp_path_factory.mktemp("check")
    done = release(new_course(root))
    assert done.code == 0, done.out
    return root


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "there"))


def check(root: Path) -> str:
    """Return what is told about a course in which something is stale."""
    run = attn("course", "check", root / "course")
    assert run.code == 1, run.out
    return run.out


def course_in(root: Path) -> Course:
    return Course(root / "course", root / "solutions", (FIFTH,))


def test_in_a_new_course_nothing_is_stale_and_nothing_is_written(root: Path) -> None:
    before = contents(course_in(root))
    run = attn("course", "check", root / "course")
    assert run.code == 0 and "stale" not in run.out, run.out
    for words in ("source/ is up to date", "the release is", "nbgrader_config.py is up to date"):
        assert words in run.out
    assert contents(course_in(root)) == before


def test_a_course_that_has_released_nothing_is_not_stale(tmp_path: Path) -> None:
    new_course(tmp_path)
    run = attn("course", "check", tmp_path / "course")
    assert run.code == 0 and f"{FIFTH}: not released yet." in run.out, run.out


@pytest.mark.parametrize("name", ["my_test", "check_mine"])
def test_tests_that_nothing_would_run_are_refused_before_they_are_released(
    root: Path, name: str
) -> None:
    course = course_in(root)
    notebook = source(course)
    kind = {"grade": True, "solution": False, "locked": True, "task": False}
    facts = {**kind, "points": 3, "schema_version": 3, "grade_id": name}
    notebook.cells.append(new_code_cell("assert center", metadata={"nbgrader": facts}))
    write_source(course, notebook)
    run = attn("course", "check", course.directory)
    assert run.code == 2, run.out
    assert f"the graded cell {name!r} checks no step" in run.out
    assert str(course.source(FIFTH) / f"{FIFTH}.ipynb") in run.out and "own-steps/" in run.out


def test_changed_points_hints_and_prose_are_each_told(root: Path) -> None:
    rebuild(root, MORE_POINTS, OTHER_HINT, OTHER_PROSE)
    told = check(root)
    for words in (
        "`center` is worth 4, before 2",
        "hints of `center` have changed",
        "the text before `center` has changed",
        "the list of the steps has changed",
        "`check_center` has 2 points in it, not 4",
        "attn course update",
    ):
        assert words in told


def test_steps_that_came_and_went_are_told_by_name(root: Path) -> None:
    rebuild(root, *OTHER_STEP)
    told = check(root)
    assert "the step `deviation` is new" in told and "the step `spread` is gone" in told
    assert "it still has `check_spread`" in told


def test_an_exercise_that_is_not_built_again_is_told_with_the_command(root: Path) -> None:
    changed(root / "solutions" / FIFTH, MORE_POINTS)
    told = check(root)
    assert "has changed since it was built" in told
    assert f"attn build {root / 'solutions'}" in told


@pytest.mark.slow
def test_a_source_that_was_edited_has_to_be_released_again_and_is_not_taken_for_stale(
    root: Path,
) -> None:
    add_question(course_in(root))
    told = check(root)
    assert f"{FIFTH}: source/ is up to date." in told
    assert "the release is stale" in told and "`why` is not in it" in told
    assert f"nbgrader generate_assignment {FIFTH} --force" in told
    done = release(course_in(root), "--force")
    assert done.code == 0, done.out
    assert attn("course", "check", root / "course").code == 0


@pytest.mark.slow
def test_solutions_that_nbgrader_clears_do_not_make_a_release_stale(root: Path) -> None:
    course = course_in(root)
    add_question(course)
    book = source(course)
    cell = next(cell for cell in book.cells if cell.get("id") == "mine")
    cell.source += "\n### BEGIN SOLUTION\nTo be fair.\n### END SOLUTION"
    write_source(course, book)
    done = release(course, "--force")
    assert done.code == 0, done.out
    run = attn("course", "check", root / "course")
    assert run.code == 0, run.out


def test_a_configuration_of_an_earlier_kit_is_told_with_what_it_lacks(root: Path) -> None:
    config = root / "course" / "nbgrader_config.py"
    lines = config.read_text().split("\n")
    config.write_text("\n".join(line for line in lines if "CleanCsv" not in line))
    shutil.rmtree(root / "course" / ".course")
    told = check(root)
    assert "nbgrader_config.py is stale" in told
    assert "c.ExportApp.plugin_class is missing" in told
    assert "an earlier version made it" in told


@pytest.mark.slow
def test_what_is_no_course_and_what_is_damaged_ends_with_a_cure(root: Path, tmp_path: Path) -> None:
    run = attn("course", "check", tmp_path)
    assert run.code == 2 and "not a course" in run.out
    notebook = root / "course" / "source" / FIFTH / f"{FIFTH}.ipynb"
    notebook.write_text('{"cells": [')
    run = attn("course", "check", root / "course")
    assert run.code == 2 and "is not a notebook" in run.out and "cure:" in run.out
    notebook.write_text(nbformat.writes(nbformat.v4.new_notebook()))
    assert "`center` is put back" in check(root)
