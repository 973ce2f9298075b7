"""Where results go: one folder for one class and one exercise, and the secret of its inputs."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from autograder.errors import KitError
from autograder.values.files import following, read_small, write_whole
from autograder.values.sanitize import terminal_line

OWNER, SECRET, GRADES = "class.json", "input.secret", "grades.csv"
SECRET_BYTES = 32
MOST_BYTES = 65_536  # of a file that holds two names, or a secret
_LONGEST_NAME = 300
OWN = "the class that this folder lies in or beside"
_UNKNOWN = "nobody knows which class"
_GROUP_MAY_WRITE = 0o020
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS)  # a file system without hard links


def claim_output(
    output: Path, graded: Path, exercise: str, *, named: bool, secret: Path
) -> str | None:
    """Note in `output` whose results it holds; raise `KitError` when they are another class's.

    Where nobody has `named` another place, results belong to the class that they lie in or beside,
    whatever it is called and wherever it has been moved. Elsewhere, the class is known by its path,
    and results of unknown origin are not overwritten. A note that cannot be understood counts as
    another class's, and one that is not a plain file is refused. Return a sentence when the class
    is a copy of one that is still there, with its `secret`.
    """
    place = _noted(output.resolve())
    whose = _noted(os.path.relpath(graded.resolve(), output.resolve())) if named else OWN
    owner = {"class": whose, "exercise": exercise, "place": place}
    file = output / OWNER
    try:
        found = _read(file)
    except FileNotFoundError:
        if named and (output / GRADES).exists():
            raise _taken(output, _UNKNOWN, owner) from None
        found = {}
    else:
        if not _is_of(found, owner, graded, output):
            raise _taken(output, _whose(found), owner)
    if found == owner:
        return None
    write_whole(file, json.dumps(owner, indent=2) + "\n")
    return _copy_words(found.get("place"), output, secret)


def class_of(output: Path) -> tuple[Path, str] | None:
    """Return the class and the exercise whose results `output` holds, as far as it says so.

    Of `graded/EXERCISE` in a course, that is the course; a folder beside its class says nothing.
    """
    try:
        facts = _read(output / OWNER)
    except (OSError, KitError):
        return None
    whose, exercise = facts.get("class"), facts.get("exercise")
    if not isinstance(whose, str) or not isinstance(exercise, str):
        return None
    if whose == OWN and output.parent.name != "graded":
        return None
    return (output.parents[1] if whose == OWN else output / whose).resolve(), exercise


def _noted(path: Path | str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _is_of(
    found: Mapping[str, object], owner: Mapping[str, str], graded: Path, output: Path
) -> bool:
    """Whether the results are those of a class and an exercise."""
    if found.get("exercise") != owner["exercise"]:
        return False
    if found.get("class") == owner["class"]:
        return True
    # Earlier versions noted where the class was, and nothing else; what lies in a course is its.
    inside = owner["class"] == OWN and output.resolve().is_relative_to(graded.resolve())
    return "place" not in found and (found.get("class") == _noted(graded.resolve()) or inside)


def _copy_words(before: object, output: Path, secret: Path) -> str | None:
    """Return what to know if the results were copied, and not moved, from the place `before`."""
    if not isinstance(before, str):
        return None
    own, other = secret / SECRET, Path(before, os.path.relpath(secret, output), SECRET)
    try:
        if own.samefile(other) or read_small(own, MOST_BYTES) != read_small(other, MOST_BYTES):
            return None
    except (OSError, ValueError, KitError):  # it was moved, or has another secret
        return None
    return (
        f"This class is a copy of the one with its results in {terminal_line(before, 300)}: both "
        "draw their hidden inputs from the same secret. If it is for other students, delete "
        f"{own} and grade with --again: a new one is made."
    )


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
    graded = "the class beside it" if graded == OWN else graded
    return f"{terminal_line(exercise, _LONGEST_NAME)} of {terminal_line(graded, _LONGEST_NAME)}"


def _taken(output: Path, whose: str, owner: Mapping[str, str]) -> KitError:
    other, note = f"{output.name}-{owner['exercise']}", {**owner}
    del note["place"]
    return KitError(
        f"this folder holds the results of another class or exercise ({whose}), which would be "
        "overwritten",
        place=str(output),
        cure=f"name another folder with --output, for example --output {other}; or, if it is this "
        f"class under another name, write into {OWNER} there: {json.dumps(note)}",
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


# One run at a time on one class: a second waits, and then finds everything judged.
#
# Two runs at once would judge twice and lay out the same notebooks over each other. The lock is
# the kernel's own on the folder of the class, so it leaves no file and no killed run keeps it.

WAITS = "another run is grading this class: waiting for it to finish"


@contextmanager
def class_lock(folder: Path, waits: Callable[[], None]) -> Iterator[None]:
    """Hold the class in `folder`; call `waits` first when another run holds it, and wait for it.

    What is made meanwhile can be used by all who share that folder.
    Raise OSError when the folder cannot be read or its file system has no locks.
    """
    if sys.platform == "win32":  # has no such lock, and no grading
        yield
        return
    import fcntl

    held = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waits()
            fcntl.flock(held, fcntl.LOCK_EX)
        with following(folder):
            yield
    finally:
        os.close(held)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end this process as an error does, so that nothing is left behind.

    Only in the main thread, and only where nobody else handles them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [getattr(signal, name) for name in names]
    ours = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: object) -> None:
    raise SystemExit(128 + number)
