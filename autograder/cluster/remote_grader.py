"""What runs on a Dask worker: one watched grader process, as on the instructor's own machine.

The Dask worker itself touches nothing that was handed in. So a hand-in that exceeds a bound, or
kills its grader, leaves the Dask worker as it was.
"""

from __future__ import annotations

import io
import multiprocessing
import shutil
import socket
import tempfile
import threading
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from distributed import get_worker

from autograder.errors import KitError
from autograder.grading.classroom import ClassJudging, GradingRun
from autograder.grading.digest import engine_versions, exercise_hash
from autograder.grading.grader_pool import GraderPool, Loss
from autograder.grading.sandbox_start import SandboxStart
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


class RemoteGrader:
    """The grader process of this Dask worker, and the exercises that it has received, by run.

    One batch is judged at a time, also when Dask would run more.
    """

    def __init__(self) -> None:
        self._one_at_a_time = threading.Lock()
        self._pool: GraderPool | None = None
        self._folders: dict[str, Path] = {}
        Finalize(None, self._end, exitpriority=_BEFORE_CHILDREN_ARE_AWAITED)

    def receive(
        self,
        run: str,
        name: str,
        archive: bytes,
        digest: str,
        versions: dict[str, str],
        allow_process: bool,
    ) -> None:
        """Take in the exercise of a run, and measure the sandbox that it will be judged in."""
        with self._one_at_a_time:
            self._forget(run)
            folder = Path(tempfile.mkdtemp(prefix="exercise-", dir=_scratch()))
            try:
                exercise = unpack(name, archive, digest, versions, folder)
                self._work(SandboxStart(exercise, allow_process), [None], Bounds(0.0, 0.0))
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            self._folders[run] = exercise

    def judge(
        self, run: str, rules: GradingRun, bounds: Bounds, submissions: Sequence[Submission]
    ) -> tuple[Verdict | Loss, ...] | None:
        """Return what came of each submission; None when the exercise was not received here."""
        with self._one_at_a_time:
            folder = self._folders.get(run)
            if folder is None:
                return None
            found = self._work(ClassJudging(folder, rules), submissions, bounds)
            return tuple(found[place] for place in range(len(submissions)))

    def forget(self, run: str) -> None:
        """Remove the exercise of a run, and end the grader process, which has it in memory."""
        with self._one_at_a_time:
            self._forget(run)
            self._close()

    def _work(self, work: Any, items: Sequence[Any], bounds: Bounds) -> dict[int, Any]:
        found: dict[int, Any] = {}
        self._pool = self._pool or GraderPool(1)
        try:
            self._pool.run(
                work,
                items,
                bounds,
                result=found.__setitem__,
                lost=found.__setitem__,
                batch=len(items),
            )
        except BaseException:
            self._close()
            raise
        return found

    def _forget(self, run: str) -> None:
        if folder := self._folders.pop(run, None):
            shutil.rmtree(folder.parent, ignore_errors=True)

    def _close(self) -> None:
        if self._pool:
            self._pool.close()
            self._pool = None

    def _end(self) -> None:
        """End with the Dask worker; it would wait for the grader process forever."""
        self._close()
        for run in list(self._folders):
            self._forget(run)


def receive(
    run: str,
    name: str,
    archive: bytes,
    digest: str,
    versions: dict[str, str],
    allow_process: bool,
) -> None:
    """See `RemoteGrader.receive`. Raises `KitError` where this Dask worker cannot judge."""
    if multiprocessing.current_process().daemon:
        raise KitError(
            "this Dask worker is a daemon process, so it may not start a grader process",
            place=socket.gethostname(),
            cure="start it with DASK_DISTRIBUTED__WORKER__DAEMON=False in its environment",
        )
    _grader().receive(run, name, archive, digest, versions, allow_process)


def judge(
    run: str, rules: GradingRun, bounds: Bounds, submissions: Sequence[Submission]
) -> tuple[Verdict | Loss, ...] | None:
    """See `RemoteGrader.judge`."""
    return _grader().judge(run, rules, bounds, submissions)


def forget(run: str) -> None:
    """See `RemoteGrader.forget`."""
    _grader().forget(run)


def on_another_machine(rules: GradingRun) -> GradingRun:
    """Return how a class is judged where its journal and its hand-ins are not."""
    return replace(rules, journal=None, graded=None)


_MAKING = threading.Lock()
_graders: list[RemoteGrader] = []


def _grader() -> RemoteGrader:
    """Return the one of this process, made at its first use."""
    with _MAKING:
        if not _graders:
            _graders.append(RemoteGrader())
        return _graders[0]


def _scratch() -> str:
    """Return Dask's folder for this worker; what a killed one leaves, the next removes."""
    return str(get_worker().local_directory)
