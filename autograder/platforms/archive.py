"""The files of a zip that was downloaded from a platform, laid out safely on this disk.

Names, sizes and contents are hostile: whoever hands in a zip writes all three. So nothing is
extracted under the name that it has. Every file gets a number in a folder of ours, is counted while
it is unpacked, and whatever is not taken is kept in a list, with the reason. A zip inside the zip
is unpacked where it lies, as if it were a folder. Names are counted too, whether they are taken or
not: whoever hands in too much is ended there, and nothing more of theirs is looked at.
"""

from __future__ import annotations

import os
import shutil
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import SEEK_END
from pathlib import Path
from tempfile import mkdtemp
from typing import BinaryIO

from autograder.errors import KitError
from autograder.values.files import share
from autograder.values.sanitize import clean_line

# One entry of a zip as the zip tells of it: its path, and why it may not be taken.

Parts = tuple[str, ...]  # a path inside a download: names, from the outermost zip on

_UTF8, _ENCRYPTED = 0x800, 0x1
_MOST_FOLDERS, _LONGEST = 30, 2_000


def parts_of(info: zipfile.ZipInfo) -> Parts:
    """Return the path of a member; the names of zips made on Windows and macOS are understood.

    A zip says that a name is UTF-8 or else it is in the character set of MS-DOS. macOS writes
    UTF-8 and does not say so, so a name that reads as UTF-8 is taken as that.
    """
    name = info.filename
    if not info.flag_bits & _UTF8:
        try:
            name = name.encode("cp437").decode("utf-8")
        except UnicodeError:
            name = info.filename
    path = name.replace("\\", "/")
    absolute = ("/",) if path.startswith("/") else ()
    return (*absolute, *(part for part in path.split("/") if part not in ("", ".")))


def problem_of_path(parts: Parts) -> str:
    """Return why a path is not taken, "" when it may be."""
    if not parts:
        return "it has no name"
    if parts[0] == "/" or ".." in parts or ":" in parts[0][1:2]:
        return "its path leads out of the folder that it would lie in"
    if "__MACOSX" in parts or any(part.startswith("._") for part in parts):
        return "macOS wrote it beside the files"
    if any(part.startswith(".") for part in parts):
        return "it is hidden"
    if "__pycache__" in parts:
        return "Python wrote it"
    return problem_of_length(parts)


def problem_of_length(parts: Parts) -> str:
    """Return that a path is too long, "" where it can be that of a file on any disk."""
    bytes_in_all = sum(len(part.encode("utf-8", "surrogatepass")) for part in parts)
    too_long = len(parts) > _MOST_FOLDERS or bytes_in_all > _LONGEST
    return "its path is too long" if too_long else ""


