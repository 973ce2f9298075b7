"""Putting what was collected where it is graded; nothing newer is overwritten, nothing is mixed."""

from __future__ import annotations

import enum
import filecmp
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from autograder.errors import KitError
from autograder.platforms.archive import cannot_be_written, scratch_folder
from autograder.platforms.collected_download import TIMESTAMP, CollectedDownload, CollectedHandIn
from autograder.platforms.csv_table import (
    BRIGHTSPACE,
    CANVAS,
    EMAIL,
    GITHUB,
    LOGIN,
    MOODLE,
    SIS,
    read_table,
)
from autograder.reports.grades_csv import cell, csv_text
from autograder.values.files import write_whole

_COLUMNS = (CANVAS, MOODLE, SIS, LOGIN, EMAIL, GITHUB, BRIGHTSPACE)


class Arrival(enum.StrEnum):
    """What became of a hand-in where it is graded."""

    NEW = "new"
    SAME = "there already, and the same"
    REPLACED = "in place of an earlier one"
    KEPT = "not taken: another hand-in is there, and nothing says that this one is later"
    NEWER = "not taken: a later hand-in is there"
    LINK = "not taken: what is there is a link or no folder"


TAKEN = (Arrival.NEW, Arrival.SAME, Arrival.REPLACED)


@dataclass(frozen=True)
class Destination:
    """Where hand-ins go: `folder_of` a student, below `root`.

    `moment_of` says when what lies in a folder was handed in. With `timestamps`, nbgrader's file is
    written where the moment is known. With `replace`, other hand-ins that are there give way.
    """

    root: Path
    folder_of: Callable[[str], Path]
    moment_of: Callable[[Path], datetime | None] = lambda _: None
    timestamps: bool = False
    replace: bool = False


def deliver(
    collection: CollectedDownload, destination: Destination
) -> tuple[tuple[CollectedHandIn, Arrival], ...]:
    """Write every hand-in to its folder, whole or not at all; say what became of each.

    Each is written as soon as it is unpacked, so a run that is ended leaves what is whole.

    Raise `KitError` when the folder cannot be written.
    """
    try:
        with scratch_folder(destination.root) as staging:
            return tuple(
                (each, _deliver(each, destination, staging)) for each in collection.hand_ins()
            )
    except OSError as error:
        raise cannot_be_written(destination.root, error) from error


def _deliver(hand_in: CollectedHandIn, destination: Destination, staging: Path) -> Arrival:
    target = destination.folder_of(hand_in.student)
    arrival = _arrival(hand_in, target, destination)
    if arrival not in (Arrival.NEW, Arrival.REPLACED):
        return arrival
    made = staging / "made"
    made.mkdir()
    for path, file in hand_in.files:
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file.place, made / path)
    if destination.timestamps and hand_in.handed_in:
        moment = hand_in.handed_in.astimezone(UTC)
        (made / TIMESTAMP).write_text(f"{moment:%Y-%m-%d %H:%M:%S.%f} UTC\n", encoding="utf-8")
    target.parent.mkdir(parents=True, exist_ok=True)
    if arrival is Arrival.REPLACED:
        old = staging / "old"
        os.replace(target, old)
        os.replace(made, target)
        shutil.rmtree(old)
    else:
        os.replace(made, target)
    return arrival


def _arrival(hand_in: CollectedHandIn, target: Path, destination: Destination) -> Arrival:
    on_the_way = [target, *target.parents]
    below = on_the_way[: on_the_way.index(destination.root)]
    if any(path.is_symlink() or (path.exists() and not path.is_dir()) for path in below):
        return Arrival.LINK
    if not target.exists() or not any(target.iterdir()):
        return Arrival.NEW
    if _same(hand_in, target):
        return Arrival.SAME
    there = destination.moment_of(target)
    if there and hand_in.handed_in and hand_in.handed_in != there:
        newer = hand_in.handed_in > there
        return Arrival.REPLACED if newer or destination.replace else Arrival.NEWER
    return Arrival.REPLACED if destination.replace else Arrival.KEPT


def _same(hand_in: CollectedHandIn, folder: Path) -> bool:
    """Whether a folder holds just these files, apart from the time stamp."""
    files = {path: file.place for path, file in hand_in.files}
    found = {
        PurePosixPath(path.relative_to(folder).as_posix()): path
        for path in folder.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }
    found.pop(PurePosixPath(TIMESTAMP), None)
    files.pop(PurePosixPath(TIMESTAMP), None)
    return found.keys() == files.keys() and all(
        not found[path].is_symlink() and filecmp.cmp(found[path], files[path], shallow=False)
        for path in files
    )


def write_collected(
    path: Path, delivered: Sequence[tuple[CollectedHandIn, Arrival]], platform: str
) -> Path:
    """Write who is who to a CSV file, which `--roster` reads; return `path`.

    Rows of an earlier download about others stay. Raise `KitError` when the file is another one.
    """
    head = ["student_id", "name", *_COLUMNS, "platform", "handed_in", "late", "files", "arrival"]
    rows = [
        [
            each.student,
            each.person.name,
            *(each.person.one(kind) for kind in _COLUMNS),
            platform,
            f"{each.handed_in:%Y-%m-%d %H:%M:%S} UTC" if each.handed_in else "",
            "late" if each.late else "",
            "; ".join(str(path) for path, _ in each.files),
            arrival.value,
        ]
        for each, arrival in delivered
    ]
    write_whole(path, _csv([head, *_earlier(path, head, {row[0] for row in rows}), *rows]))
    return path


def _earlier(path: Path, head: list[str], now: set[str]) -> list[list[str]]:
    """Return the rows of the file that is there, without those of the students of `now`."""
    if not path.exists():
        return []
    table = read_table(path)
    own = set(table.headings) <= set(head)  # an older list may have fewer columns
    if not own or table.headings[:1] != (head[0],) or "arrival" not in table.headings:
        raise KitError(
            f"{path.name} is there already, and is no list of an earlier download",
            place=str(path),
            cure="move it elsewhere, and run the same command again",
        )
    at = [table.headings.index(name) if name in table.headings else None for name in head]
    rows = [
        ["" if number is None else table.value(row, number) for number in at]
        for row in table.rows[1:]
    ]
    return [row for row in rows if row[0] not in now]


def write_not_taken(path: Path, collection: CollectedDownload) -> Path:
    """Write everything that was not taken to a CSV file, each with its reason; return `path`."""
    rows = [[each.name, each.reason] for each in collection.left_out]
    for one in collection.unresolved:
        reason = f"{one.person.name}: {one.reason}"
        rows += [["/".join(parts), reason] for parts in one.files]
    write_whole(path, _csv([["file", "reason"], *rows]))
    return path


def _csv(rows: Sequence[Sequence[str]]) -> str:
    return csv_text([cell(value) for value in row] for row in rows)
