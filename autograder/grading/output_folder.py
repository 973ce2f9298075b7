"""Where results go: one folder for one class and one exercise, and the secret of its inputs."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
from pathlib import Path

from autograder.errors import KitError
from autograder.model.files import read_small, write_whole
from autograder.model.sanitize import terminal_line

OWNER, SECRET, GRADES = "class.json", "input.secret", "grades.csv"
SECRET_BYTES = 32
MOST_BYTES = 65_536  # of a file that holds two names, or a secret
_LONGEST_NAME = 300
_UNKNOWN = "nobody knows which class"
_GROUP_MAY_WRITE = 0o020
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS)  # a file system without hard links


def claim_output(output: Path, graded: Path, exercise: str, *, named: bool) -> None:
    """Note in `output` whose results it holds; raise `KitError` when they are another class's.

    `named` says whether somebody chose the folder: then results of unknown origin are not
    overwritten. A note that cannot be understood counts as another class's, and one that is not
    a plain file is refused.
    """
    owner = {"class": os.fsencode(graded.resolve()).decode("utf-8", "backslashreplace")}
    owner["exercise"] = exercise
    file = output / OWNER
    try:
        found = _read(file)
    except FileNotFoundError:
        pass
    else:
        if found != owner:
            raise _taken(output, _whose(found), exercise)
        return
    if named and (output / GRADES).exists():
        raise _taken(output, _UNKNOWN, exercise)
    write_whole(file, json.dumps(owner, indent=2) + "\n")


def _read(file: Path) -> dict[str, object]:
    try:
        facts = json.loads(read_small(file, MOST_BYTES).decode("utf-8"))
    except (ValueError, RecursionError):
        facts = None
    return facts if isinstance(facts, dict) else {}


def _whose(found: dict[str, object]) -> str:
    """Return whose results they are, as a line that is safe in a terminal."""
    exercise, graded = found.get("exercise"), found.get("class")
    if not isinstance(exercise, str) or not isinstance(graded, str):
        return _UNKNOWN
    return f"{terminal_line(exercise, _LONGEST_NAME)} of {terminal_line(graded, _LONGEST_NAME)}"


def _taken(output: Path, whose: str, exercise: str) -> KitError:
    return KitError(
        f"this folder holds the results of another class or exercise ({whose}), which would be "
        "overwritten",
        place=str(output),
        cure=f"name another folder with --output, for example --output {output.name}-{exercise}",
    )


def input_secret(folder: Path) -> bytes:
    """Return the secret that hidden inputs are drawn from; the first call makes it.

    With it, a submission gets the same inputs at every regrade, and nobody else's. Raises
    `KitError` when it is damaged, not a plain file, or cannot be stored.
    """
    file = folder / SECRET
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            _make(file)
        secret = read_small(file, MOST_BYTES)
    except OSError as error:
        raise KitError(
            f"the secret that hidden inputs are drawn from cannot be stored: {error.strerror}",
            place=str(file),
            cure="free some space, or give yourself the right to write there; then run the same "
            "command again",
        ) from error
    if len(secret) != SECRET_BYTES:
        raise KitError(
            "the secret that hidden inputs are drawn from is damaged",
            place=str(file),
            cure="delete that file: a new one is made, and students who are graded again get "
            "other inputs",
        )
    return secret


def _make(file: Path) -> None:
    """Write a new secret, whole or not at all; raise FileExistsError when there is one."""
    if file.exists():
        raise FileExistsError(file)
    # Only those who may write the class's results may read it.
    shared = file.parent.stat().st_mode & _GROUP_MAY_WRITE
    partial = file.with_name(f"{file.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)  # left by a killed run, or a link to elsewhere
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(secrets.token_bytes(SECRET_BYTES))
        partial.chmod(0o660 if shared else 0o600)
        os.link(partial, file)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