def problem_of_entry(info: zipfile.ZipInfo) -> str:
    """Return why an entry is not taken, by what the zip says of it; "" when it may be."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "it is a link: the file itself has to be handed in"
    if kind not in (0, stat.S_IFREG):
        return "it is not a plain file"
    if info.flag_bits & _ENCRYPTED:
        return "it is encrypted"
    if info.header_offset < 0:
        return "it is damaged in the zip"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "it is compressed in a way that is not read here: use a plain zip"
    return ""


MB = 1024 * 1024
# Of the whole download, of what one student handed in, and of one file.
MOST_FILES, MOST_BYTES = 100_000, 8192 * MB
MOST_FILES_EACH, MOST_BYTES_EACH = 5_000, 256 * MB
MOST_NAMES_EACH = 20_000  # also of folders, and of what is not taken
LARGEST, LARGEST_ZIP = 64 * MB, 64 * MB
# A text shrinks to a twentieth, a bomb to a thousandth.
MOST_RATIO, SMALL = 200, 4 * MB
DEEPEST = 3  # zips inside zips
# Tables of contents, in bytes: that of the download, and those of all zips that one hands in.
LONGEST_DIRECTORY, LONGEST_DIRECTORIES_EACH = 32 * MB, 4 * MB
_PIECE = 1 << 16
_SCRATCH = ".attn-collect-"
# What the library raises about bytes that are no zip, or a damaged one.
_NO_ZIP = (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error)
_UNREADABLE = "it is called a zip, but cannot be read as one"
_END, _END64, _END64_AT = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"

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
    """The files of one `owner` in their order, and what was left out.

    `ended` says where a limit of theirs was reached: nothing after that was looked at.
    """

    owner: str
    files: list[UnpackedFile] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    ended: LeftOut | None = None

    def remove(self) -> None:
        """Remove what was unpacked, once it has been copied."""
        for file in self.files:
            file.place.unlink()


class _Refused(Exception):
    """A member is not taken; the text says why."""


class _Ended(_Refused):
    """Its owner has reached a limit: nothing more of theirs is taken."""


@contextmanager
def opened_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open the zip that an instructor names; raise `KitError` when it is none."""
    try:
        with path.open("rb") as stream:
            length = _directory_length(stream)
        archive = zipfile.ZipFile(path) if length <= LONGEST_DIRECTORY else None
    except FileNotFoundError:
        raise KitError(
            "there is no such file", place=str(path), cure="name the zip that you downloaded"
        ) from None
    except (*_NO_ZIP, OSError) as error:
        raise KitError(
            f"{path.name} cannot be read as a zip file: {error}",
            place=str(path),
            cure="download it again, and name the zip itself; if the browser has unpacked it, "
            "pack the folder into a zip",
        ) from error
    if archive is None:
        raise KitError(
            f"{path.name} holds far too many files for one class",
            place=str(path),
            cure="download fewer students at a time",
        )
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
def scratch_folder(root: Path) -> Iterator[Path]:
    """Make a folder beside the hand-ins for what is on its way to them, and remove it afterwards.

    So nothing of students lies elsewhere. What a command left there that was killed is removed,
    too. Raise `KitError` when the folder cannot be written.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        for left in root.glob(f"{_SCRATCH}*"):
            if not _is_in_use(left):
                shutil.rmtree(left, ignore_errors=True)
        folder = Path(mkdtemp(prefix=f"{_SCRATCH}{os.getpid()}-", dir=root))
        share(folder)
    except OSError as error:
        raise cannot_be_written(root, error) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_in_use(folder: Path) -> bool:
    """Whether the process that made a folder for what is on its way may still be at work."""
    process = folder.name.removeprefix(_SCRATCH).split("-")[0]
    if sys.platform == "win32":  # has no way to ask
        return True
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except OSError:  # another user's
        return True
    return True


def cannot_be_written(root: Path, error: OSError) -> KitError:
    """Return the error of a folder for hand-ins that cannot be written."""
    return KitError(
        f"the hand-ins cannot be written: {error.strerror}",
        place=str(root),
        cure="name a folder that you may write to, on a disk with free space",
    )


def unpacked(archive: zipfile.ZipFile, owner_of: OwnerOf, folder: Path) -> Iterator[Unpacked]:
    """Unpack everything that may be taken into an empty `folder`, one owner after the other.

    `owner_of` says whose a path is, and what lies in a zip there, so that nobody uses up what is
    there for the others.
    """
    by_owner: dict[str, list[zipfile.ZipInfo]] = {}
    for info in archive.infolist():
        by_owner.setdefault(owner_of(parts_of(info)), []).append(info)
    used = _Used()
    last = _last(archive)
    for owner, infos in by_owner.items():
        unpacking = _Unpacking(folder, used, Unpacked(owner))
        unpacking.take(archive, infos, last)
        yield unpacking.result


def _last(archive: zipfile.ZipFile) -> dict[Parts, zipfile.ZipInfo]:
    return {parts_of(info): info for info in archive.infolist()}


@dataclass
class _Used:
    """How much of what is allowed is used."""

    names: int = 0
    files: int = 0
    bytes: int = 0
    directories: int = 0


class _Unpacking:
    """What has been unpacked of one owner, and how much of what is allowed is used: in all, and of
    the owner's.
    """

    def __init__(self, folder: Path, everybody: _Used, result: Unpacked) -> None:
        self.folder, self.everybody, self.result = folder, everybody, result
        self.own = _Used()

    def take(
        self,
        archive: zipfile.ZipFile,
        infos: Sequence[zipfile.ZipInfo],
        last: Mapping[Parts, zipfile.ZipInfo],
        above: Parts = (),
        depth: int = 0,
    ) -> None:
        """Unpack entries of a zip that lies at `above`; what cannot be taken is listed.

        `last` are the entries that count, of each name.
        """
        for info in infos:
            if self.result.ended:
                return
            own = parts_of(info)
            parts = (*above, *own)
            try:
                self.count_name()
                if info.is_dir() or not own:
                    continue
                if last[own] is not info:
                    raise _Refused("the zip holds a later file of the same name")
                self.take_one(archive, info, parts, depth)
            except _Ended as refusal:
                self.result.ended = LeftOut(parts, str(refusal))
            except _Refused as refusal:
                self.result.left_out.append(LeftOut(parts, str(refusal)))

    def count_name(self) -> None:
        self.own.names += 1
        if self.own.names > MOST_NAMES_EACH:
            raise _Ended(f"more than {MOST_NAMES_EACH} names of one student")

    def take_one(
        self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, parts: Parts, depth: int
    ) -> None:
        own = problem_of_path(parts_of(info)) or problem_of_entry(info)
        problem = own or problem_of_length(parts)  # also where each zip on the way has short ones
        if problem:
            raise _Refused(problem)
        self.count_file()
        place = self.folder / str(self.everybody.files)
        try:
            size = self.copy(archive, info, place)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
            raise _Refused("it is damaged in the zip") from None
        if parts[-1].lower().endswith(".zip"):
            try:
                self.take_inner(place, parts, depth + 1)
            finally:
                place.unlink()
        else:
            self.result.files.append(UnpackedFile(parts, place, size))

    def count_file(self) -> None:
        self.own.files += 1
        self.everybody.files += 1
        if self.own.files > MOST_FILES_EACH:
            raise _Ended(f"more than {MOST_FILES_EACH} files of one student")
        if self.everybody.files > MOST_FILES:
            raise _Refused(f"more than {MOST_FILES} files in one download")

    def copy(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, place: Path) -> int:
        """Unpack one file to `place`; what the zip says of its size is not believed."""
        size = 0
        with archive.open(info) as source, place.open("xb") as target:
            while piece := source.read(_PIECE):
                size += len(piece)
                self.own.bytes += len(piece)
                self.everybody.bytes += len(piece)
                try:
                    self.refuse_too_much(size, max(info.compress_size, 1))
                except _Refused:
                    target.close()
                    place.unlink()
                    raise
                target.write(piece)
        return size

    def refuse_too_much(self, size: int, packed: int) -> None:
        if size > LARGEST:
            raise _Refused(f"it is larger than {LARGEST // MB} MB")
        if size > SMALL and size > MOST_RATIO * packed:
            raise _Refused(
                f"it is more than {MOST_RATIO} times as large as in the zip, as a zip bomb is"
            )
        if self.own.bytes > MOST_BYTES_EACH:
            raise _Ended(f"more than {MOST_BYTES_EACH // MB} MB of one student")
        if self.everybody.bytes > MOST_BYTES:
            raise _Refused(f"more than {MOST_BYTES // MB} MB in one download")

    def take_inner(self, place: Path, parts: Parts, depth: int) -> None:
        if depth > DEEPEST:
            raise _Refused(f"a zip inside more than {DEEPEST} others")
        try:
            with place.open("rb") as stream:
                self.own.directories += _directory_length(stream)
            if self.own.directories > LONGEST_DIRECTORIES_EACH:
                raise _Ended("zips with far too many files of one student")
            with zipfile.ZipFile(place) as inner:
                self.take(inner, inner.infolist(), _last(inner), parts, depth)
        except (*_NO_ZIP, OSError):  # also for a table of contents that lies before the file
            raise _Refused(_UNREADABLE) from None


def _directory_length(stream: BinaryIO) -> int:
    """Return how long a zip says that its table of contents is, before anybody reads it.

    No library reads more of it than this.
    """
    size = stream.seek(0, SEEK_END)
    stream.seek(max(0, size - 65_557 - 76))
    tail = stream.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + 22:
        raise zipfile.BadZipFile("it has no table of contents")
    (length,) = struct.unpack_from("<I", tail, at + 12)
    long = at - 20 - 56  # where a zip larger than 4 GB, or one that claims to be, says it
    if long >= 0 and tail.startswith(_END64, long) and tail.startswith(_END64_AT, at - 20):
        (length,) = struct.unpack_from("<Q", tail, long + 40)
    return int(length)


def common_length(every: Sequence[str] | Sequence[tuple[str, ...]]) -> int:
    """Return how many items all sequences have in common at their beginning."""
    first, last = min(every, default=()), max(every, default=())
    differing = (at for at, (a, b) in enumerate(zip(first, last)) if a != b)
    return next(differing, min(len(first), len(last)))
