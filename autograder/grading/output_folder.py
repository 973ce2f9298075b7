"""Where results go: one folder for one class and one exercise, and the secret of its inputs."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
from pathlib import Path

from autograder.errors import KitError
from autograder.reports.files import write_whole

OWNER, SECRET, GRADES = "class.json", "input.secret", "grades.csv"
SECRET_BYTES = 32
_GROUP_MAY_WRITE = 0o020
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS)  # a file system without hard links


def claim_output(output: Path, graded: Path, exercise: str, *, named: bool) -> None:
    """Note in `output` whose results it holds; raise `KitError` when they are another class's.

    `named` is whether somebody chose the folder: then results of unknown origin are not overwritten.
    """
    owner = {"class": os.fsencode(graded.resolve()).decode("utf-8", "backslashreplace")}
    owner["exercise"] = exercise
    file = output / OWNER
    if file.exists():
        found = _read(file)
        if found != owner:
            raise _taken(output, f"{found.get('exercise')} of {found.get('class')}", exercise)
        return
    if named and (output / GRADES).exists():
        raise _taken(output, "nobody knows which class", exercise)
    write_whole(file, json.dumps(owner, indent=2) + "\n")


def _read(file: Path) -> dict[str, object]:
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, OSError):
        facts = None
    return facts if isinstance(facts, dict) else {}


def _taken(output: Path, whose: str, exercise: str) -> KitError:
    return KitError(
        f"this folder holds the results of another class or exercise ({whose}), which would be "
        "overwritten",
        place=str(output),
        cure=f"name another folder with --output, for example --output {output.name}-{exercise}",
    )


def input_secret(folder: Path) -> bytes:
    """Return the secret that hidden inputs are drawn from, made at the first time.

    With it a submission gets the same inputs at every regrade, and nobody else's. Raises `KitError`
    when it is damaged or cannot be kept.
    """
    file = folder / SECRET
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            _make(file)
        secret = file.read_bytes()
    except OSError as error:
        raise KitError(
            f"the secret that hidden inputs are drawn from cannot be kept: {error.strerror}",
            place=str(file),
            cure="make room, or let yourself write there; then run the same command again",
        ) from error
    if len(secret) != SECRET_BYTES:
        raise KitError(
            "the secret that hidden inputs are drawn from is damaged",
            place=str(file),
            cure="delete that file: a new one is made, and who is graded again gets other inputs",
        )
    return secret


def _make(file: Path) -> None:
    """Write a new secret, whole or not at all; who comes second gets FileExistsError."""
    if file.exists():
        raise FileExistsError(file)
    # Whoever may write the class's results may read it, and nobody else.
    shared = file.parent.stat().st_mode & _GROUP_MAY_WRITE
    partial = file.with_name(f"{file.name}.{os.getpid()}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
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
