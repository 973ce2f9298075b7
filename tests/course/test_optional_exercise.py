"""A course has an optional exercise only if it is named, and counts it only if it says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.course.creation import Course, read_course
from course.changing_course import attn, grade, nbgrader, update
from support.learner_workspace import NAME, written

OPTIONAL = "stretch_steps"
HIDDEN = "    return scaled_scores.where(padding_mask.unsqueeze(1), -1e9)"


def new(course: Path, *exercises: str) -> Course:
    named = [word for name in exercises for word in ("--exercise", name)]
    run = attn("course", "new", course, *named)
    assert run.code == 0, run.out
    return read_course(course)


def test_a_new_course_has_all_exercises_but_the_optional_one(tmp_path: Path) -> None:
    course = new(tmp_path / "course")
    assert NAME in course.exercises and len(course.exercises) == 4
    assert OPTIONAL not in course.exercises and not course.source(OPTIONAL).exists()


def test_a_course_gets_it_by_name_when_it_is_made_or_later(tmp_path: Path) -> None:
    assert new(tmp_path / "course", OPTIONAL).exercises == (OPTIONAL,)
    other = new(tmp_path / "other", NAME)
    update(other, "--exercise", OPTIONAL)
    assert read_course(other.directory).exercises == (NAME, OPTIONAL)


@pytest.mark.slow
def test_it_is_worth_what_the_course_says(tmp_path: Path) -> None:
    course = new(tmp_path / "course", OPTIONAL)
    said = f"\n[points.{OPTIONAL}]\nhide_padding = 3\n"
    file = course.directory / "attn.toml"
    file.write_text(file.read_text(encoding="utf-8") + said, encoding="utf-8")
    update(course)
    nbgrader("generate_assignment", OPTIONAL, folder=course.directory)
    handed_in = course.submitted(OPTIONAL, "anna") / f"{OPTIONAL}.py"
    handed_in.parent.mkdir(parents=True)
    stub = (course.source(OPTIONAL) / handed_in.name).read_text(encoding="utf-8")
    handed_in.write_text(written(stub, hide_padding=HIDDEN), encoding="utf-8")
    assert "the median is 3 of 3 points." in grade(course)
