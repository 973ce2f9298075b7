"""From a download to a folder for each student: whose, which files, and what was not taken."""

from __future__ import annotations

import re
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from autograder.model.sanitize import clean_line
from autograder.platforms.archive import (
    LeftOut,
    Unpacked,
    holds_repositories,
    names_in,
    opened_zip,
    scratch_folder,
    unpacked,
)
from autograder.platforms.class_list import ClassList
from autograder.platforms.download_layout import (
    METADATA,
    DownloadLayout,
    Placed,
    Platform,
    recognised,
)
from autograder.platforms.gradescope_metadata import LARGEST, read_metadata
from autograder.platforms.hand_in_files import TIMESTAMP, Delivered, Laid, laid_out
from autograder.platforms.identity import CANVAS, GITHUB, MOODLE, STUDENT, Identity
from autograder.platforms.zip_entry import Parts, parts_of

TYPED = "it was typed into the platform: ask for a file"
NOBODYS = "its name does not say whose it is"
# What an id must not be: no name of a folder, or one that grading takes for something else.
NO_ID = re.compile(
    r"[/\\\x00-\x1f\x7f]|^[.~-]|^\s|\s$|~[0-9a-f]{32}$|\.(?:csv|ipynb|md|py|toml|txt|zip)$", re.I
)
_LONGEST_ID = 100


@dataclass(frozen=True)
class CollectedHandIn:
    """What one student handed in: the id in the course, who that is on the platform, the files."""

    student: str
    person: Identity
    laid: Laid
    handed_in: datetime | None = None
    late: bool = False


@dataclass(frozen=True)
class Unresolved:
    """Somebody on the platform of whom it is not known which student that is, and why."""

    person: Identity
    reason: str
    files: tuple[Parts, ...]


@dataclass(frozen=True)
class CollectedDownload:
    """All that is in a download: who handed in what, and what could not be taken.

    `empty` are those of whom nothing was taken. Of work that is `too_large`, what came before the
    limit was taken.
    """

    platform: Platform
    hand_ins: tuple[CollectedHandIn, ...]
    unresolved: tuple[Unresolved, ...]
    left_out: tuple[LeftOut, ...]
    empty: tuple[Identity, ...] = ()
    too_large: tuple[tuple[Identity, LeftOut], ...] = ()


@dataclass
class _Owner:
    """What one owner has in the download, before it is known which student that is."""

    placed: Placed
    files: list[Delivered]


@contextmanager
def collected(
    path: Path,
    roster: ClassList | None,
    platform: Platform | None,
    exercise: str | None,
    root: Path,
) -> Iterator[CollectedDownload]:
    """Unpack the download at `path`, below `root`, for as long as the body runs.

    Raise `KitError` when it cannot be read, or `root` not be written.

    Without a `roster`, the platform's names become the ids.
    """
    with opened_zip(path) as archive:
        repositories = holds_repositories(archive)
        layout = recognised(names_in(archive), platform, repositories=repositories)
        moments: Mapping[str, datetime] = {}
        if layout.platform is Platform.GRADESCOPE:
            metadata = read_metadata(_metadata(archive, layout))
            layout, moments = replace(layout, people=metadata.people), metadata.handed_in
        with scratch_folder(root) as scratch:
            found = unpacked(archive, layout.owner_of, scratch)
            yield _collection(layout, found, roster, moments, exercise)


def _metadata(archive: zipfile.ZipFile, layout: DownloadLayout) -> bytes:
    wanted = (*layout.outer, METADATA)
    for info in archive.infolist():
        if parts_of(info) == wanted and info.file_size <= LARGEST:
            with archive.open(info) as stream:
                return stream.read(LARGEST)
    return b"{}"  # --platform gradescope, for folders without it


def _collection(
    layout: DownloadLayout,
    found: Unpacked,
    roster: ClassList | None,
    moments: Mapping[str, datetime],
    exercise: str | None,
) -> CollectedDownload:
    owners, left_out = _by_owner(layout, found)
    people = [person for owner in owners for person in owner.placed.people]
    ids = _ids_from_names(people) if roster is None else {}
    hand_ins: list[CollectedHandIn] = []
    unresolved: list[Unresolved] = []
    numbered = layout.platform is Platform.CANVAS
    # On a platform, a student hands in the files, and does not say when. A folder is a teacher's.
    reserved = () if layout.platform is Platform.PLAIN else (TIMESTAMP,)
    for owner in owners:
        laid = laid_out(owner.files, exercise, numbered=numbered, reserved=reserved)
        left_out += [LeftOut(file.parts, reason) for file, reason in laid.replaced]
        moment = moments.get(owner.placed.owner)
        for person in owner.placed.people:
            student, reason = _student(person, roster, ids)
            if student:
                late = owner.placed.late
                hand_ins.append(CollectedHandIn(student, person, laid, moment, late))
            else:
                files = tuple(each.file.parts for each in owner.files)
                unresolved.append(Unresolved(person, reason, files))
    once, twice = _one_each(hand_ins)
    left_out = [*found.left_out, *found.ended.values(), *left_out]
    empty = _empty(layout, left_out, owners)
    unknown = (*unresolved, *twice)
    return CollectedDownload(
        layout.platform, once, unknown, tuple(left_out), empty, _too_large(layout, found)
    )


