"""What an instructor allows by name, through nbgrader's own command, and that it stays visible.

The machines are emulated: a container that gives no namespaces, and one without Landlock too.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from traitlets import TraitError
from traitlets.config import Config
from traitlets.config.loader import DeferredConfigString

from autograder.course.creation import Course
from autograder.course.graded_notebook import finished
from autograder.course.preprocessors import WriteVerdict
from autograder.values.verdict import Verdict
from demo.sample_class import hand_in
from support.broken.case import ASSIGNMENT, EXERCISE
from support.gradebook_scores import scores
from support.machines import as_in_docker
from support.released_course import NAME, ROOT, released_course, sample_class
from support.typed_commands import Run, attn

SAYS_SO = "Graded without protection (level: process)"
ALLOWED = 'c.WriteVerdict.allow_protection = "process"'
(REFERENCE,) = sample_class("reference")


def in_docker(*words: object, folder: Path, landlock: bool = True) -> Run:
    """Run a module of Python's as a container would."""
    module = [sys.executable, "-B", "-m", *map(str, words)]
    command, *options = as_in_docker(module, landlock=landlock)
    return attn(*options, command=command, folder=folder, COLUMNS="100")


@pytest.mark.slow
def test_a_container_without_namespaces_grades_and_every_result_says_landlock(
    tmp_path: Path,
) -> None:
    hand_in(REFERENCE, EXERCISE, ASSIGNMENT, tmp_path / "class" / "anna")
    words = ("autograder.cli", "grade", tmp_path / "class", "--exercise", NAME)
    run = in_docker(*words, folder=ROOT)
    assert run.code == 0, run.said
    output = tmp_path / "class-graded"
    verdict = Verdict.from_json((output / "verdicts" / "anna.json").read_text(encoding="utf-8"))
    assert verdict.protection == "landlock" and verdict.points == verdict.max_points
    pages = [
        (output / "feedback" / name).read_text("utf-8") for name in ("index.html", "anna.html")
    ]
    for shown in (run.out, *pages):
        assert "Protection while grading: landlock." in shown and SAYS_SO not in shown


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    return released_course(tmp_path_factory.mktemp("allowed") / "course", (REFERENCE,))


def autograde(course: Course) -> Run:
    """Run `nbgrader autograde` where nothing hides files from a submission."""
    return in_docker("nbgrader", "autograde", NAME, folder=course.directory, landlock=False)


def graded(course: Course) -> Path:
    return course.directory / "autograded" / "reference" / NAME / f"{NAME}.ipynb"


@pytest.mark.slow
def test_nbgrader_refuses_to_grade_without_protection_and_grades_when_allowed(
    course: Course,
) -> None:
    refused = autograde(course)
    assert refused.code != 0 and "does not protect the grader" in refused.said, refused.said
    assert ALLOWED in refused.said and not finished(graded(course))
    assert scores(course, NAME).get("reference") is None

    config = course.directory / "nbgrader_config.py"
    text = config.read_text(encoding="utf-8")
    assert f"# {ALLOWED}" in text
    config.write_text(text.replace(f"# {ALLOWED}", ALLOWED), encoding="utf-8")
    allowed = autograde(course)
    assert allowed.code == 0, allowed.said
    assert SAYS_SO in graded(course).read_text(encoding="utf-8")
    points = scores(course, NAME)["reference"]
    assert points and min(points.values()) > 0


@pytest.mark.parametrize("level", ["none", "landlock", "True", "Process"])
def test_a_level_that_does_not_exist_is_not_allowed(level: str) -> None:
    given = Config(WriteVerdict=Config(allow_protection=DeferredConfigString(level)))
    with pytest.raises(TraitError, match="allow_protection"):
        WriteVerdict(config=given)
