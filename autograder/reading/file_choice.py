"""Which of several files counts: the first that holds work, notebooks before scripts."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from autograder.errors import KitError
from autograder.exercise import Exercise
from autograder.plain import file_name
from autograder.reading.absence import written
from autograder.reading.code import Code, read_code
from autograder.reading.file_text import Unreadable, bare, is_notebook, is_submission

# Of a folder: so many of its notebooks and scripts are read, and so many entries looked at.
MOST_FILES, MOST_ENTRIES = 10, 10_000
_NO_MORE_FILES = (errno.EMFILE, errno.ENFILE)


def chosen(paths: Sequence[Path], exercise: Exercise) -> Code:
    """Return the code that counts of what one student handed in; raise `Unreadable`.

    Raise `KitError` when this machine lets the process open no more files.
    """
    for path in paths:
        if path.is_symlink():
            raise Unreadable(f"{file_name(path)} is a link: hand in the file itself.")
    if len(paths) == 1 and not paths[0].is_dir():
        return _read(paths[0], exercise)
    files = _candidates(paths, exercise)
    readable: list[Code] = []
    reasons: list[Unreadable] = []
    for file in files[:MOST_FILES]:
        try:
            readable.append(_read(file, exercise))
        except Unreadable as reason:
            reasons.append(reason)
    if not readable:
        raise reasons[0] if reasons else Unreadable(_nothing(paths[0], exercise))
    worked = [code for code in readable if written(code.cells, exercise)]
    code = (worked or readable)[0]
    remarks = _remarks(code, worked, reasons, paths, exercise)
    if len(files) > MOST_FILES:
        remarks.append(
            f"You handed in {len(files)} notebooks and .py files, and only {MOST_FILES} of them "
            "were read: hand in the one that counts."
        )
    return Code(code.file, code.cells, (*remarks, *code.remarks), code.not_run)


def cannot_be_opened(path: Path, error: OSError) -> Unreadable:
    """Return why `path` cannot be opened; raise `KitError` when that is the machine's fault."""
    reason = error.strerror or "the system gives no reason"
    if error.errno in _NO_MORE_FILES:
        raise KitError(
            f"no more files can be opened: {reason}",
            place=file_name(path),
            cure="allow more open files (`ulimit -n 4096`), then run the same command again",
        ) from error
    return Unreadable(f"{file_name(path)} cannot be opened: {reason}. Hand it in again.")


def _read(file: Path, exercise: Exercise) -> Code:
    """Read one file; raise `Unreadable`, whatever keeps it from being read."""
    try:
        return read_code(file, exercise)
    except (Unreadable, KitError):
        raise
    except OSError as error:
        raise cannot_be_opened(file, error) from error
    except Exception as error:  # what it holds is hostile, perhaps; it costs its owner only
        raise Unreadable(
            f"{file_name(file)} could not be read: there is something in it that the grader "
            "cannot take in, such as code that is nested very deep. Leave out what is not an "
            "answer and hand it in again."
        ) from error


def _remarks(
    code: Code,
    worked: Sequence[Code],
    reasons: Iterable[Unreadable],
    paths: Sequence[Path],
    exercise: Exercise,
) -> list[str]:
    name = file_name(code.file)
    remarks = [f"{reason} Until then, {name} counts." for reason in reasons]
    if len(worked) > 1:
        others = ", ".join(file_name(other.file) for other in worked[1:])
        remarks.append(f"{name} counts; there is work in {others} too, which was not read.")
    if len(paths) == 1 and code.file.stem.lower() != exercise.name:
        expected = f"{exercise.name}{'.ipynb' if is_notebook(code.file) else '.py'}"
        remarks.append(
            f"{name} was read; {expected} is not there. Keep that name when you hand in."
        )
    return remarks


def _candidates(paths: Sequence[Path], exercise: Exercise) -> list[Path]:
    """Notebooks first, and those with the exercise's own name first of all."""
    files = [file for path in paths for file in (_entries(path) if path.is_dir() else [path])]
    files = [file for file in files if is_submission(file) and not file.name.startswith(".")]

    def order(file: Path) -> tuple[bool, bool, str]:
        return bare(file).stem != exercise.name, not is_notebook(file), file.name

    return sorted(files, key=order)


def _entries(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        names = [entry.name for entry in islice(entries, MOST_ENTRIES + 1)]
    if len(names) > MOST_ENTRIES:
        raise Unreadable(
            f"{file_name(folder)} holds more than {MOST_ENTRIES} files: hand in the one that counts."
        )
    return [folder / name for name in names]


def _nothing(folder: Path, exercise: Exercise) -> str:
    return (
        f"There is no notebook and no .py file in {file_name(folder)}: "
        f"hand in {exercise.name}.ipynb or {exercise.name}.py."
    )
