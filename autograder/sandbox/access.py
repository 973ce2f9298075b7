"""Who a worker is on this machine, and which folders that user cannot read.

Root's workers become a user who owns nothing. Without namespaces, that user
needs access to the interpreter like anybody else, so an interpreter below root's
own home (pyenv, uv) is out of reach.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from autograder.errors import KitError

_FIRST_THROW_AWAY_UID, _THROW_AWAY_UIDS = 60001, 512
_ENTER_AS_OTHERS, _READ_AS_OTHERS = 0o001, 0o004
_OPEN_PLACES = ("/tmp", "/var/tmp", "/dev/shm")


def throw_away_uid() -> int:
    """Return the uid that workers become, 0 when this process cannot change their user."""
    uid = _FIRST_THROW_AWAY_UID + os.getpid() % _THROW_AWAY_UIDS
    if os.geteuid() != 0:
        return 0
    try:
        lines = Path("/proc/self/uid_map").read_text("ascii").splitlines()
    except OSError:  # without /proc nothing is graded, and `attn doctor` says so
        return 0
    maps = [line.split() for line in lines]
    mapped = any(int(first) <= uid < int(first) + int(count) for first, _, count in maps)
    return uid if mapped else 0


def blocking_folder(path: Path) -> Path | None:
    """Return the topmost folder on the way to `path` that other users may not enter, or None."""
    real = path.resolve()
    for folder in reversed(real.parents):
        if not folder.stat().st_mode & _ENTER_AS_OTHERS:
            return folder
    return None if real.stat().st_mode & _READ_AS_OTHERS else real


def unreadable_paths(readable: Iterable[str]) -> dict[Path, Path]:
    """Return the `readable` paths that other users cannot reach, each with what closes it."""
    found = {path: blocking_folder(path) for path in map(Path, readable)}
    return {path: closing for path, closing in found.items() if closing}


def out_of_reach(uid: int, detail: str, readable: Iterable[str]) -> KitError | None:
    """Return the error about the `readable` path that user `uid` cannot reach, or None."""
    for path, closing in unreadable_paths(readable).items() if uid else ():
        return KitError(
            f"a worker becomes user {uid}, who needs {path} but may not enter {closing} ({detail})",
            place=str(closing),
            cure="allow namespaces, with which workers see it all the same (`attn doctor` says "
            "what is in the way); or put Python and its environment where every user may read "
            "them, such as /opt; or grade as an ordinary user",
        )
    return None


def folder_for_a_canary(uid: int) -> Path:
    """Make a folder that a worker could enter if nothing held it back.

    A canary behind a closed folder would be protected by that folder, not by the sandbox.
    Raises `KitError` when no folder can be made.
    """
    try:
        own = tempfile.gettempdir()
        places = (own, *_OPEN_PLACES) if uid else (own,)
        usable = [place for place in map(Path, places) if os.access(place, os.W_OK)]
        place = next(
            (place for place in usable if not uid or blocking_folder(place) is None), Path(own)
        )
        _sweep()
        folder = Path(tempfile.mkdtemp(prefix=_prefix(os.getpid()), dir=place))
    except OSError as error:
        raise KitError(
            f"the sandbox has no folder for temporary files: {error}",
            place="TMPDIR, /tmp and /var/tmp",
            cure="free some space there, or set TMPDIR to a folder that you may write to",
        ) from None
    folder.chmod(0o755)
    return folder


def _sweep() -> None:
    """Remove the folders of processes that were killed before they could do so themselves."""
    for folder in _canaries("attn-*-*"):
        owner = folder.name.split("-")[1]
        if owner.isdecimal() and not Path("/proc", owner).exists():
            shutil.rmtree(folder, ignore_errors=True)  # another user's stays


def remove_canaries(pid: int) -> None:
    """Remove the canary folders that a process left behind when it was killed."""
    for folder in _canaries(f"{_prefix(pid)}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _canaries(pattern: str) -> tuple[Path, ...]:
    places = dict.fromkeys((tempfile.gettempdir(), *_OPEN_PLACES))
    return tuple(folder for place in places for folder in Path(place).glob(pattern))


def _prefix(pid: int) -> str:
    return f"attn-{pid}-"
