"""The files of a zip that was downloaded from a platform, laid out safely on this disk.

Names, sizes and contents are hostile: whoever hands in a zip writes all three. So nothing is
extracted under the name that it has. Every file gets a number in a folder of ours, is counted while
it is unpacked, and whatever is not taken is kept in a list, with the reason. A zip inside the zip
is unpacked where it lies, as if it were a folder.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from autograder.errors import KitError
from autograder.model.sanitize import clean_line
from autograder.platforms.zip_entry import Parts, parts_of, problem_of_entry, problem_of_path

MB = 1024 * 1024
# Of the whole download, of what one student handed in, and of one file.
MOST_FILES, MOST_BYTES = 100_000, 8192 * MB
MOST_FILES_EACH, MOST_BYTES_EACH = 5_000, 256 * MB
LARGEST, LARGEST_ZIP = 64 * MB, 64 * MB
# A text shrinks to a twentieth, a bomb to a thousandth.
MOST_RATIO, SMALL = 200, 4 * MB
DEEPEST = 3  # zips inside zips
LONGEST_DIRECTORY = 4 * MB  # the table of contents of a zip inside a zip, in bytes
_PIECE = 1 << 16
# What the library raises about bytes that are no zip, or a damaged one.
_NO_ZIP = (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error)
_UNREADABLE = "it is called a zip, but cannot be read as one"
_END, _END64_AT = b"PK\x05\x06", b"PK\x06\x07"

OwnerOf = Callable[[Parts], str]


@dataclass(frozen=True)
class UnpackedFile:
    """One file of a download: its path there, and where its content lies now."""

    parts: Parts
    place: Path
    size: int


@dataclass(frozen=True)
class LeftOut:
    """What was not taken: its path in the download, and why."""

    parts: Parts
    reason: str

    @property
    def name(self) -> str:
        """The path as one clean line."""
        return clean_line("/".join(self.parts), 300)


@dataclass
class Unpacked:
    """The files of a download in their order, and what was left out."""

    files: list[UnpackedFile] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)


class _Refused(Exception):
    """A member is not taken; the text says why."""


@contextmanager
def opened_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open the zip that an instructor names; raise `KitError` when it is none."""
    try:
        archive = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise KitError(
            "there is no such file", place=str(path), cure="name the zip that you downloaded"
        ) from None
    except (*_NO_ZIP, IsADirectoryError) as error:
        raise KitError(
            f"{path.name} cannot be read as a zip file: {error}",
            place=str(path),
            cure="download it again, and name the zip itself; if the browser has unpacked it, "
            "pack the folder into a zip",
        ) from error
    with archive:
        yield archive


def names_in(archive: zipfile.ZipFile) -> list[Parts]:
    """Return the paths of the files in a zip, without those that nobody handed in on purpose."""
    infos = (info for info in archive.infolist() if not info.is_dir())
    found = (parts_of(info) for info in infos)
    return [parts for parts in found if not problem_of_path(parts)]


def holds_repositories(archive: zipfile.ZipFile) -> bool:
    """Whether files of git or of GitHub are in a zip."""
    every = (parts_of(info) for info in archive.infolist())
    return any(part in (".git", ".github", ".gitignore") for parts in every for part in parts)


@contextmanager
def unpacked(archive: zipfile.ZipFile, owner_of: OwnerOf) -> Iterator[Unpacked]:
    """Unpack everything that may be taken into a folder that is gone afterwards.

    `owner_of` says whose a path is, so that nobody uses up what is there for the others.
    """
    with TemporaryDirectory(prefix="attn-collect-") as folder:
        unpacking = _Unpacking(Path(folder), owner_of)
        unpacking.take(archive, (), 0)
        yield unpacking.result


