"""The graders fail closed: handing in nothing earns nothing, through the real grading path."""

from __future__ import annotations

import tempfile
from pathlib import Path

from autograder.building.build import build
from autograder.grading.batch import grade_batch
from autograder.model.exercise import Exercise
from autograder.submission.reading import read_submission

IMPORTS_ONLY = "import math\n\nimport numpy as np\n"


def closed_gaps(exercise: Exercise) -> tuple[str, ...]:
    """Grade the stubs, an empty file and a file with imports only; return a sentence per gap.

    Raises `KitError` when the sandbox does not meet the demands.
    """
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        build(exercise.folder, folder)
        stub = folder / exercise.name
        (folder / "empty.py").write_text("", encoding="utf-8")
        (folder / "imports.py").write_text(IMPORTS_ONLY, encoding="utf-8")
        files = {
            "the untouched notebook": stub / f"{exercise.name}.ipynb",
            "the untouched .py": stub / f"{exercise.name}.py",
            "an empty file": folder / "empty.py",
            "a file with imports only": folder / "imports.py",
        }
        submissions = [read_submission(path, exercise, name) for name, path in files.items()]
        verdicts = grade_batch(exercise.folder, submissions)
    return tuple(
        f"{verdict.student} gets {verdict.points:g} points of {exercise.name}, but must get none"
        for verdict in verdicts
        if verdict.points or verdict.infrastructure
    )
