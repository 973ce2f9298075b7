"""What every user of a machine may read of a course is said, and nothing that they may not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from autograder.course.course_copy import open_to_all
from autograder.course.creation import Course
from autograder.reports.course_page import COURSE_PAGE


@pytest.fixture
def root() -> Iterator[Path]:
    """A folder that nobody is kept out of; pytest's own are closed."""
    with TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder).resolve()


@pytest.fixture
def course(root: Path) -> Course:
    """A course and its solutions in it."""
    made = Course(root / "course", root / "solutions", ("toy",))
    for file in (
        made.solutions / "toy" / "solution.py",
        made.secret_folder / "input.secret",
        made.directory / "gradebook.db",
        made.secret_folder / COURSE_PAGE,
        made.graded("toy") / "grades.csv",
        made.submitted("toy", "ada") / "toy.py",
        made.directory / "own-steps" / "toy" / "solution.py",
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(0o600)
    for folder in (path for path in root.rglob("*") if path.is_dir()):
        folder.chmod(0o755)
    return made


def test_a_course_that_is_closed_to_others_is_not_spoken_of(course: Course) -> None:
    assert open_to_all(course) == ()


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("solutions/toy/solution.py", "the solutions"),
        ("course/graded/input.secret", "the secret of the hidden inputs"),
        ("course/gradebook.db", "the gradebook"),
        ("course/graded/index.html", "the marks of all exercises"),
        ("course/graded/toy/grades.csv", "the results of toy"),
        ("course/submitted/ada/toy/toy.py", "what students handed in"),
        ("course/own-steps/toy/solution.py", "your own steps"),
    ],
)
def test_each_thing_that_everybody_may_read_is_named(course: Course, file: str, words: str) -> None:
    path = course.directory.parent / file
    path.chmod(0o644)
    said, cure = open_to_all(course)
    assert said == f"{words} ({path})"
    command, _, folder = cure.removeprefix("To close it: ").rpartition(" ")
    Path(folder).chmod(0o750)
    assert command == "chmod o-rwx" and open_to_all(course) == ()


def test_a_closed_folder_above_keeps_everybody_out(course: Course) -> None:
    (course.solutions / "toy" / "solution.py").chmod(0o644)
    course.solutions.chmod(0o750)
    assert open_to_all(course) == ()


def test_what_a_link_leads_to_counts(course: Course, root: Path) -> None:
    elsewhere = root / "elsewhere.py"
    elsewhere.touch(0o644)
    solution = course.solutions / "toy" / "solution.py"
    solution.unlink()
    solution.symlink_to(elsewhere)
    said, _ = open_to_all(course)
    assert said == f"the solutions ({solution})"
    elsewhere.chmod(0o600)
    assert open_to_all(course) == ()


def test_a_link_that_leads_nowhere_or_round_and_round_stops_nothing(course: Course) -> None:
    (course.hand_ins / "nowhere").symlink_to("gone")
    (course.hand_ins / "round").symlink_to(course.hand_ins)
    path = course.submitted("toy", "ada") / "toy.py"
    path.chmod(0o644)
    said, _ = open_to_all(course)
    assert said.startswith("what students handed in")
