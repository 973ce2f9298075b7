"""Whether what a worker returned is a verdict on what it was asked."""

from __future__ import annotations

from autograder.grading.grader_pool import Cause, Loss
from autograder.grading.kept_verdict import is_sound
from autograder.model.exercise import Exercise
from autograder.model.protection import Protection
from autograder.model.verdict import Verdict
from autograder.submission.reading import Submission


def is_answer(
    returned: object,
    submission: Submission,
    exercise: Exercise,
    exercise_hash: str,
    allow_process: bool,
) -> bool:
    """Whether `returned` is a loss, or a verdict that can be one on `submission`.

    Student, exercise and both hashes have to be those that were asked for, and its protection one
    that is accepted. What was judged agrees with itself, as a verdict of the journal has to.
    """
    if isinstance(returned, Loss):
        return isinstance(returned.cause, Cause) and isinstance(returned.detail, str)
    if not isinstance(returned, Verdict):
        return False
    asked = (submission.student, submission.exercise, submission.code_hash, exercise_hash)
    told = (returned.student, returned.exercise, returned.code_hash, returned.exercise_hash)
    if asked != told or (returned.protection == Protection.PROCESS and not allow_process):
        return False
    if submission.rejected:
        return returned.points == 0
    return returned.infrastructure or is_sound(returned, exercise)
