"""The demo: makes a real course and release, and grades a sample class."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from autograder.cli.grade import grade_path
from autograder.cli.report import GradedClass
from autograder.course.creation import Course, create_course
from autograder.errors import KitError
from autograder.grading.class_task import FACTS, SECRET, SECRET_BYTES, GradingOptions
from autograder.sandbox import Zygote
from autograder.values.this_machine import run_python
from demo.sample_class import SampleStudent, hand_in, read_sample_class

MADE_BY_DEMO = ".made-by-attn-demo"


def run_demo(
    directory: Path, *, solutions: Path, assignments: Path, sample_class: Path, console: Console
) -> tuple[GradedClass, ...]:
    """Make a course in `directory`, release it, hand in for a class, grade it, print the results.

    A course that an earlier demo made there is replaced; anything else is refused with `KitError`.
    """
    _clear(directory)
    exercises = tuple(sorted(path.name for path in sample_class.iterdir() if path.is_dir()))
    console.print(Text(f"making the course {directory} with {', '.join(exercises)}"))
    course = create_course(
        directory, solutions=solutions, assignments=assignments, exercises=exercises
    )
    course.secret_folder.mkdir()
    # A fixed secret, so that the demo shows the same numbers each time.
    (course.secret_folder / SECRET).write_bytes(bytes(SECRET_BYTES))
    (directory / MADE_BY_DEMO).write_text(
        "This course was made by `attn course demo`.\n", encoding="utf-8"
    )
    shortfall = _shortfall(course)
    if shortfall:
        _banner(shortfall, console)
    for name in exercises:
        console.print(Text(f"releasing {name} with nbgrader generate_assignment"))
        release(course, name)
        _hand_in(course, name, read_sample_class(sample_class / name), bool(shortfall), console)
    graded = tuple(
        grade_path(
            directory,
            exercise=name,
            solutions=None,
            output=None,
            options=GradingOptions(allow_process=bool(shortfall)),
            console=console,
        )
        for name in exercises
    )
    _next(directory, course, graded, console)
    return graded


def _clear(directory: Path) -> None:
    if (directory / MADE_BY_DEMO).is_file():
        shutil.rmtree(directory)
    elif (directory / FACTS).exists():
        raise KitError(
            "there is already a course here that the demo did not make",
            place=str(directory),
            cure="name another directory: attn course demo DIRECTORY",
        )


def _shortfall(course: Course) -> KitError | None:
    """Return what keeps this machine from grading untrusted code, or None."""
    # With NumPy, because PyTorch may be missing and only the machine is in question.
    try:
        with Zygote("numpy", course.exercise(course.exercises[0]).limits):
            return None
    except KitError as error:
        return error


def _banner(error: KitError, console: Console) -> None:
    words = (
        f"This machine cannot isolate untrusted code: {error.fact}\n{error.cure}\n"
        "The demo runs its own harmless submissions anyway, unprotected. "
        "The hostile ones are not run."
    )
    console.print(Panel(Text(words), title="no protection", style="bold yellow"))


def _hand_in(
    course: Course,
    name: str,
    sample_class: tuple[SampleStudent, ...],
    unprotected: bool,
    console: Console,
) -> None:
    exercise = course.exercise(name)
    handed_in = 0
    for classmate in sample_class:
        if unprotected and classmate.hostile:
            console.print(Text(f"{classmate.name}: not run", style="yellow"))
            continue
        hand_in(classmate, exercise, course.release(name), course.submitted(name, classmate.name))
        handed_in += 1
    console.print(Text(f"{handed_in} students have handed in {name}"))


def _next(where: Path, course: Course, graded: tuple[GradedClass, ...], console: Console) -> None:
    lines = ["", "open next:"]
    for each in graded:
        lines.append(f"  {each.output}/feedback/index.html   the class, and a page per student")
    lines += [
        f"  {graded[0].output}/grades.csv   a row per student; verdicts/ has the details as JSON",
        f"  {where}/gradebook.db   nbgrader's gradebook",
        f"  cd {where} && nbgrader release_feedback {course.exercises[0]}   hand out the pages",
    ]
    console.print(Text("\n".join(lines)), soft_wrap=True)


# The release: nbgrader's own command, run as an instructor would run it.
#
# nbgrader changes directory, configures logging and looks for its migration tool on the PATH. A
# separate process keeps all that out of ours.

ERROR_LINE = re.compile(r"^\[\w+ \| (?:ERROR|CRITICAL)\] (.*)$")
LAST_LINES = 5


def release(course: Course, exercise: str) -> Path:
    """Run `nbgrader generate_assignment` for `exercise`; return the folder with the release.

    An earlier release is replaced. Raise `KitError` with nbgrader's message when it fails.
    """
    course.exercise(exercise)  # is it one of this course's, and are its solutions there?
    command = ("-m", "nbgrader", "generate_assignment", exercise, "--force")
    done = run_python(command, folder=course.directory, environment=command_environment())
    if done.failed:
        raise KitError(
            f"nbgrader could not release {exercise}: {_words(done.said)}",
            place=str(course.source(exercise)),
            cure="put that right; "
            f"`nbgrader generate_assignment {exercise} --force` shows the whole message",
        )
    return course.release(exercise)


def command_environment() -> dict[str, str]:
    """Return an environment for nbgrader's commands; they look for `alembic` on the PATH."""
    beside = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": os.pathsep.join((beside, os.environ.get("PATH", os.defpath)))}


def _words(lines: Sequence[str]) -> str:
    """Return what went wrong according to a log: its error lines, or else its last lines."""
    errors = [found[1] for line in lines if (found := ERROR_LINE.match(line)) and found[1]]
    shown = [line for line in errors if not line.startswith("Traceback")] or lines[-LAST_LINES:]
    return " / ".join(dict.fromkeys(shown)) or "it said nothing"
