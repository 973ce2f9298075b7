"""Verdicts on submissions that were not judged, or not to the end: each step says why."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from autograder.grading.digest import exercise_hash
from autograder.model.exercise import Exercise, Step
from autograder.model.symbols import NEEDS_PYTHON, NOT_YET, our_fault
from autograder.model.verdict import (
    NOT_JUDGED,
    NOT_RUN,
    ChainVerdict,
    CheckVerdict,
    Finding,
    StepVerdict,
    Verdict,
)
from autograder.submission.reading import Submission

_READ = ("read", "the submission can be read")
_STOPPED = ("stopped", "judging finishes")


@dataclass(frozen=True)
class JudgedStep:
    """A step whose verdict is known while the rest of its submission is still being judged."""

    step: StepVerdict
    protection: str


def without_judging(exercise: Exercise, submission: Submission, finding: Finding) -> Verdict:
    """Return the verdict on a submission that never ran: every step ends as `finding` says."""
    return _verdict(exercise, submission, (), finding)


def infrastructure(exercise: Exercise, submission: Submission, detail: str) -> Verdict:
    """Return the verdict on a submission that we failed to judge."""
    return without_judging(exercise, submission, our_fault((detail,)))


def needs_newer_python(exercise: Exercise, submission: Submission) -> Verdict:
    """Return the verdict on a submission that only a newer Python can read: that is no zero.

    Whoever wrote it was not told which Python grades, or the course would have it.
    """
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    versions = f"{NEEDS_PYTHON}{submission.needs}, and the grader has Python {here}"
    finding = our_fault((versions,))
    look = f"A definition of yours {versions.removeprefix('it ')}. {finding.look}"
    return without_judging(exercise, submission, replace(finding, look=look))


def not_yet_judged(exercise: Exercise, submission: Submission) -> Verdict:
    """Return the verdict on a submission that is not judged here, and has not been as it is now.

    What could not be read is rejected again, as when it was graded.
    """
    finding = submission.rejected or our_fault((NOT_YET,), "It is not judged yet")
    return without_judging(exercise, submission, finding)


def unfinished(
    exercise: Exercise,
    submission: Submission,
    judged: Sequence[JudgedStep],
    finding: Finding,
    seed: int,
) -> Verdict:
    """Return the verdict on a submission whose judging was stopped: what was judged before counts.

    All other steps end as `finding` says.
    """
    return _verdict(exercise, submission, judged, finding, seed)


def stopped_at(verdict: Verdict) -> Finding | None:
    """Return why judging was stopped before its end; None when it was not."""
    checks = (check for step in verdict.steps for check in step.checks)
    return next((check.finding for check in checks if check.name == _STOPPED[0]), None)


def _verdict(
    exercise: Exercise,
    submission: Submission,
    judged: Sequence[JudgedStep],
    finding: Finding,
    seed: int = 0,
) -> Verdict:
    known = {each.step.name: each.step for each in judged}
    return Verdict(
        exercise=submission.exercise,
        student=submission.student,
        steps=tuple(known.get(step.name) or _ended(step, finding) for step in exercise.steps),
        chain=ChainVerdict(finding.outcome, None, finding),
        code_hash=submission.code_hash,
        exercise_hash=exercise_hash(exercise.folder),
        seed=seed,
        protection=judged[-1].protection if judged else NOT_RUN,
        seconds=0.0,
        remarks=submission.remarks,
    )


def _ended(step: Step, finding: Finding) -> StepVerdict:
    name, title = _READ if finding.outcome in NOT_JUDGED else _STOPPED
    return StepVerdict.of(step, (CheckVerdict.of(name, title, finding),))