def _too_large(layout: DownloadLayout, found: Unpacked) -> tuple[tuple[Identity, LeftOut], ...]:
    """Return whose work went beyond a limit, and where."""
    ended = ((layout.placed(each.parts), each) for each in found.ended.values())
    return tuple((person, each) for placed, each in ended if placed for person in placed.people)


def _by_owner(layout: DownloadLayout, found: Unpacked) -> tuple[list[_Owner], list[LeftOut]]:
    owners: dict[str, _Owner] = {}
    left_out = []
    for file in found.files:
        placed = layout.placed(file.parts)
        if placed is None or placed.typed:
            listing = layout.lists_others(file.parts)
            reason = "it says who handed in what" if listing else TYPED if placed else NOBODYS
            left_out.append(LeftOut(file.parts, reason))
            continue
        owner = owners.setdefault(placed.owner, _Owner(placed, []))
        owner.files.append(Delivered(file, placed.inner, placed.newer, placed.attempt))
        if placed.late and not owner.placed.late:
            owner.placed = replace(owner.placed, late=True)
    return list(owners.values()), left_out


def _empty(
    layout: DownloadLayout, left_out: Sequence[LeftOut], owners: Sequence[_Owner]
) -> tuple[Identity, ...]:
    """Return who has something in the download of which nothing at all was taken."""
    there = {owner.placed.owner for owner in owners}
    lost: dict[str, tuple[Identity, ...]] = {}
    for each in left_out:
        placed = layout.placed(each.parts)
        if placed and placed.owner not in there and not _noise(each):
            lost[placed.owner] = placed.people
    return tuple(person for people in lost.values() for person in people)


def _noise(left_out: LeftOut) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in left_out.parts)


def _student(person: Identity, roster: ClassList | None, ids: Mapping[int, str]) -> tuple[str, str]:
    """Return the id of a student, or "" and why there is none."""
    if roster is None:
        return ids[id(person)], ""
    found = roster.find(person)
    if found.student and (NO_ID.search(found.student) or len(found.student) > _LONGEST_ID):
        shown = clean_line(found.student, 60)
        return "", f"the id {shown!r} in the list cannot be the name of a folder"
    return found.student, found.reason


def _one_each(
    hand_ins: Sequence[CollectedHandIn],
) -> tuple[tuple[CollectedHandIn, ...], tuple[Unresolved, ...]]:
    """Return those whose student nobody else is; two of one student are told, not mixed."""
    by_student: dict[str, list[CollectedHandIn]] = {}
    for each in hand_ins:
        by_student.setdefault(each.student.casefold(), []).append(each)
    once: list[CollectedHandIn] = []
    twice: list[Unresolved] = []
    for same in by_student.values():
        dated = sorted(
            (each for each in same if each.handed_in), key=lambda each: str(each.handed_in)
        )
        if len(same) == 1 or (len(dated) == len(same) and len({e.student for e in same}) == 1):
            *others, last = dated or same
            once.append(last)
            reason = "the same student has handed in later"
        else:
            others, reason = same, f"several in the download would be {same[0].student}"
        for each in others:
            files = tuple(file.parts for _, file in each.laid.files)
            twice.append(Unresolved(each.person, reason, files))
    return tuple(once), tuple(twice)


def _ids_from_names(people: Sequence[Identity]) -> dict[int, str]:
    """Return an id for each person, made of the name; the platform's number tells equals apart."""
    plain = {id(person): _plain_id(person) for person in people}
    count: dict[str, set[str]] = {}
    for person in people:
        count.setdefault(plain[id(person)].casefold(), set()).add(_number_of(person))
    return {
        id(person): plain[id(person)]
        if len(count[plain[id(person)].casefold()]) == 1
        else f"{plain[id(person)]}_{_number_of(person) or 'x'}"[:_LONGEST_ID]
        for person in people
    }


def _plain_id(person: Identity) -> str:
    """Return letters and digits of a name in small letters, "_" for all that lies between."""
    named = STUDENT in person.identifiers or GITHUB in person.identifiers
    kept = re.fullmatch(r"[A-Za-z0-9](?:[\w.@+-]{0,60}\w)?", person.name)
    if named and kept and not NO_ID.search(person.name):
        return person.name  # a folder is named after its student; "a-1" and "a_1" are two
    folded = unicodedata.normalize("NFKD", person.name[:200]).encode("ascii", "ignore").decode()
    words = re.findall(r"[a-z0-9]+", folded.lower())
    if not words:
        words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", person.name[:40]).casefold())
    return "_".join(words)[:60].strip("_") or "student"


def _number_of(person: Identity) -> str:
    """Return what tells a person from another of the same name."""
    numbers = [person.one(kind) for kind in (CANVAS, MOODLE, *person.identifiers)]
    found = next(filter(None, numbers), "")
    return re.sub(r"[^a-z0-9]+", "_", found).strip("_") or clean_line(person.name, 40)
