"""From a download to a folder for each student: whose, which files, and what was not taken."""

from __future__ import annotations

import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from autograder.errors import KitError
from autograder.platforms.archive import (
    LeftOut,
    Parts,
    Unpacked,
    UnpackedFile,
    common_length,
    holds_repositories,
    names_in,
    opened_zip,
    parts_of,
    scratch_folder,
    unpacked,
)
from autograder.platforms.csv_table import (
    CANVAS,
    EMAIL,
    GITHUB,
    MOODLE,
    SIS,
    STUDENT,
    ClassList,
    Identity,
)
from autograder.platforms.download_layout import METADATA, DownloadLayout, Platform, recognised
from autograder.submission.file_text import bare, is_submission
from autograder.values.sanitize import UNSEEN, clean_line

# Which of a student's files lie where in the folder that is graded.
#
# The grader reads what lies at the top of a student's folder (`submission/file_choice.py`), and a
# file named after the exercise counts before others. So a folder around everything is left out,
# and where no hand-in lies at the top, those that lie nearest to it are put there.

_AGAIN = re.compile(r"(?P<stem>.+)-(?P<number>\d{1,4})")
_MOST_BYTES = 150
TIMESTAMP = "timestamp.txt"  # nbgrader's file beside a hand-in


@dataclass(frozen=True)
class Delivered:
    """A file of a student's: its content, its path in what was handed in, and how new it is.

    The `attempt` that it belongs to sorts by its moment, "" where the platform has none.
    """

    file: UnpackedFile
    inner: Parts
    newer: int = 0
    attempt: str = ""


LaidFiles = tuple[tuple[PurePosixPath, UnpackedFile], ...]  # where each goes in the folder


def laid_out(
    delivered: Sequence[Delivered],
    exercise: str | None,
    *,
    numbered: bool = False,
    reserved: Iterable[str] = (),
) -> tuple[LaidFiles, list[LeftOut]]:
    """Return where the files of one student go, and those that a later one takes the place of.

    `numbered` says that the platform adds `-1` to the name of such a file, as Canvas does.
    Elsewhere, such a name is the student's own. `reserved` are names that no file gets.
    """
    kept, replaced = _last_attempt(delivered)
    if numbered:
        kept, replaced = _latest(kept, exercise)
    common = common_length([each.inner[:-1] for each in kept])
    inner = {id(each): _names(each.inner[common:]) for each in kept}
    wanted = [each for each in kept if _counts(inner[id(each)], exercise)]
    wanted = wanted or [each for each in kept if _counts(inner[id(each)], None)]
    nearest = min((len(inner[id(each)]) for each in wanted), default=1)
    if nearest > 1:
        for each in wanted:
            if len(inner[id(each)]) == nearest:
                inner[id(each)] = inner[id(each)][-1:]
    places = _Places(reserved)
    files = tuple((places.free(inner[id(each)]), each.file) for each in kept)
    return files, replaced


def _last_attempt(delivered: Sequence[Delivered]) -> tuple[list[Delivered], list[LeftOut]]:
    """Return the files of the last attempt with a hand-in in it, and of those after it."""
    work = [each.attempt for each in delivered if is_submission(Path(each.inner[-1]))]
    last = max(work, default="")
    older = [each.file.parts for each in delivered if each.attempt < last]
    replaced = [LeftOut(parts, "a later attempt counts") for parts in older]
    return [each for each in delivered if each.attempt >= last], replaced


def _latest(
    delivered: Sequence[Delivered], exercise: str | None
) -> tuple[list[Delivered], list[LeftOut]]:
    """Return the files with the names that they were handed in under; of each, the newest."""
    names = {each.inner for each in delivered}
    by_name: dict[Parts, list[Delivered]] = {}
    for each in delivered:
        by_name.setdefault(_first_name(each.inner, names, exercise), []).append(each)
    kept: list[Delivered] = []
    replaced: list[LeftOut] = []
    for inner, versions in by_name.items():
        *older, last = sorted(versions, key=lambda each: (each.newer, _number(each.inner)))
        kept.append(Delivered(last.file, inner, last.newer))
        reason = f"{last.file.parts[-1]} was handed in later"
        replaced += [LeftOut(each.file.parts, reason) for each in older]
    return kept, replaced


