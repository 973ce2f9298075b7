"""Who judges: the one place where the course reaches the grading engine.

`nbgrader autograde` asks for one student at a time, so the engine runs in this process
and keeps its zygote for the next student; `attn grade` judges a class in parallel. Both
use one journal, so what one of them has judged the other does not judge again.
"""

from __future__ import annotations

import logging
from pathlib import Path

from autograder.course.creation import Course
from autograder.exercise import Exercise
from autograder.grading.batch import grade_batch
from autograder.grading.journal import JOURNAL, Journal
from autograder.reading.submission import read_submission
from autograder.verdict import Verdict


def judge(
    course: Course, exercise: Exercise, student: str, folder: Path, *, allow_process: bool = False
) -> Verdict:
    """Return the verdict on what `student` handed in, which lies in `folder`.

    `allow_process` accepts a machine that gives less than the default demand. Raise `KitError`
    when the exercise or the sandbox cannot be used.
    """
    submission = read_submission(folder, exercise, student)
    journal = _prepared(course.graded(exercise.name) / JOURNAL)
    return grade_batch(exercise.folder, [submission], allow_process, journal)[0]


def _prepared(path: Path) -> Path:
    broken = Journal(path).prepare()
    if broken:
        logging.getLogger(__name__).warning("%s", broken)
    return path
