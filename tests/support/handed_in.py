"""Hand-ins of the sample class, read."""

from __future__ import annotations

from pathlib import Path

from autograder.submission.reading import Submission, read_submission
from autograder.values.exercise import Exercise, read_exercise
from demo.sample_class import hand_in
from support.released_course import NAME, ROOT, sample_class

EXERCISE = read_exercise(ROOT / "solutions" / NAME)


def handed_in(folder: Path, *named: str, exercise: Exercise = EXERCISE) -> tuple[Submission, ...]:
    """Put what those students hand in below `folder`, and read it."""
    return tuple(
        read_submission(
            hand_in(student, exercise, ROOT / "assignments" / NAME, folder / student.name),
            exercise,
            student.name,
        )
        for student in sample_class(*named)
    )
