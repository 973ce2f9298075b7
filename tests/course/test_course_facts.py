"""What a course writes down about itself reads back, whatever its folders are called."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autograder.course.creation import create_course, read_course
from autograder.errors import KitError

ROOT = Path(__file__).resolve().parents[2]
NAME = "numpy_single_head"


def create(root: Path, solutions: bytes) -> Path:
    """Make a course whose solutions lie in a folder of that name; return its directory."""
    folder = root / os.fsdecode(solutions)
    folder.symlink_to(ROOT / "solutions")
    course = root / "course"
    create_course(course, solutions=folder, assignments=ROOT / "assignments", exercises=(NAME,))
    return course


@pytest.mark.parametrize(
    "name", [b'"quoted" \\ #1', b"tab\there\nand a line", b"delete \x7f", "ünïcode \u2028".encode()]
)
def test_a_course_finds_its_solutions_whatever_their_folder_is_called(
    tmp_path: Path, name: bytes
) -> None:
    course = create(tmp_path, name)
    assert read_course(course).solutions == ROOT / "solutions"


def test_solutions_whose_path_is_no_text_are_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    with pytest.raises(KitError, match="not UTF-8"):
        create(tmp_path, b"s\xe9")
    assert not (tmp_path / "course").exists()
