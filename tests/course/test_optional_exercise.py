"""A course has an optional exercise only if it is named, and counts it only if it says so."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from support.changing_course import nbgrader
from support.learner_workspace import NAME, attn, written

OPTIONAL = "stretch_steps"
HIDDEN = "    return scaled_scores.where(padding_mask.unsqueeze(1), -1e9)"


def exercises(course: Path) -> list[str]:
    facts = tomllib.loads((course / "attn.toml").read_text(encoding="utf-8"))
    return [str(name) for name in facts["exercises"]]


def test_a_new_course_has_all_exercises_but_the_optional_one(tmp_path: Path) -> None:
    made = attn("course", "new", "course", folder=tmp_path)
    assert made.code == 0 and OPTIONAL not in made.out
    has = exercises(tmp_path / "course")
    assert NAME in has and len(has) == 4 and OPTIONAL not in has
    assert not (tmp_path / "course" / "source" / OPTIONAL).exists()


def test_a_course_gets_it_by_name_when_it_is_made_or_later(tmp_path: Path) -> None:
    made = attn("course", "new", "course", "--exercise", OPTIONAL, folder=tmp_path)
    assert made.code == 0 and exercises(tmp_path / "course") == [OPTIONAL]
    attn("course", "new", "other", "--exercise", NAME, folder=tmp_path)
    update = ("course", "update", "other", "--exercise", OPTIONAL)
    done = attn(*update, "--yes", folder=tmp_path)
    assert done.code == 0, done.err
    assert exercises(tmp_path / "other") == [NAME, OPTIONAL]


@pytest.mark.slow
def test_it_is_worth_what_the_course_says(tmp_path: Path) -> None:
    attn("course", "new", "course", "--exercise", OPTIONAL, folder=tmp_path)
    course = tmp_path / "course"
    said = f"\n[points.{OPTIONAL}]\nhide_padding = 3\n"
    file = course / "attn.toml"
    file.write_text(file.read_text(encoding="utf-8") + said, encoding="utf-8")
    update = attn("course", "update", "course", "--yes", folder=tmp_path)
    assert update.code == 0, update.err
    released = nbgrader("generate_assignment", OPTIONAL, folder=course)
    assert released.code == 0, released.out
    handed_in = course / "submitted" / "anna" / OPTIONAL / f"{OPTIONAL}.py"
    handed_in.parent.mkdir(parents=True)
    stub = (course / "source" / OPTIONAL / handed_in.name).read_text(encoding="utf-8")
    handed_in.write_text(written(stub, hide_padding=HIDDEN), encoding="utf-8")
    graded = attn("grade", "course", folder=tmp_path)
    words = "the median is 3 of 3 points."
    assert graded.code == 0 and words in graded.words, graded.out + graded.err
