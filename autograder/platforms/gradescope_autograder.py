"""Gradescope's autograder.zip: the kit, one exercise with its solution, and two scripts.

It holds what students must not see: the solution, the checks, and the secret of the inputs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from autograder.building.build import TRACES
from autograder.errors import KitError
from autograder.model.exercise import Exercise, shared_folders
from autograder.platforms.gradescope_scripts import (
    REQUIREMENTS,
    RUN,
    SECRET_NAME,
    SETUP,
    SOLUTIONS,
    run_script,
    setup_script,
)
from autograder.releasing.contents import Files, archive_of
from autograder.releasing.requirements import needed, requirements_text
from autograder.releasing.wheel import build_wheel, read_wheel, wheel_requires

# Gradescope's own limit is not documented; far more than an exercise and a wheel of the kit have.
LARGEST = 64 * 1024 * 1024


@dataclass(frozen=True)
class GradescopeAutograder:
    """What goes into the zip: the exercise, the secret that its inputs are drawn from, further
    options of `attn grade`, and a wheel of the kit (None: one is built)."""

    exercise: Exercise
    secret: bytes
    options: tuple[str, ...] = ()
    wheel: Path | None = None

    def files(self) -> Files:
        """Return the files of the zip, by path; raise `KitError` when they cannot be made."""
        name, content = read_wheel(self.wheel) if self.wheel else build_wheel(())
        extras = ["grading", *(["torch"] if self.exercise.library == "torch" else [])]
        requirements = requirements_text(f"./{name}", needed(_requires(name, content), extras))
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        return {
            SETUP: setup_script(python).encode(),
            RUN: run_script(self.exercise.name, self.options).encode(),
            REQUIREMENTS: requirements.encode(),
            SECRET_NAME: self.secret,
            name: content,
            **_solution(self.exercise),
        }

    def archive(self) -> bytes:
        """Return the zip; its scripts are executable. Raises as `files`."""
        return archive_of(self.files(), executable=(SETUP, RUN))


def _requires(name: str, content: bytes) -> list[str]:
    with TemporaryDirectory(prefix="attention-kit-") as scratch:
        file = Path(scratch, name)
        file.write_bytes(content)
        return wheel_requires(file)


def _solution(exercise: Exercise) -> Files:
    """Return the files that grading reads: the exercise's own, and those that it shares."""
    root = exercise.folder.resolve()
    files: Files = {}
    for folder in (root, *shared_folders(root)):
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(root.parent)
            if path.is_file() and not set(inside.parts) & set(TRACES):
                files[f"{SOLUTIONS}/{inside.as_posix()}"] = path.read_bytes()
    if sum(map(len, files.values())) > LARGEST:
        raise KitError(
            "the exercise has more files than an autograder.zip can take",
            place=str(root),
            cure="keep only the exercise's own files in its folder",
        )
    return files