class _Unpacking:
    """What has been unpacked so far, and how much of what is allowed is used."""

    def __init__(self, folder: Path, owner_of: OwnerOf) -> None:
        self.folder, self.owner_of = folder, owner_of
        self.result = Unpacked()
        self.files: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.number = 0

    def take(self, archive: zipfile.ZipFile, above: Parts, depth: int) -> None:
        """Unpack a zip that lies at `above`; what cannot be taken is listed."""
        last = {parts_of(info): info for info in archive.infolist()}
        for info in archive.infolist():
            own = parts_of(info)
            if info.is_dir() or not own:
                continue
            parts = (*above, *own)
            try:
                if last[own] is not info:
                    raise _Refused("the zip holds a later file of the same name")
                self.take_one(archive, info, parts, depth)
            except _Refused as refusal:
                self.result.left_out.append(LeftOut(parts, str(refusal)))

    def take_one(
        self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, parts: Parts, depth: int
    ) -> None:
        problem = problem_of_path(parts_of(info)) or problem_of_entry(info)
        if problem:
            raise _Refused(problem)
        owner = self.owner_of(parts)
        place = self.folder / str(self.number)
        self.number += 1
        self.count(owner)
        try:
            size = self.copy(archive, info, place, owner)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
            raise _Refused("it is damaged in the zip") from None
        if parts[-1].lower().endswith(".zip"):
            self.take_inner(place, parts, depth + 1)
            place.unlink()
        else:
            self.result.files.append(UnpackedFile(parts, place, size))

    def count(self, owner: str) -> None:
        self.files[owner] += 1
        if self.files[owner] > MOST_FILES_EACH:
            raise _Refused(f"more than {MOST_FILES_EACH} files of one student")
        if self.files.total() > MOST_FILES:
            raise _Refused(f"more than {MOST_FILES} files in one download")

    def copy(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, place: Path, owner: str) -> int:
        """Unpack one file to `place`; what the zip says of its size is not believed."""
        size = 0
        with archive.open(info) as source, place.open("xb") as target:
            while piece := source.read(_PIECE):
                size += len(piece)
                self.bytes[owner] += len(piece)
                problem = self.too_much(size, max(info.compress_size, 1), owner)
                if problem:
                    target.close()
                    place.unlink()
                    raise _Refused(problem)
                target.write(piece)
        return size

    def too_much(self, size: int, packed: int, owner: str) -> str:
        if size > LARGEST:
            return f"it is larger than {LARGEST // MB} MB"
        if size > SMALL and size > MOST_RATIO * packed:
            return f"it is more than {MOST_RATIO} times as large as in the zip, as a zip bomb is"
        if self.bytes[owner] > MOST_BYTES_EACH:
            return f"more than {MOST_BYTES_EACH // MB} MB of one student"
        if self.bytes.total() > MOST_BYTES:
            return f"more than {MOST_BYTES // MB} MB in one download"
        return ""

    def take_inner(self, place: Path, parts: Parts, depth: int) -> None:
        if depth > DEEPEST:
            raise _Refused(f"a zip inside more than {DEEPEST} others")
        _refuse_large_directory(place)
        try:
            inner = zipfile.ZipFile(place)
        except (*_NO_ZIP, OSError):  # also for a table of contents that lies before the file
            raise _Refused(_UNREADABLE) from None
        try:
            with inner:
                self.take(inner, parts, depth)
        except _NO_ZIP:
            raise _Refused(_UNREADABLE) from None


def _refuse_large_directory(place: Path) -> None:
    """Refuse a zip whose table of contents would fill the memory, before anybody reads it."""
    with place.open("rb") as stream:
        stream.seek(max(0, place.stat().st_size - 65_557))
        tail = stream.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + 22:
        raise _Refused(_UNREADABLE)
    (length,) = struct.unpack_from("<I", tail, at + 12)
    if length > LONGEST_DIRECTORY or _END64_AT in tail[max(0, at - 20) : at]:
        raise _Refused("it is a zip with far too many files")


def common_length(every: Sequence[str] | Sequence[tuple[str, ...]]) -> int:
    """Return how many items all sequences have in common at their beginning."""
    first, last = min(every, default=()), max(every, default=())
    differing = (at for at, (a, b) in enumerate(zip(first, last)) if a != b)
    return next(differing, min(len(first), len(last)))
