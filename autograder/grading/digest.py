"""What decides a verdict, as a hash; and verdicts on what was not judged, or not to the end."""

from __future__ import annotations

import ast
import hashlib
import hmac
import json
import platform
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path

from autograder import __version__
from autograder.submission.reading import Submission
from autograder.values.exercise import MANIFEST, WALKTHROUGH, Exercise, Step, shared_folders
from autograder.values.symbols import NEEDS_PYTHON, NOT_YET, our_fault
from autograder.values.verdict import (
    NOT_JUDGED,
    NOT_RUN,
    ChainVerdict,
    CheckVerdict,
    Finding,
    StepVerdict,
    Verdict,
)

_LIBRARIES = ("numpy", "torch", "pytest")


def exercise_hash(folder: Path) -> str:
    """Return a hash of all that decides a verdict: the exercise, this package, its libraries.

    What the exercise shares with others is part of it.
    """
    own = sorted([*folder.glob("*.py"), *folder.glob("*.toml")])
    shared = [path for each in shared_folders(folder) for path in sorted(each.rglob("*.py"))]
    return _hash([*own, *shared], _engine_hash())


def judging_hash(folder: Path) -> str:
    """Return a hash of what decides whether a step is right, but not of its points and words.

    Comments, and prose that stands in them, do not count; neither do titles, hints and minutes, or
    the diagram and the numbers in the prose.
    """
    own = [(file.name, file) for file in sorted(folder.glob("*.py")) if file.name != WALKTHROUGH]
    shared = [
        (path.relative_to(each.parent).as_posix(), path)
        for each in shared_folders(folder)
        for path in sorted(each.rglob("*.py"))
    ]
    programs = {name: ast.dump(ast.parse(path.read_bytes())) for name, path in [*own, *shared]}
    facts = tomllib.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    for step in facts.get("steps", ()):
        for words in ("title", "points", "hints", "similar", "minutes"):
            step.pop(words, None)
    for words in ("title", "diagram"):
        facts.pop(words, None)
    text = json.dumps([programs, facts, _engine_hash()], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def engine_versions() -> dict[str, str]:
    """Return what judges besides the exercise: the kit, a hash of its source, Python, libraries."""
    versions = {"Python": platform.python_version()}
    versions |= {library: _version(library) for library in _LIBRARIES}
    return {"attention-kit": __version__, "its source": _source_hash()} | versions


def judged_by() -> str:
    """Return what judges in words: the kit and Python, each with its version."""
    return f"attention-kit {__version__}, Python {platform.python_version()}"


@cache
def _engine_hash() -> str:
    versions = [platform.python_version(), *map(_version, _LIBRARIES)]
    return _hash((), " ".join([_source_hash(), *versions]))


@cache
def _source_hash() -> str:
    package = Path(__file__).resolve().parent.parent
    return _hash(sorted(package.rglob("*.py")), "")


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "none"


def _hash(files: Iterable[Path], start: str) -> str:
    digest = hashlib.sha256(start.encode())
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


# The seeds of one hand-in: drawn from a secret of the course and from the code itself.
#
# Changing one letter of the code changes the inputs, so what one hand-in learns of its own is of
# no use to the next. The same code gets the same inputs, so that a regrade gives the same
# verdict. The generators of a worker have a seed of their own: what code reads in them tells
# nothing about the inputs.

# How many seeds the hand-ins of a class share.
SHARED_SEEDS = 4
_BYTES = 8  # of which 63 bits are used: an integer that JSON and SQLite hold everywhere


def input_seed(secret: bytes, exercise: Exercise, code_hash: str) -> int:
    """Return the seed of the hidden inputs for the code with this hash, 63 bits."""
    return _seed("inputs", secret, exercise, code_hash)


def shared_seed(secret: bytes, exercise: Exercise, seed: int) -> int:
    """Return the seed of the inputs that hand-ins share, 63 bits, for the one with this `seed`.

    There are a few of them in a class, so what is computed for one hand-in serves others.
    """
    return _seed("shared", secret, exercise, str(seed % SHARED_SEEDS))


def common_seed(secret: bytes, exercise: Exercise) -> int:
    """Return the seed of inputs that all hand-ins of a class get, 63 bits; they decide nothing."""
    return _seed("common", secret, exercise, "")


def worker_seed(secret: bytes, exercise: Exercise, seed: int) -> int:
    """Return the seed of the generators that the code finds in its worker, 63 bits.

    There are a few of them in a class, so that right code draws what others have drawn before it.
    """
    return _seed("worker", secret, exercise, str(seed % SHARED_SEEDS))


def _seed(purpose: str, secret: bytes, exercise: Exercise, code_hash: str) -> int:
    facts = json.dumps([purpose, exercise.name, exercise.grading.seed, code_hash])
    digest = hmac.new(secret, facts.encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:_BYTES], "big") >> 1


# Verdicts on submissions that were not judged, or not to the end: each step says why.

_READ = ("read", "the submission can be read")
_STOPPED = ("stopped", "judging finishes")


@dataclass(frozen=True)
class JudgedStep:
    """A step whose verdict is known while the rest of its submission is still being judged."""

    step: StepVerdict
    protection: str


def unfinished(
    exercise: Exercise,
    submission: Submission,
    finding: Finding,
    judged: Sequence[JudgedStep] = (),
    seed: int = 0,
) -> Verdict:
    """Return the verdict on a submission that was not judged, or not to its end.

    What was `judged` before counts, by `seed`. All other steps end as `finding` says.
    """
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


def infrastructure(exercise: Exercise, submission: Submission, detail: str) -> Verdict:
    """Return the verdict on a submission that we failed to judge."""
    return unfinished(exercise, submission, our_fault((detail,)))


def needs_newer_python(exercise: Exercise, submission: Submission) -> Verdict:
    """Return the verdict on a submission that only a newer Python can read: that is no zero.

    Whoever wrote it was not told which Python grades, or the course would have it.
    """
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    versions = f"{NEEDS_PYTHON}{submission.needs}, and the grader has Python {here}"
    finding = our_fault((versions,))
    look = f"A definition of yours {versions.removeprefix('it ')}. {finding.look}"
    return unfinished(exercise, submission, replace(finding, look=look))


def not_yet_judged(exercise: Exercise, submission: Submission) -> Verdict:
    """Return the verdict on a submission that is not judged here, and has not been as it is now.

    What could not be read is rejected again, as when it was graded.
    """
    finding = submission.rejected or our_fault((NOT_YET,), "It is not judged yet")
    return unfinished(exercise, submission, finding)


def stopped_at(verdict: Verdict) -> Finding | None:
    """Return why judging was stopped before its end; None when it was not."""
    checks = (check for step in verdict.steps for check in step.checks)
    return next((check.finding for check in checks if check.name == _STOPPED[0]), None)


def _ended(step: Step, finding: Finding) -> StepVerdict:
    name, title = _READ if finding.outcome in NOT_JUDGED else _STOPPED
    return StepVerdict.of(step, (CheckVerdict.of(name, title, finding),))
