"""The judge: the one place where the course calls the grading engine.

`nbgrader autograde` grades one student at a time, so one grader process is kept for all of them;
`attn grade` judges a class in parallel. Both use the same journal, so neither judges again what
the other has already judged.
"""

from __future__ import annotations

import atexit
import logging
from functools import cache
from pathlib import Path

from autograder.course.creation import Course
from autograder.grading.class_reading import read_class
from autograder.grading.classroom import GradingRun, grade_class
from autograder.grading.grader_pool import GraderPool
from autograder.grading.journal import JOURNAL, Journal
from autograder.grading.output_folder import input_secret
from autograder.grading.roster import course_roster
from autograder.model.exercise import Exercise
from autograder.model.verdict import Verdict


def judge(
    course: Course, exercise: Exercise, student: str, folder: Path, *, allow_process: bool = False
) -> Verdict:
    """Return the verdict on what `student` handed in, in `folder`.

    `allow_process` accepts a machine that protects less than is required by default. Raise
    `KitError` when the exercise or the sandbox cannot be used.
    """
    submissions = read_class(grader(), exercise, course_roster([(student, folder)]))
    journal = _prepared(course.graded(exercise.name) / JOURNAL)
    secret, rules = input_secret(course.secret_folder), course.rules
    run = GradingRun(journal, secret, allow_process, course.directory, rules.layer_earns_steps)
    return rules.marked(grade_class(exercise, submissions, run=run, pool=grader())[0])


@cache
def grader() -> GraderPool:
    """Return the one grader process that `nbgrader autograde` uses until it ends."""
    pool = GraderPool(1)
    atexit.register(pool.close)
    return pool


def _prepared(path: Path) -> Path:
    broken = Journal(path).prepare()
    if broken:
        logging.getLogger(__name__).warning("%s", broken)
    return path
