"""Who judges: the one place where the course reaches the grading engine.

`nbgrader autograde` asks for one student at a time, so the engine runs in this process
and keeps its zygote for the next student; `attn grade` judges a class in parallel.
"""

from __future__ import annotations

from pathlib import Path

from autograder.course.creation import Course
from autograder.exercise import Exercise
from autograder.grading.batch import grade_batch
from autograder.submission import read_submission
from autograder.verdict import Verdict


def judge(course: Course, exercise: Exercise, student: str, folder: Path) -> Verdict:
    """Return the verdict on what `student` handed in, which lies in `folder`.

    Raise `KitError` when the exercise or the sandbox cannot be used.
    """
    submission = read_submission(folder, exercise, student)
    return grade_batch(exercise.folder, [submission])[0]
