"""A released course of the NumPy exercise, handed in by the sample class, and what grading left."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.course.creation import Course, create_course
from autograder.grading.class_task import input_secret
from autograder.grading.journal import JOURNAL
from autograder.reports.grades_csv import read_verdicts
from autograder.values.exercise import read_exercise
from autograder.values.verdict import Verdict
from demo.run import release
from demo.sample_class import SampleStudent, hand_in, read_sample_class
from support.built_once import built_once
from support.gradebook_scores import scores

ROOT = Path(__file__).resolve().parents[2]
NAME = "numpy_single_head"


def sample_class(*named: str) -> tuple[SampleStudent, ...]:
    """The made-up students of the NumPy exercise: those who are named, or all of them."""
    found = {each.name: each for each in read_sample_class(ROOT / "tests" / "sample_class" / NAME)}
    return tuple(found[name] for name in named or found)


def marks_of(student: SampleStudent) -> dict[str, float]:
    """What one who is not hostile gets for each cell, by the facts at the head of the file."""
    lost, kept = student.facts.get("loses", "").split(), student.facts.get("keeps", "").split()
    return {
        f"check_{step.name}": 0.0
        if step.name in lost or (kept and step.name not in kept)
        else step.points
        for step in read_exercise(ROOT / "solutions" / NAME).steps
    }


def released_course(folder: Path, students: tuple[SampleStudent, ...] = ()) -> Course:
    """Make a course in `folder` that has released the exercise, and have `students` hand it in."""
    course = copied(_released(), folder)
    input_secret(course.secret_folder)  # the same for all copies that a test makes of the course
    exercise = course.exercise(NAME)
    for student in students:
        hand_in(student, exercise, course.release(NAME), course.submitted(NAME, student.name))
    return course


def _released() -> Course:
    """A course in which nobody has handed in; nbgrader takes seconds to make one, a copy none."""
    return Course(built_once(f"released-{NAME}", _release) / "course", ROOT / "solutions", (NAME,))


def _release(folder: Path) -> None:
    release(kit_course(folder / "course"), NAME)


def kit_course(folder: Path, name: str = NAME) -> Course:
    """Make a course of one exercise of the kit in `folder`, in which nothing is released."""
    return create_course(
        folder,
        solutions=ROOT / "solutions",
        assignments=ROOT / "assignments",
        exercises=(name,),
    )


def graded_course(folder: Path, *named: str) -> Course:
    """Make such a course in `folder` that has graded the students who are named, once a run."""

    def make(root: Path) -> None:
        run = grade(released_course(root / "course", sample_class(*named)))
        assert run.returncode == 0, run.stdout + run.stderr

    made = built_once("-".join(("graded", NAME, *named)), make)
    return copied(Course(made / "course", ROOT / "solutions", (NAME,)), folder)


def copied(course: Course, target: Path) -> Course:
    """Copy a course with all that lies in it; links stay links."""
    shutil.copytree(course.directory, target, symlinks=True)
    return replace(course, directory=target)


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