def _first_name(inner: Parts, names: Iterable[Parts], exercise: str | None) -> Parts:
    """Return the name without the `-1` that Canvas adds when a file is handed in again."""
    if len(inner) != 1:
        return inner
    file = Path(inner[0])
    found = _AGAIN.fullmatch(bare(file).stem)
    if found is None or not is_submission(file):
        return inner
    first = (found["stem"] + bare(file).suffix,)
    return first if found["stem"] == exercise or first in names else inner


def _number(inner: Parts) -> int:
    found = _AGAIN.fullmatch(bare(Path(inner[-1])).stem)
    return int(found["number"]) if found else 0


def _counts(inner: Parts, exercise: str | None) -> bool:
    file = Path(inner[-1])
    return is_submission(file) and exercise in (None, bare(file).stem)


def _names(inner: Parts) -> Parts:
    return tuple(safe_name(part) for part in inner)


def safe_name(name: str) -> str:
    """Return a name of one file or folder that any disk keeps, with its suffix."""
    clean = "".join(
        "_" if letter in '/\\:*?"<>|' or unicodedata.category(letter) in (*UNSEEN, "Cs") else letter
        for letter in name
    ).strip(" ")
    clean = f"_{clean}" if clean.startswith((".", "-")) or not clean else clean
    path = PurePosixPath(clean)
    short = path.stem.encode("utf-8")[:_MOST_BYTES].decode("utf-8", "ignore")
    return short + path.suffix.encode("utf-8")[:20].decode("utf-8", "ignore")


class _Places:
    """The paths of one hand-in: no two are the same, also where small and large letters are.

    `reserved` are names that no file gets. Thousands of files of one name take no longer than
    others.
    """

    def __init__(self, reserved: Iterable[str]) -> None:
        self.taken = set(reserved)
        self.numbers: Counter[str] = Counter()
        self.folders: dict[str, PurePosixPath] = {}

    def free(self, inner: Parts) -> PurePosixPath:
        """Return a path for a file; a folder that has the name of a file gets another one."""
        folder = PurePosixPath()
        for name in inner[:-1]:
            key = str(folder / name).casefold()
            if key not in self.folders:
                self.folders[key] = self._unlike_others(folder / name)
            folder = self.folders[key]
        return self._unlike_others(folder / inner[-1])

    def _unlike_others(self, wanted: PurePosixPath) -> PurePosixPath:
        path, key = wanted, str(wanted).casefold()
        while str(path).casefold() in self.taken:
            self.numbers[key] += 1
            path = wanted.with_name(f"{wanted.stem}~{self.numbers[key] + 1}{wanted.suffix}")
        self.taken.add(str(path).casefold())
        return path


# Who handed in what, and when, as Gradescope's export says it in submission_metadata.yml.
#
# Gradescope writes it with Ruby: a folder's name, then `:submitters:` with `:name:`, `:sid:` and
# `:email:` each, and `:created_at:`. Of several people each has handed in the same.

LARGEST = 64 * 1024 * 1024


def read_metadata(
    content: bytes,
) -> tuple[Mapping[str, tuple[Identity, ...]], Mapping[str, datetime]]:
    """Return by folder the people, and the moment in UTC where it is known.

    Raise `KitError` when the file is not what Gradescope writes.
    """
    import yaml  # type: ignore[import-untyped]  # comes with nbgrader

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """Reads the objects of Ruby as the plain mappings that they are written as."""

    Loader.add_multi_constructor("!ruby/", _plain_value)
    try:
        facts = yaml.load(content.decode("utf-8"), Loader=Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _wrong(type(error).__name__) from None
    if not isinstance(facts, dict):
        raise _wrong("it is no list of submissions")
    people: dict[str, tuple[Identity, ...]] = {}
    moments: dict[str, datetime] = {}
    for folder, entry in facts.items():
        entry = entry if isinstance(entry, dict) else {}
        submitters = entry.get(":submitters")
        found = submitters if isinstance(submitters, list) else []
        people[str(folder)] = tuple(_person(one) for one in found if isinstance(one, dict))
        moment = _moment(entry.get(":created_at"))
        if moment:
            moments[str(folder)] = moment
    return people, moments


def _plain_value(loader: Any, suffix: str, node: Any) -> Any:
    if hasattr(node, "value") and node.id == "mapping":
        return loader.construct_mapping(node)
    return loader.construct_scalar(node) if node.id == "scalar" else None


def _person(facts: Mapping[str, Any]) -> Identity:
    name, sid, email = (str(facts.get(key) or "") for key in (":name", ":sid", ":email"))
    return Identity.of(name or email or sid, **{SIS: sid, EMAIL: email})


def _moment(value: object) -> datetime | None:
    if isinstance(value, dict):  # a time with its zone
        value = value.get("utc") or value.get("time")
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date) or not isinstance(value, str):
        return None
    try:
        read = datetime.fromisoformat(value)
    except ValueError:
        return None
    return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)


