"""What runs on a Dask worker: one watched grader process, as on the instructor's own machine.

The Dask worker itself touches nothing that was handed in. So a hand-in that exceeds a bound, or
kills its grader, leaves the Dask worker as it was.
"""

from __future__ import annotations

import io
import multiprocessing
import shutil
import signal
import socket
import tempfile
import threading
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from distributed import get_worker

from autograder.errors import KitError
from autograder.grading.classroom import ClassJudging
from autograder.grading.grader_pool import GraderPool, Loss, SandboxStart
from autograder.grading.journal import GradingRun, engine_versions, exercise_hash
from autograder.grading.watched_process import Bounds
from autograder.submission.reading import Submission
from autograder.values.exercise import shared_folders
from autograder.values.verdict import Verdict

# An exercise on its way to another machine: its files as bytes, with the hash that they must
# have.
#
# What an exercise shares with others (`_attention/`) lies beside it and travels along.

_LEFT_OUT = "__pycache__"


@dataclass(frozen=True)
class Parcel:
    """The exercise `name` as an archive, what judges it here, and the hash of both."""

    name: str
    archive: bytes
    exercise_hash: str
    versions: dict[str, str]


def pack(folder: Path) -> Parcel:
    """Return the exercise in `folder`; raise OSError when a file of it cannot be read."""
    content = io.BytesIO()
    root = folder.resolve()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in (root, *shared_folders(root)):
            for path in sorted(part.rglob("*")):
                if path.is_file() and _LEFT_OUT not in path.parts:
                    archive.writestr(path.relative_to(root.parent).as_posix(), path.read_bytes())
    return Parcel(root.name, content.getvalue(), exercise_hash(root), engine_versions())


def unpack(name: str, archive: bytes, digest: str, versions: dict[str, str], target: Path) -> Path:
    """Unpack a parcel into the empty folder `target`; return the folder of the exercise.

    The arguments are plain values, so that a machine with another kit can read them too. Raises
    `KitError` where this machine would not judge as the one that packed.
    """
    refuse_other_versions(versions)
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        packed.extractall(target)
    if exercise_hash(target / name) != digest:
        raise KitError(
            f"the exercise {name} did not arrive as it was sent",
            place=str(target),
            cure="run the same command again; if it happens again, look at that machine's disk",
        )
    return target / name


def refuse_other_versions(versions: dict[str, str]) -> None:
    """Raise `KitError` unless the kit, its source, Python and the libraries are those `versions`.

    With any other, verdicts could differ.
    """
    here = engine_versions()
    other = [name for name in versions if here.get(name) != versions[name]]
    if other:
        told = ", ".join(f"{_told(name, here)} instead of {versions[name][:12]}" for name in other)
        raise KitError(
            f"it would not judge as this machine does: {told}",
            place="what is installed for the Dask worker",
            cure="install the same kit with the same Python and libraries there, and start the "
            "worker again",
        )


def _told(name: str, versions: dict[str, str]) -> str:
    return f"{name} {versions.get(name, 'none')[:12]}"


_BEFORE_CHILDREN_ARE_AWAITED = 10  # of multiprocessing, at the end of a process


# The grader process of this Dask worker, at most one, and the exercises that it has received, by
# run. One batch is judged at a time, also when Dask would run more.
_pools: list[GraderPool] = []
_folders: dict[str, Path] = {}
_one_at_a_time = threading.Lock()


def receive(
    run: str,
    name: str,
    archive: bytes,
    digest: str,
    versions: dict[str, str],
    allow_process: bool,
) -> None:
    """Take in the exercise of a run, and measure the sandbox that it will be judged in.

    Raises `KitError` where this Dask worker cannot judge.
    """
    if multiprocessing.current_process().daemon:
        raise KitError(
            "this Dask worker is a daemon process, so it may not start a grader process",
            place=socket.gethostname(),
            cure="start it with DASK_DISTRIBUTED__WORKER__DAEMON=False in its environment",
        )
    with _one_at_a_time:
        _end_with_the_worker()
        _remove(run)
        # In Dask's folder for this worker: what a killed one leaves, the next removes.
        folder = Path(tempfile.mkdtemp(prefix="exercise-", dir=get_worker().local_directory))
        try:
            exercise = unpack(name, archive, digest, versions, folder)
            _results(SandboxStart(exercise, allow_process), [None], Bounds(0.0, 0.0))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        _folders[run] = exercise


def judge(
    run: str, rules: GradingRun, bounds: Bounds, submissions: Sequence[Submission]
) -> tuple[Verdict | Loss, ...] | None:
    """Return what came of each submission; None when the exercise was not received here."""
    with _one_at_a_time:
        folder = _folders.get(run)
        if folder is None:
            return None
        found = _results(ClassJudging(folder, rules), submissions, bounds)
        return tuple(found[place] for place in range(len(submissions)))


def forget(run: str) -> None:
    """Remove the exercise of a run, and end the grader process, which has it in memory."""
    with _one_at_a_time:
        _remove(run)
        _close()


def on_another_machine(rules: GradingRun) -> GradingRun:
    """Return how a class is judged where its journal and its hand-ins are not."""
    return replace(rules, journal=None, graded=None)


def _results(work: Any, items: Sequence[Any], bounds: Bounds) -> dict[int, Any]:
    if not _pools:
        _pools.append(GraderPool(1))
    try:
        return dict(_pools[0].results(work, items, bounds, len(items)))
    except BaseException:
        _close()
        raise


def _remove(run: str) -> None:
    if folder := _folders.pop(run, None):
        shutil.rmtree(folder.parent, ignore_errors=True)


def _close() -> None:
    while _pools:
        _pools.pop().close()


@cache
def _end_with_the_worker() -> None:
    """Have the grader process end with the Dask worker, which would wait for it forever."""

    def end() -> None:
        _close()
        for run in list(_folders):
            _remove(run)

    Finalize(None, end, exitpriority=_BEFORE_CHILDREN_ARE_AWAITED)


# What Dask loads into each worker of a cluster that the command itself has started.


def dask_setup(worker: object) -> None:
    """Leave Ctrl-C to the command, which ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
