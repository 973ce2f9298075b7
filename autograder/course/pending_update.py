"""The files of an update: written down as a whole, then put in place; a kill loses nothing.

All new files lie in `.course/update/` before the first one is put in place. A run that was stopped
is finished by the next one, from there. What was in the course before is in `.course/backup/`.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from autograder.course.kit_copy import LARGEST_FILE, STATE, digest
from autograder.errors import KitError
from autograder.model.files import read_small, replace_file

PENDING = Path(STATE) / "update"
BACKUP = Path(STATE) / "backup"
_UNFINISHED = ".part"
_MANIFEST = "update.json"
_LARGEST_MANIFEST = 1 << 24


@dataclass(frozen=True)
class PendingUpdate:
    """An update that is written down: what goes where, and which exercises' cells change.

    files: for each path, relative to the course, the SHA-256 before ("" if there was no file) and
    of the new file. backup: where the old files are.
    """

    course: Path
    files: Mapping[str, tuple[str, str]]
    exercises: tuple[str, ...]
    backup: Path

    def put_in_place(self) -> None:
        """Write every file that is not in place yet.

        Raise `KitError`, before anything is written, when one has been changed since.
        """
        left = []
        for name, (before, after) in self.files.items():
            there = _digest(self.course / name)
            if there not in (before, after):
                raise KitError(
                    f"{name} has changed since an update of this course was stopped",
                    place=str(self.course / name),
                    cure=f"put the file of {self.backup / name} back, or, to drop what is left of "
                    f"that update, remove {self.course / PENDING}; then run the command again",
                )
            left += [name] if there != after else []
        for name in left:
            target = self.course / name
            target.parent.mkdir(parents=True, exist_ok=True)
            content = read_small(self.course / PENDING / _stored(self.files[name][1]), LARGEST_FILE)
            replace_file(target, content, _mode(target))

    def finish(self) -> None:
        """Remove what was written down, when everything is in place."""
        done = self.course / f"{PENDING}{_UNFINISHED}"
        shutil.rmtree(done, ignore_errors=True)
        os.rename(self.course / PENDING, done)
        shutil.rmtree(done)


def write_down(
    course: Path,
    files: Mapping[Path, bytes],
    exercises: Sequence[str],
    save_more: Callable[[Path], None] = lambda folder: None,
) -> PendingUpdate:
    """Write an update down, and a backup of all that it changes; put nothing in place yet.

    `save_more` gets the folder of the backup, to add to it.
    """
    backup = _backup(course, files, save_more)
    part = course / f"{PENDING}{_UNFINISHED}"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    facts = {}
    for path, content in files.items():
        facts[path.as_posix()] = (_digest(course / path), digest(content))
        replace_file(part / _stored(digest(content)), content, _mode(course / path))
    manifest = {"files": facts, "exercises": list(exercises), "backup": backup.name}
    (part / _MANIFEST).write_text(json.dumps(manifest, indent=2), encoding="utf-8")
    shutil.rmtree(course / PENDING, ignore_errors=True)
    os.rename(part, course / PENDING)
    return PendingUpdate(course, facts, tuple(exercises), backup)


def pending_update(course: Path) -> PendingUpdate | None:
    """Return the update that was stopped before its end; None when there is none."""
    place = course / PENDING / _MANIFEST
    try:
        facts = json.loads(read_small(place, _LARGEST_MANIFEST))
        files = {str(name): (str(old), str(new)) for name, (old, new) in facts["files"].items()}
        backup = course / BACKUP / str(facts["backup"])
        return PendingUpdate(course, files, tuple(map(str, facts["exercises"])), backup)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise KitError(
            "what is left of an update of this course is damaged",
            place=str(place),
            cure=f"remove {course / PENDING}; then run the command again",
        ) from None


def _backup(course: Path, files: Mapping[Path, bytes], save_more: Callable[[Path], None]) -> Path:
    """Copy what is there now; the folder has its name only when it is complete."""
    stamp = datetime.now().strftime("%Y-%m-%d-%H%M%S")
    names = (stamp, *(f"{stamp}-{count}" for count in range(2, 1000)))
    target = next(p for name in names if not (p := course / BACKUP / name).exists())
    part = target.with_name(f"{target.name}{_UNFINISHED}")
    for left_by_a_killed_run in (course / BACKUP).glob(f"*{_UNFINISHED}"):
        shutil.rmtree(left_by_a_killed_run)
    part.mkdir(parents=True)
    for path in files:
        if (course / path).is_file():
            (part / path).parent.mkdir(parents=True, exist_ok=True)
            content = read_small(course / path, LARGEST_FILE)
            replace_file(part / path, content, _mode(course / path))
    save_more(part)
    os.rename(part, target)
    return target


def _stored(name: str) -> str:
    return f"{name}.new"


def _mode(path: Path) -> int | None:
    """Return who may read a file; there may be a password in it, and its copies are like it."""
    return stat.S_IMODE(path.stat().st_mode) if path.is_file() else None


def _digest(path: Path) -> str:
    try:
        return digest(read_small(path, LARGEST_FILE))
    except (FileNotFoundError, NotADirectoryError):
        return ""