def _wrong(why: str) -> KitError:
    return KitError(
        f"submission_metadata.yml cannot be read: {why}",
        place="in the download from Gradescope",
        cure="export the submissions again; with --platform plain, the folders' names count",
    )


TYPED = "it was typed into the platform: ask for a file"
NOBODYS = "its name does not say whose it is"
# What an id must not be: no name of a folder, or one that grading takes for something else.
NO_ID = re.compile(
    r"[/\\\x00-\x1f\x7f]|^[.~-]|^\s|\s$|~[0-9a-f]{32}$|\.(?:csv|ipynb|md|py|toml|txt|zip)$", re.I
)
_LONGEST_ID = 200  # bytes: a file that is named after it may have a longer name


@dataclass(frozen=True)
class CollectedHandIn:
    """What one student handed in: the id in the course, who that is on the platform, the files."""

    student: str
    person: Identity
    files: LaidFiles
    handed_in: datetime | None = None
    late: bool = False


@dataclass(frozen=True)
class Unresolved:
    """Somebody on the platform of whom it is not known which student that is, and why."""

    person: Identity
    reason: str
    files: tuple[Parts, ...]


@contextmanager
def collected(
    path: Path,
    roster: ClassList | None,
    platform: Platform | None,
    exercise: str | None,
    root: Path,
) -> Iterator[CollectedDownload]:
    """Open the download at `path`; what is unpacked lies below `root`, while the body runs.

    Without a `roster`, the platform's names become the ids. Raise `KitError` when it cannot be
    read, or `root` not be written.
    """
    with opened_zip(path) as archive:
        repositories = holds_repositories(archive)
        names = names_in(archive)
        layout = recognised(names, platform, repositories=repositories)
        moments: Mapping[str, datetime] = {}
        if layout.platform is Platform.GRADESCOPE:
            people, moments = read_metadata(_metadata(archive, layout))
            layout = replace(layout, people=people)
        with scratch_folder(root) as scratch:
            found = unpacked(archive, layout.owner_of, scratch)
            members = _members(layout, names, roster)
            yield CollectedDownload(layout, members, moments, exercise, found)


def _metadata(archive: zipfile.ZipFile, layout: DownloadLayout) -> bytes:
    wanted = (*layout.outer, METADATA)
    for info in archive.infolist():
        if parts_of(info) == wanted and info.file_size <= LARGEST:
            with archive.open(info) as stream:
                return stream.read(LARGEST)
    return b"{}"  # --platform gradescope, for folders without it


@dataclass(frozen=True)
class _Member:
    """Somebody with a name in the download, and the id in the course; "" and why there is none."""

    person: Identity
    student: str
    reason: str


def _members(
    layout: DownloadLayout, names: Iterable[Parts], roster: ClassList | None
) -> dict[str, tuple[_Member, ...]]:
    """Return who is behind each owner, by the names alone: before anything is unpacked."""
    owners: dict[str, tuple[Identity, ...]] = {}
    for parts in names:
        placed = layout.placed_with_content(parts)
        if placed and not placed.typed:
            owners.setdefault(placed.owner, placed.people)
    ids = {} if roster else _ids_from_names([each for people in owners.values() for each in people])
    return {
        owner: tuple(_Member(each, *_student(each, roster, ids)) for each in people)
        for owner, people in owners.items()
    }


