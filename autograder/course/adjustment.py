"""What a course changes in an exercise: points, bonus steps that it leaves out, steps of its own.

Points and steps that are left out stand in `attn.toml`, in a table `[points.EXERCISE]`; steps of
the instructor's own are in the course's folder `own-steps/EXERCISE/`.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.errors import KitError
from autograder.grading.class_task import CONFIG
from autograder.grading.journal import exercise_hash, judging_hash
from autograder.submission.file_text import digest_of
from autograder.values.files import read_small, replace_file
from autograder.values.value_file import read_noted

POINTS = "points"
MOST_POINTS = 1000.0  # of one step
LEFT_OUT = "left out"  # in place of a step's points
OWN = "own-steps"  # the folder in a course
OWN_STEPS = "steps.toml"


@dataclass(frozen=True)
class Adjustment:
    """What a course changes in one exercise.

    points: of a step, in place of the exercise's. left_out: the steps that students do not get.
    own: the folder with steps of the instructor's own; None without.
    """

    points: Mapping[str, float] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    own: Path | None = None

    @property
    def facts(self) -> list[object]:
        """What it says of the exercise's steps, for a hash."""
        return [sorted(self.points.items()), sorted(self.left_out)]


def read_adjustments(
    facts: Mapping[str, Any], path: Path, exercises: Iterable[str]
) -> dict[str, Adjustment]:
    """Return what a course changes, by exercise, from the facts of its file at `path`.

    Raises `KitError` for a table that is not clear, or one about an exercise that is not there.
    """
    tables, known = facts.get(POINTS, {}), tuple(exercises)
    if not isinstance(tables, dict) or not all(isinstance(each, dict) for each in tables.values()):
        raise _unclear("[points] holds something else than tables of exercises", path)
    for name in tables:
        if name not in known:
            raise KitError(
                f"[points.{name}] is about an exercise that this course does not have",
                place=str(path),
                cure=f"use one of: {', '.join(known)}",
            )
    found = {name: _adjustment(name, tables.get(name, {}), path) for name in known}
    return {name: each for name, each in found.items() if each != Adjustment()}


def unread_steps(course: Path, exercises: Collection[str]) -> list[str]:
    """Return the folders of own steps of which no exercise of the course has the name."""
    folders = (path for path in (course / OWN).glob("[!.]*") if path.is_dir())
    return sorted(f"{OWN}/{path.name}" for path in folders if path.name not in exercises)


def _adjustment(exercise: str, table: Mapping[str, Any], path: Path) -> Adjustment:
    points = {step: value for step, value in table.items() if value != LEFT_OUT}
    for step, value in points.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (is_number and 0 <= value <= MOST_POINTS):
            raise _unclear(f"[points.{exercise}] gives {step} {value!r} points", path)
    own = path.parent / OWN / exercise
    # A folder with code and without a list of steps is meant as steps of one's own.
    if any(own.glob("*.py")) and not (own / OWN_STEPS).is_file():
        raise KitError(
            f"the folder has no {OWN_STEPS}, so its steps are not known",
            place=str(own),
            cure="write there the name, the title and the points of each step, in [[steps]]",
        )
    return Adjustment(
        {step: float(value) for step, value in points.items()},
        tuple(step for step, value in table.items() if value == LEFT_OUT),
        own if (own / OWN_STEPS).is_file() else None,
    )


def _unclear(fact: str, path: Path) -> KitError:
    cure = f'write [points.EXERCISE], and below it a line each: softmax = 3, or = "{LEFT_OUT}"'
    return KitError(fact, place=str(path), cure=f"{cure}; at most {MOST_POINTS:g}")


# What the kit wrote into a course, kept in the course's `.course/made/`.
#
# With it, a later kit can tell its own words from the instructor's. A course of an earlier
# version does not have it.

STATE = ".course"  # in a course: what the kit keeps there for itself
MADE = Path(STATE) / "made"
LARGEST_FILE = 1 << 26  # bytes of a file of an exercise
_LARGEST_FACTS = 1 << 20


@dataclass(frozen=True)
class KitCopy:
    """What the kit wrote about one exercise: the notebook, and the SHA-256 of every file.

    `exercise_hash` and `judging_hash` say what judged then, in full and without points and words.
    """

    notebook: NotebookNode
    files: dict[str, str] = field(default_factory=dict)
    exercise_hash: str = ""
    judging_hash: str = ""


