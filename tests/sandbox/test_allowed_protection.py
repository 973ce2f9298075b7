"""What an instructor allows by name, through nbgrader's own command, and that it stays visible.

The machines are emulated: a container that gives no namespaces, and one without Landlock too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from traitlets import TraitError
from traitlets.config import Config
from traitlets.config.loader import DeferredConfigString

from autograder.course.creation import Course
from autograder.course.preprocessors import WriteVerdict
from autograder.course.verdict_cells import finished
from autograder.values.exercise import read_exercise
from autograder.values.verdict import Verdict
from demo.run import command_environment
from demo.sample_class import hand_in
from support.gradebook_scores import scores
from support.machines import as_in_docker
from support.released_course import NAME, ROOT, released_course, sample_class

SAYS_SO = "Graded without protection (level: process)"
ALLOWED = 'c.WriteVerdict.allow_protection = "process"'


@pytest.mark.slow
def test_a_container_without_namespaces_grades_and_every_result_says_landlock(
    tmp_path: Path,
) -> None:
    exercise = read_exercise(ROOT / "solutions" / NAME)
    (reference,) = [student for student in sample_class() if student.name == "reference"]
    hand_in(reference, exercise, ROOT / "assignments" / NAME, tmp_path / "class" / "anna")
    command = [sys.executable, "-B", "-m", "autograder.cli", "grade", str(tmp_path / "class")]
    run = subprocess.run(
        as_in_docker([*command, "--exercise", NAME]),
        cwd=ROOT,
        env={**command_environment(), "PATH": os.environ["PATH"], "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    output = tmp_path / "class-graded"
    verdict = Verdict.from_json((output / "verdicts" / "anna.json").read_text(encoding="utf-8"))
    assert verdict.protection == "landlock" and verdict.points == verdict.max_points
    pages = [
        (output / "feedback" / name).read_text("utf-8") for name in ("index.html", "anna.html")
    ]
    for shown in (run.stdout, *pages):
        assert "Protection while grading: landlock." in shown and SAYS_SO not in shown


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    (reference,) = [student for student in sample_class() if student.name == "reference"]
    return released_course(tmp_path_factory.mktemp("allowed") / "course", (reference,))


def autograde(course: Course) -> subprocess.CompletedProcess[str]:
    """Run `nbgrader autograde` where nothing hides files from a submission."""
    command = [sys.executable, "-B", "-m", "nbgrader", "autograde", NAME]
    return subprocess.run(
        as_in_docker(command, landlock=False),
        cwd=course.directory,
        env={**command_environment(), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def graded(course: Course) -> Path:
    return course.directory / "autograded" / "reference" / NAME / f"{NAME}.ipynb"


@pytest.mark.slow
def test_nbgrader_refuses_to_grade_without_protection_and_grades_when_allowed(
    course: Course,
) -> None:
    refused = autograde(course)
    said = refused.stdout + refused.stderr
    assert refused.returncode != 0 and "does not protect the grader" in said, said
    assert ALLOWED in said and not finished(graded(course))
    assert scores(course, NAME).get("reference") is None

    config = course.directory / "nbgrader_config.py"
    text = config.read_text(encoding="utf-8")
    assert f"# {ALLOWED}" in text
    config.write_text(text.replace(f"# {ALLOWED}", ALLOWED), encoding="utf-8")
    allowed = autograde(course)
    assert allowed.returncode == 0, allowed.stdout + allowed.stderr
    assert SAYS_SO in graded(course).read_text(encoding="utf-8")
    points = scores(course, NAME)["reference"]
    assert points and min(points.values()) > 0


@pytest.mark.parametrize("level", ["none", "landlock", "True", "Process"])
def test_a_level_that_does_not_exist_is_not_allowed(level: str) -> None:
    given = Config(WriteVerdict=Config(allow_protection=DeferredConfigString(level)))
    with pytest.raises(TraitError, match="allow_protection"):
        WriteVerdict(config=given)