class CollectedDownload:
    """A download on its way to the folders: who handed in what, and what could not be taken.

    `left_out`, and what else was not taken, is whole when all of `hand_ins` have been given.
    `empty` are those of whom nothing was taken. Of work that is `too_large`, what came before the
    limit was taken.
    """

    def __init__(
        self,
        layout: DownloadLayout,
        members: Mapping[str, tuple[_Member, ...]],
        moments: Mapping[str, datetime],
        exercise: str | None,
        found: Iterator[Unpacked],
    ) -> None:
        self.platform = layout.platform
        self.unresolved: list[Unresolved] = []
        self.left_out: list[LeftOut] = []
        self.empty: tuple[Identity, ...] = ()
        self.too_large: list[tuple[Identity, LeftOut]] = []
        self._layout, self._members, self._found = layout, members, found
        self._moments, self._exercise = moments, exercise

    def hand_ins(self) -> Iterator[CollectedHandIn]:
        """Unpack one owner after the other, and give each hand-in as soon as it is whole.

        Its files are there until the next is asked for. Where several may be of one student, it is
        known at the end which of them counts.
        """
        everybody = (each for members in self._members.values() for each in members)
        several = Counter(each.student.casefold() for each in everybody)
        there, waiting = set[str](), list[CollectedHandIn]()
        for found in self._found:
            files, late = self._taken(found)
            made = self._made(found.owner, files, late) if files else []
            there |= {found.owner} if files else set()
            alone = [each for each in made if several[each.student.casefold()] == 1]
            yield from alone
            waiting += [each for each in made if each not in alone]
            if len(alone) == len(made):
                found.remove()
        once, twice = _one_each(waiting)
        self.unresolved += twice
        self.empty = _empty(self._layout, self.left_out, there)
        yield from once

    def _taken(self, found: Unpacked) -> tuple[list[Delivered], bool]:
        """Return what an owner has handed in, and whether it was late; list all else."""
        self.left_out += found.left_out
        if found.ended:
            self.left_out.append(found.ended)
            people = (each.person for each in self._members.get(found.owner, ()))
            self.too_large += [(person, found.ended) for person in people]
        files, late = list[Delivered](), False
        for file in found.files:
            placed = self._layout.placed(file.parts)
            if placed and not placed.typed:
                files.append(Delivered(file, placed.inner, placed.newer, placed.attempt))
                late |= placed.late
                continue
            listing = self._layout.lists_others(file.parts)
            reason = "it says who handed in what" if listing else TYPED if placed else NOBODYS
            self.left_out.append(LeftOut(file.parts, reason))
        return files, late

    def _made(self, owner: str, files: Sequence[Delivered], late: bool) -> list[CollectedHandIn]:
        """Return what everybody of an owner has handed in, and list of whom it is not known."""
        numbered = self.platform is Platform.CANVAS
        # On a platform, a student hands in the files, and does not say when. A folder is a
        # teacher's.
        reserved = () if self.platform is Platform.PLAIN else (TIMESTAMP,)
        laid, replaced = laid_out(files, self._exercise, numbered=numbered, reserved=reserved)
        self.left_out += replaced
        known = [each for each in self._members[owner] if each.student]
        paths = tuple(each.file.parts for each in files)
        self.unresolved += [
            Unresolved(each.person, each.reason, paths)
            for each in self._members[owner]
            if not each.student
        ]
        moment = self._moments.get(owner)
        return [CollectedHandIn(each.student, each.person, laid, moment, late) for each in known]


def _empty(
    layout: DownloadLayout, left_out: Sequence[LeftOut], there: Collection[str]
) -> tuple[Identity, ...]:
    """Return who has something in the download and is not `there`: nothing at all was taken."""
    lost: dict[str, tuple[Identity, ...]] = {}
    for each in left_out:
        placed = layout.placed(each.parts)
        noise = any(part.startswith((".", "__MACOSX")) for part in each.parts)
        if placed and placed.owner not in there and not noise:
            lost[placed.owner] = placed.people
    return tuple(person for people in lost.values() for person in people)


def _student(person: Identity, roster: ClassList | None, ids: Mapping[int, str]) -> tuple[str, str]:
    """Return the id of a student, or "" and why there is none."""
    if roster is None:
        return ids[id(person)], ""
    found = roster.find(person)
    if found.student and (NO_ID.search(found.student) or len(found.student.encode()) > _LONGEST_ID):
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
            files = tuple(file.parts for _, file in each.files)
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
        else _short(f"{plain[id(person)]}_{_number_of(person) or 'x'}")
        for person in people
    }


def _short(text: str) -> str:
    return text.encode()[:_LONGEST_ID].decode(errors="ignore")


def _plain_id(person: Identity) -> str:
    """Return letters and digits of a name in small letters, "_" for all that lies between."""
    named = STUDENT in person.identifiers or GITHUB in person.identifiers
    kept = re.fullmatch(r"[A-Za-z0-9](?:[\w.@+-]{0,60}\w)?", person.name)
    if named and kept and not NO_ID.search(person.name) and _short(person.name) == person.name:
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
