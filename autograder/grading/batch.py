"""Judge a batch of submissions in this process: one pytest session, one zygote.

This is the function that runs in every grader process, on this machine or on
another. Starting pytest and the zygote is paid once for many submissions, and
once more only when a zygote had to be given up.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import platform
import traceback
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from importlib import metadata
from pathlib import Path

from autograder.checks.leaning import lean
from autograder.checks.plugin import GradingPlugin, Judged
from autograder.checks.reference import Reference, read_reference
from autograder.checks.session import run_graders
from autograder.errors import KitError
from autograder.exercise import Limits
from autograder.grading.journal import Journal, JournalFault, judging_key
from autograder.grading.loaded import Loaded
from autograder.grading.shortcuts import remarks_on
from autograder.reading.submission import Submission
from autograder.sandbox import Zygote
from autograder.verdict import (
    NOT_RUN,
    ChainVerdict,
    CheckVerdict,
    Finding,
    Outcome,
    StepVerdict,
    Verdict,
)


def grade_batch(
    folder: Path,
    submissions: Sequence[Submission],
    allow_process: bool = False,
    journal: Path | None = None,
) -> tuple[Verdict, ...]:
    """Return the verdicts on `submissions`, in their order, by the exercise in `folder`.

    What the `journal` (prepared before) holds is not judged again, and a verdict counts once the
    journal holds it. Raises `KitError` when the exercise cannot be used or the sandbox falls
    short of what is demanded.
    """
    reference = read_reference(folder)
    if journal is None:
        return _judge_all(reference, submissions, allow_process)
    ledger, exercise = Journal(journal), exercise_hash(folder)
    keys = [judging_key(submission, exercise, allow_process) for submission in submissions]
    found = [_found(ledger, key, submission.student) for key, submission in zip(keys, submissions)]
    left = [number for number, verdict in enumerate(found) if verdict is None]

    def keep(number: int, verdict: Verdict) -> Verdict:
        place = left[number]
        return _kept(ledger, keys[place], verdict, reference, submissions[place])

    chosen = [submissions[number] for number in left]
    judged = dict(zip(left, _judge_all(reference, chosen, allow_process, keep)))
    return tuple(verdict or judged[number] for number, verdict in enumerate(found))


def _found(ledger: Journal, key: str, student: str) -> Verdict | None:
    with contextlib.suppress(JournalFault):  # judged again then; to keep it is tried again too
        return ledger.find(key, student)
    return None


def _kept(
    ledger: Journal, key: str, verdict: Verdict, reference: Reference, submission: Submission
) -> Verdict:
    if verdict.infrastructure or submission.rejected:
        return verdict
    try:
        ledger.keep(key, verdict)
    except JournalFault as fault:
        return infrastructure(reference, submission, str(fault))
    return verdict


def _judge_all(
    reference: Reference,
    submissions: Sequence[Submission],
    allow_process: bool,
    keep: Callable[[int, Verdict], Verdict] = lambda number, verdict: verdict,
) -> tuple[Verdict, ...]:
    exercise = reference.exercise
    verdicts: list[Verdict] = []
    if not submissions:
        return ()
    zygote = _zygote(exercise.library, exercise.limits, allow_process, exercise.folder.resolve())

    def judge(plugin: GradingPlugin) -> None:
        for number, submission in enumerate(submissions):
            verdict = _tried(plugin, reference, zygote, submission)
            if verdict.infrastructure:
                verdict = _tried(plugin, reference, zygote, submission)
            verdicts.append(keep(number, verdict))

    run_graders(GradingPlugin(reference, judge))
    return tuple(verdicts)


def _tried(
    plugin: GradingPlugin, reference: Reference, zygote: Zygote, submission: Submission
) -> Verdict:
    """Judge one submission; a fault of ours costs nobody else a verdict, and its owner no point."""
    try:
        return _judged(plugin, reference, zygote, submission)
    except KitError:
        raise  # about the exercise or the machine: it holds for the whole class
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        detail = f"{type(error).__name__}: {error}, in {Path(place.filename).name}:{place.lineno}"
        return infrastructure(reference, submission, detail)


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
    with Loaded(
        zygote, submission, reference.exercise, seed=seed, answer=partial(lean, reference)
    ) as loaded:
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
    return _verdict(reference, submission, judged, submission.remarks, NOT_RUN)


def infrastructure(reference: Reference, submission: Submission, detail: str) -> Verdict:
    """Return the verdict on a submission that we failed to judge."""
    finding = Finding(
        Outcome.INFRASTRUCTURE,
        "It could not be judged, through no fault of yours. Your instructor is told.",
        details=(detail,),
    )
    return without_judging(reference, submission, finding)


def exercise_hash(folder: Path) -> str:
    """Return a hash of all that decides a verdict: the exercise, this package, its libraries."""
    files = sorted([*folder.glob("*.py"), *folder.glob("*.toml")])
    return _hash(files, _engine_hash())


@cache
def _engine_hash() -> str:
    package = Path(__file__).resolve().parent.parent
    versions = [platform.python_version(), *map(_version, ("numpy", "torch", "pytest"))]
    return _hash(sorted(package.rglob("*.py")), " ".join(versions))


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "none"


def _hash(files: Iterable[Path], start: str) -> str:
    digest = hashlib.sha256(start.encode())
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()
