"""The sandboxes that this grader process keeps: one for each exercise, measured once."""

from __future__ import annotations

import atexit
from functools import cache
from pathlib import Path

from autograder.model.exercise import Exercise, Limits
from autograder.sandbox.zygote import Zygote


def begun_sandbox(exercise: Exercise, allow_process: bool, graded: Path | None) -> Zygote:
    """Return the sandbox that this process judges `exercise` in; the first call starts it.

    Raises `KitError` where none can be started.
    """
    hidden = (graded,) if graded else ()
    limits, secrets = exercise.limits, exercise.secret_folders
    return _zygote(exercise.library, limits, allow_process, secrets, *hidden).begin()


@cache
def entered_sandbox(begun: Zygote) -> Zygote:
    """Wait until a sandbox is ready, and measure it.

    Raises `KitError` when it falls short of the demand.
    """
    return begun.__enter__()


@cache
def _zygote(
    library: str, limits: Limits, allow_process: bool, secrets: tuple[Path, ...], *hidden: Path
) -> Zygote:
    zygote = Zygote(library, limits, allow_process, secrets=secrets, hidden=hidden)
    atexit.register(zygote.close)
    return zygote
