"""Judge a batch of submissions in this process: one pytest session, one zygote.

This is the function that runs in every grader process, on this machine or on
another. Starting pytest and the zygote is paid once for many submissions, and
once more only when a zygote had to be given up.
"""

from __future__ import annotations

import atexit
import hashlib
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

from autograder.checks.leaning import lean
from autograder.checks.plugin import GradingPlugin, Judged
from autograder.checks.reference import Reference, read_reference
from autograder.checks.session import run_graders
from autograder.exercise import Limits
from autograder.grading.loaded import Loaded
from autograder.grading.shortcuts import remarks_on
from autograder.sandbox import SandboxedStudent, Zygote
from autograder.submission import Submission
from autograder.verdict import (
    ChainVerdict,
    CheckVerdict,
    Finding,
    Outcome,
    StepVerdict,
    Verdict,
)

OnVerdict = Callable[[Verdict], None]


def grade_batch(
    folder: Path, submissions: Sequence[Submission], allow_process: bool = False
) -> tuple[Verdict, ...]:
    """Return the verdicts on `submissions`, in their order, by the exercise in `folder`.

    Raises `KitError` when the exercise cannot be used or the sandbox falls short of
    what is demanded.
    """
    reference = read_reference(folder)
    exercise = reference.exercise
    zygote = _zygote(exercise.library, exercise.limits, allow_process, exercise.folder.resolve())
    verdicts: list[Verdict] = []

    def judge(plugin: GradingPlugin) -> None:
        for submission in submissions:
            verdict = _judged(plugin, reference, zygote, submission)
            if verdict.infrastructure:
                verdict = _judged(plugin, reference, zygote, submission)
            verdicts.append(verdict)

    run_graders(GradingPlugin(reference, judge))
    return tuple(verdicts)


@cache
def _zygote(library: str, limits: Limits, allow_process: bool, secret: Path) -> Zygote:
    zygote = Zygote(library, limits, allow_process, secrets=(secret,))
    atexit.register(zygote.__exit__, None, None, None)
    return zygote.__enter__()


def _judged(
    plugin: GradingPlugin, reference: Reference, zygote: Zygote, submission: Submission
) -> Verdict:
    if submission.rejected:
        return without_judging(reference, submission, submission.rejected)
    seed = reference.exercise.grading.seed
    with SandboxedStudent(
        zygote, submission.cells, seed=seed, answer=partial(lean, reference)
    ) as student:
        loaded = Loaded(student, submission.cells)
        judged = plugin.judged_by(loaded)
        remarks = (
            *submission.remarks,
            *remarks_on(submission, reference.exercise),
            *loaded.remarks(),
        )
    return _verdict(reference, submission, judged, remarks, zygote.protection)


def _verdict(
    reference: Reference,
    submission: Submission,
    judged: Judged,
    remarks: tuple[str, ...],
    protection: str,
) -> Verdict:
    return Verdict(
        exercise=submission.exercise,
        student=submission.student,
        steps=judged.steps,
        chain=judged.chain,
        code_hash=submission.code_hash,
        exercise_hash=exercise_hash(reference.exercise.folder),
        seed=reference.exercise.grading.seed,
        protection=str(protection),
        seconds=round(judged.seconds, 4),
        remarks=remarks,
    )


def without_judging(reference: Reference, submission: Submission, finding: Finding) -> Verdict:
    """Return the verdict on a submission that never ran: every step ends as `finding` says."""
    steps = tuple(
        StepVerdict(
            name=step.name,
            title=step.title,
            outcome=finding.outcome,
            points=0.0,
            max_points=step.points,
            checks=(CheckVerdict("read", "the submission can be read", finding.outcome, finding),),
        )
        for step in reference.exercise.steps
    )
    chain = ChainVerdict(finding.outcome, None, finding)
    judged = Judged(steps, chain, 0.0)
    return _verdict(reference, submission, judged, submission.remarks, "not run")


def infrastructure(reference: Reference, submission: Submission, detail: str) -> Verdict:
    """Return the verdict on a submission that we failed to judge."""
    finding = Finding(
        Outcome.INFRASTRUCTURE,
        "It could not be judged, through no fault of yours. Your instructor is told.",
        details=(detail,),
    )
    return without_judging(reference, submission, finding)


@cache
def exercise_hash(folder: Path) -> str:
    """Return a hash of all that decides a verdict: the exercise's files and this package's."""
    package = Path(__file__).resolve().parent.parent
    files = sorted([*folder.glob("*.py"), *folder.glob("*.toml"), *package.rglob("*.py")])
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()
