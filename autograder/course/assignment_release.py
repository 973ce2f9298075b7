"""The release: nbgrader's own command, run as an instructor would run it.

nbgrader changes directory, configures logging and looks for its migration tool on
the PATH. A separate process keeps all that out of ours.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from autograder.course.creation import Course
from autograder.errors import KitError
from autograder.model.import_path import run_python

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