def read_copy(course: Path, exercise: str) -> KitCopy | None:
    """Return what the kit wrote; None when that is not known. Raise `KitError` if damaged."""
    place, book = (course / MADE / f"{exercise}.{kind}" for kind in ("json", "ipynb"))

    def noted(facts: Mapping[str, Any]) -> KitCopy:
        files = {str(name): str(digest) for name, digest in facts["files"].items()}
        notebook = read_notebook(read_small(book, LARGEST_FILE), book)
        return KitCopy(notebook, files, str(facts["exercise_hash"]), str(facts["judging_hash"]))

    fault = "what the kit has noted about this course is damaged"
    cure = "remove that file; the kit then takes what differs from it for yours"
    return read_noted(place, _LARGEST_FACTS, noted, fault, cure)


def read_configuration(course: Path) -> str | None:
    """Return the `nbgrader_config.py` that the kit wrote; None when that is not known."""
    try:
        return read_small(course / MADE / CONFIG, _LARGEST_FACTS).decode("utf-8")
    except (FileNotFoundError, UnicodeDecodeError):
        return None


def read_own_configuration(course: Path) -> str | None:
    """Return the `nbgrader_config.py` that is there, None without one; raise `KitError`."""
    path = course / CONFIG
    try:
        return read_small(path, LARGEST_FILE).decode("utf-8")  # nbgrader's own is 90 kB of comments
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise KitError(
            f"{CONFIG} is not UTF-8: {error.reason}", place=str(path), cure="save it as UTF-8"
        ) from None


def copy_files(exercise: str, made: dict[str, bytes], solution: Path) -> dict[Path, bytes]:
    """Return the files, relative to the course, that note what the kit writes of an exercise.

    made: its files by their names; solution: the instructor's folder of it.
    """
    facts = {
        "files": {name: digest_of(content) for name, content in sorted(made.items())},
        "exercise_hash": exercise_hash(solution),
        "judging_hash": judging_hash(solution),
    }
    return {
        MADE / f"{exercise}.ipynb": made[f"{exercise}.ipynb"],
        MADE / f"{exercise}.json": (json.dumps(facts, indent=2) + "\n").encode(),
    }


def configuration_copy(text: str) -> dict[Path, bytes]:
    """Return the file that notes which `nbgrader_config.py` the kit writes."""
    return {MADE / CONFIG: text.encode("utf-8")}


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file of a course, "" when it is not there."""
    try:
        return digest_of(read_small(path, LARGEST_FILE))
    except (FileNotFoundError, NotADirectoryError):
        return ""


def read_notebook(content: bytes, place: Path) -> NotebookNode:
    """Return a notebook of the course; raise `KitError` when it is not one."""
    try:
        notebook: NotebookNode = nbformat.reads(content.decode("utf-8"), as_version=4)
        nbformat.validate(notebook)
    except Exception as error:  # a damaged file fails in any way
        raise KitError(
            f"{place.name} is not a notebook: {type(error).__name__}",
            place=str(place),
            cure="open it in JupyterLab and save it, or put an earlier version of it there",
        ) from None
    return notebook


# The files of an update: written down as a whole, then put in place; a kill loses nothing.
#
# All new files lie in `.course/update/` before the first one is put in place. A run that was
# stopped is finished by the next one, from there. What was in the course before is in
# `.course/backup/`.

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
            there = file_digest(self.course / name)
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
        facts[path.as_posix()] = (file_digest(course / path), digest_of(content))
        replace_file(part / _stored(digest_of(content)), content, _mode(course / path))
    manifest = {"files": facts, "exercises": list(exercises), "backup": backup.name}
    (part / _MANIFEST).write_text(json.dumps(manifest, indent=2), encoding="utf-8")
    shutil.rmtree(course / PENDING, ignore_errors=True)
    os.rename(part, course / PENDING)
    return PendingUpdate(course, facts, tuple(exercises), backup)


def pending_update(course: Path) -> PendingUpdate | None:
    """Return the update that was stopped before its end; None when there is none."""

    def noted(facts: Mapping[str, Any]) -> PendingUpdate:
        files = {str(name): (str(old), str(new)) for name, (old, new) in facts["files"].items()}
        backup = course / BACKUP / str(facts["backup"])
        return PendingUpdate(course, files, tuple(map(str, facts["exercises"])), backup)

    place, fault = (
        course / PENDING / _MANIFEST,
        "what is left of an update of this course is damaged",
    )
    cure = f"remove {course / PENDING}; then run the command again"
    return read_noted(place, _LARGEST_MANIFEST, noted, fault, cure)


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
