"""A released course of the NumPy exercise with the zoo handed in, and what grading left in it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.course.creation import Course, create_course
from autograder.course.gradebook import scores
from autograder.course.release import release
from autograder.grading.journal import JOURNAL
from autograder.grading.output_folder import input_secret
from autograder.model.verdict import Verdict
from autograder.reports.verdict_files import read_verdicts
from demo.sample_class import SampleStudent, hand_in, read_sample_class

ROOT = Path(__file__).resolve().parents[2]
NAME = "numpy_single_head"


def zoo(*left_out: str) -> tuple[SampleStudent, ...]:
    """The made-up students of the NumPy exercise, without those whose name begins so."""
    found = read_sample_class(ROOT / "tests" / "submissions" / NAME)
    return tuple(one for one in found if not one.name.startswith(left_out or ("-",)))


def released_course(folder: Path, students: tuple[SampleStudent, ...], copies: int = 1) -> Course:
    """Make a course in `folder`, release the exercise, and have `students` hand it in.

    Each hands in `copies` times under other names, every copy with a comment of its own, so that
    no two are equal.
    """
    course = create_course(
        folder, solutions=ROOT / "solutions", assignments=ROOT / "assignments", exercises=(NAME,)
    )
    release(course, NAME)
    input_secret(course.secret_folder)  # the same for all copies that a test makes of the course
    exercise = course.exercise(NAME)
    for number in range(copies):
        for student in students:
            name = f"{student.name}_{number}" if number else student.name
            own = replace(student, name=name, preamble=f"{student.preamble}\n# copy {number}")
            hand_in(own, exercise, course.release(NAME), course.submitted(NAME, name))
    return course


@dataclass(frozen=True)
class Result:
    """All that grading a course leaves that may not depend on how often it was stopped."""

    scores: dict[str, dict[str, float]]
    verdicts: dict[str, Verdict]
    graded: frozenset[str]


def result_of(course: Course) -> Result:
    """Read the gradebook, the verdicts without times and hashes, and who has a graded notebook."""
    verdicts = read_verdicts(course.graded(NAME) / "verdicts")
    return Result(
        scores(course, NAME),
        {verdict.student: replace(verdict, seconds=0.0, exercise_hash="") for verdict in verdicts},
        frozenset(
            path.parent.parent.name for path in course.directory.glob("autograded/*/*/*.ipynb")
        ),
    )


def command(course: Course, *options: str) -> list[str]:
    """The command line that grades `course`."""
    return [sys.executable, "-m", "autograder.cli", "grade", str(course.directory), *options]


def grade(course: Course, *options: str) -> subprocess.CompletedProcess[str]:
    """Grade `course` in a process of its own."""
    return subprocess.run(
        command(course, *options),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"COLUMNS": "200"},
    )


def journal(course: Course) -> Path:
    """Where the journal of `course` lies."""
    return course.graded(NAME) / JOURNAL
