"""What a machine needs before a sandbox can be started at all, and what is missing.

A submission is promised a number of open files and a size of files; the grader needs no less.
"""

from __future__ import annotations

import sys
from pathlib import Path

from autograder.errors import KitError
from autograder.model.machine_fault import TOO_FEW_FILES, limit_named_in, no_proc
from autograder.model.shipped import ANSWERS
from autograder.sandbox import remedies
from autograder.worker.plan import FILE_MEGABYTES, OPEN_FILES, TOO_LOW

_OF_PROC = ("/proc/self/statm", "/proc/self/task", "/proc/self/ns/mnt")


def demand_linux() -> None:
    """Raise `KitError` on a system that has no sandbox."""
    if sys.platform != "linux":
        raise KitError(
            "the sandbox needs Linux",
            place=sys.platform,
            cure="grade in a Linux container or virtual machine (Docker, Lima)",
        )


def demand_no_answers() -> None:
    """Raise `KitError` where the kit has solutions in it, which the code of students could read."""
    if ANSWERS.exists():
        raise KitError(
            "this installation of the kit is one for learning alone: it holds the solutions, where "
            "the code that is graded could read them",
            place=str(ANSWERS),
            cure="grade with the kit from its repository (`pip install '.[grading]'`), "
            "or with a wheel that was released without --with-answers",
        )


def demand_preconditions() -> None:
    """Raise `KitError` without /proc, or when the limits on open files or file size are too low.

    Only on Linux: elsewhere nothing is started.
    """
    if sys.platform != "linux":
        return
    import resource

    if not all(Path(path).exists() for path in _OF_PROC):
        raise no_proc()
    _demand(
        resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        OPEN_FILES,
        "only {} files may be open at once",
        *TOO_FEW_FILES,
    )
    _demand(
        resource.getrlimit(resource.RLIMIT_FSIZE)[0],
        FILE_MEGABYTES << 20,
        "a file may hold only {} bytes",
        "the limit on the size of files of this process (`ulimit -f`)",
        "raise it (`ulimit -f unlimited`), and run the same command again",
    )


def unconfined(why: str) -> KitError:
    """Return the error about a worker that cannot be confined, for the reason that it gave."""
    limited = TOO_LOW in why
    return limit_named_in(why) or KitError(
        f"a worker cannot be confined: {why}",
        place="the limits of this process" if limited else f"{sys.prefix} and {sys.base_prefix}",
        cure=remedies.OWN_LIMITS if limited else remedies.CONFINEMENT,
    )


def _demand(allowed: int, least: int, words: str, place: str, cure: str) -> None:
    if 0 <= allowed < least:  # no limit at all is a negative number
        fact = f"{words.format(f'{allowed:,}')}, but grading needs {least:,}"
        raise KitError(fact, place=place, cure=cure)
