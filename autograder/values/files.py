"""Files and folders: named after students, opened without a link, written whole, shared."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from autograder.errors import KitError

# A file or a folder opened once, with no link followed on the way to it.
#
# Where others may write, a path may become a link after it was checked and before it is opened.
# That link may point at what the grader can read and the student may not. So each part of a path
# is opened inside the folder before it, and every question about a file is about the open one.

# Windows has few of these flags. Nothing is graded there, and only administrators make links.
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe is not waited for
    | getattr(os, "O_BINARY", 0)
)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_ONLY_PASSED = getattr(os, "O_PATH", 0)  # a folder that is passed through need not be readable
_BY_FOLDER = os.open in os.supports_dir_fd and os.scandir in os.supports_fd


class NotPlain(OSError):
    """`path` is a link or lies behind one, or it is not a plain file where one is expected."""

    def __init__(self, path: Path, *, is_link: bool) -> None:
        what = "it is a link" if is_link else "it is a folder, a pipe or a device"
        super().__init__(errno.EINVAL, what, str(path))
        self.path, self.is_link = path, is_link


@dataclass(frozen=True)
class Opened:
    """An open file or folder: its path, its descriptor and its status."""

    path: Path
    descriptor: int
    status: os.stat_result

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def size(self) -> int:
        """Its size in bytes when it was opened."""
        return self.status.st_size

    def content(self, most: int) -> bytes:
        """Return its first bytes, at most `most` of them; raise `NotPlain` or OSError."""
        if not stat.S_ISREG(self.status.st_mode):
            raise NotPlain(self.path, is_link=False)
        # No more than that: the file may be growing.
        with open(self.descriptor, "rb", closefd=False) as stream:
            return stream.read(most)

    def names(self, most: int) -> list[str]:
        """Return the names in the folder, at most `most` of them; raise OSError."""
        with os.scandir(self.descriptor if _BY_FOLDER else self.path) as entries:
            return [entry.name for entry in islice(entries, most)]


@contextmanager
def opened(path: Path, root: Path | None = None) -> Iterator[Opened]:
    """Open `path`; raise `NotPlain` when a part of it below `root` is a link, else OSError.

    `root` is a folder that nobody else may write to; by default, the folder that holds `path`.
    Links on the way to `root` belong to its owner and are followed. A pipe is not waited for.
    """
    root = path.parent if root is None else root
    descriptor = _descriptor(path, root) if _BY_FOLDER else _descriptor_by_path(path, root)
    try:
        yield Opened(path, descriptor, os.fstat(descriptor))
    finally:
        os.close(descriptor)


def _descriptor(path: Path, root: Path) -> int:
    parts = path.relative_to(root).parts or (".",)
    folder = os.open(root, _FLAGS | _ONLY_PASSED)
    try:
        for number, part in enumerate(parts[:-1], start=1):
            before, folder = folder, _next(part, folder, root, parts[:number], _ONLY_PASSED)
            os.close(before)
        return _next(parts[-1], folder, root, parts, 0)
    finally:
        os.close(folder)


def _next(name: str, folder: int, root: Path, reached: tuple[str, ...], flags: int) -> int:
    """Open `name` in an open folder, `reached` from `root`; raise `NotPlain` for a link."""
    try:
        descriptor = os.open(name, _FLAGS | _NO_LINK | flags, dir_fd=folder)
    except OSError as error:
        # Systems report a link by different numbers; a socket gives ENXIO.
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO):
            raise NotPlain(root.joinpath(*reached), is_link=error.errno != errno.ENXIO) from None
        raise
    if stat.S_ISLNK(os.fstat(descriptor).st_mode):  # O_PATH opens the link itself
        os.close(descriptor)
        raise NotPlain(root.joinpath(*reached), is_link=True)
    return descriptor


def _descriptor_by_path(path: Path, root: Path) -> int:
    parts = path.relative_to(root).parts
    for count in range(1, len(parts) + 1):
        if root.joinpath(*parts[:count]).is_symlink():
            raise NotPlain(root.joinpath(*parts[:count]), is_link=True)
    return os.open(path, _FLAGS)


# Ids that every file system keeps as they are. "~" is not among the characters, so no such id
# can equal a name made for another id. "index" is the name of the class page, and the other
# words are devices on Windows, whatever follows a dot.
KEPT = re.compile(
    r"(?!(?:index|con|prn|aux|nul|com\d|lpt\d)(?:\.|$))"
    r"[a-z0-9_](?:[a-z0-9_.@-]{0,62}[a-z0-9_-])?"
)
# Without a stream, which asks about the file and has a buffer: many small ones are written.
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_LONGEST_STEM = 200  # bytes of a name; a file system takes 255


def file_stem(student: str) -> str:
    """Return a file name without suffix for `student`, at most 73 ASCII characters.

    A short id of lower-case letters, digits and "_", with "-", ".", "@" inside, stays as it is;
    any other id becomes its readable part, "~" and a hash of the whole id.
    """
    if KEPT.fullmatch(student):
        return student
    folded = unicodedata.normalize("NFKD", student[:200]).encode("ascii", "ignore").decode()
    readable = re.sub(r"[^a-z0-9]+", "-", folded.lower()).strip("-")[:40]
    digest = hashlib.sha256(student.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{readable.rstrip('-') or 'student'}~{digest}"


def read_small(path: Path, most_bytes: int) -> bytes:
    """Return the content of the plain file at `path`, at most `most_bytes` bytes.

    It never waits for a pipe, reads a device or follows a link at the end of `path`: these, and
    larger files, raise `KitError`. Raises OSError when the file is missing or cannot be read.
    """
    try:
        with opened(path) as found:
            content = found.content(most_bytes + 1)
    except NotPlain:
        raise KitError(
            f"{path.name} is a link, a folder, a pipe or a device, but a plain file is expected",
            place=str(path),
            cure="put a plain file there, or remove what is there",
        ) from None
    if len(content) > most_bytes:
        raise KitError(
            f"{path.name} is larger than {most_bytes} bytes, and the kit never writes such a file",
            place=str(path),
            cure="find out where it comes from, and delete it or replace it with the right one",
        )
    return content


def write_whole(path: Path, text: str | bytes) -> None:
    """Write `text` to `path`, so that a reader finds all of it or the previous file.

    It is bytes, or written as UTF-8. A lone surrogate is written as its escape, which JSON reads
    back unchanged. Raises `KitError` when the folder cannot be written to.
    """
    content = file_content(text)
    try:
        try:
            replace_file(path, content)
        except FileNotFoundError:  # of a class, only the first file has no folder
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, content)
    except OSError as error:
        raise unwritable(path.name, path.parent, error) from error


def file_content(text: str | bytes) -> bytes:
    """Return what `write_whole` writes."""
    return text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")


def write_all_whole(files: Mapping[Path, str | bytes]) -> None:
    """Write files as `write_whole` does, but none takes its place before all are on the disk.

    So a full disk, or a folder that cannot be written to, leaves every file as it was.
    """
    parts = {_part_of(path): path for path in files}
    path = next(iter(files), Path())
    try:
        for part, path in parts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_new(part, file_content(files[path]), None)
        for part, path in parts.items():
            os.replace(part, path)
    except OSError as error:
        raise unwritable(path.name, path.parent, error) from error
    finally:
        for part in parts:
            with suppress(OSError):
                _remove(part)


def unwritable(what: str, place: Path | str, error: OSError) -> KitError:
    """Return the error that `what` cannot be written at a place."""
    return KitError(
        f"{what} cannot be written: {error.strerror}",
        place=str(place),
        cure="name a folder that you may write to, on a disk with free space",
    )


def replace_file(path: Path, content: bytes, mode: int | None = None) -> None:
    """Put a file with this content at `path`, whole or not at all; raise OSError.

    With a `mode`, these are its permissions, whatever this process gives to what it makes.
    """
    part = _part_of(path)
    try:
        _write_new(part, content, mode)
        os.replace(part, path)
    except BaseException:
        _remove(part)
        raise


def _part_of(path: Path) -> str:
    """Return where a file is until it is whole, beside its place."""
    # The name may be a student's, and as long as a name may be: what is added needs room.
    kept = os.fsencode(path.name)
    stem = path.name if len(kept) <= _LONGEST_STEM else hashlib.sha256(kept).hexdigest()
    return os.path.join(path.parent, f".{stem}.{os.getpid()}.part")


def _write_new(part: str, content: bytes, mode: int | None) -> None:
    try:
        file = os.open(part, _NEW, 0o666)
    except FileExistsError:  # left by a killed run, or a link to elsewhere
        _remove(part)
        file = os.open(part, _NEW, 0o666)
    try:
        written = os.write(file, content)
        while written < len(content):  # a full disk may take a part of it first
            written += os.write(file, content[written:])
        if mode is not None:
            os.fchmod(file, mode)
    finally:
        os.close(file)


def _remove(part: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(part)


# Files of a course that several instructors share: a folder that their group may write.
#
# What is made there follows the folder, and not the settings of who happens to run the command.
# Nothing is opened to anybody whom the folder keeps out.


@contextmanager
def following(folder: Path) -> Iterator[None]:
    """Let the group write whatever this process makes in the block, if it may write `folder`.

    So do the processes that it starts. Raises `OSError` when there is no such folder.
    """
    own = follow(folder)
    try:
        yield
    finally:
        os.umask(own)


def follow(folder: Path) -> int:
    """Do what `following` does until the process ends; return the umask that was set before."""
    own = os.umask(0o077)
    os.umask(own & ~stat.S_IRWXG if is_shared(folder) else own)
    return own


def share(path: Path) -> None:
    """Let the group use a file or folder as it may use the folder around it.

    Some are made for their owner alone, whatever the settings are: a SQLite file, and a folder for
    a while. Where somebody else is the owner, it stays as it is.
    """
    if not is_shared(path.parent):
        return
    mode = stat.S_IMODE(path.stat().st_mode)
    wanted = mode | stat.S_IRGRP | stat.S_IWGRP | (stat.S_IXGRP if path.is_dir() else 0)
    if wanted != mode:
        with suppress(PermissionError):
            path.chmod(wanted)


def share_all(folder: Path) -> None:
    """Share a folder with all that is in it; see `share`."""
    share(folder)
    for path in sorted(folder.rglob("*")):  # a folder comes before what is in it
        if not path.is_symlink():
            share(path)


def is_shared(folder: Path) -> bool:
    """Whether the group of a folder may write it."""
    return bool(folder.stat().st_mode & stat.S_IWGRP)


# In which folder the files of a student lie: those of a large class are in folders of a thousand.
#
# A file browser takes long to list a hundred thousand files. A class of up to a thousand has all
# in one folder, a larger one has `0001-1000`, `1001-2000` and so on, in the order of the class.

FILES_IN_A_FOLDER = 1_000
_FOLDER = re.compile(r"\d{4,}-\d{4,}")


def folders_of(count: int) -> list[str]:
    """Return the folder of each student of a class in order; "" where all are in one."""
    if count <= FILES_IN_A_FOLDER:
        return [""] * count
    digits = max(4, len(str(count)))
    firsts = range(1, count + 1, FILES_IN_A_FOLDER)
    return [
        f"{first:0{digits}}-{first + FILES_IN_A_FOLDER - 1:0{digits}}"
        for first in firsts
        for _ in range(min(FILES_IN_A_FOLDER, count - first + 1))
    ]


def parts_of(folder: Path) -> list[Path]:
    """Return `folder`, and the folders of a thousand in it; nothing when there is no such folder.

    A link is none of them.
    """
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        parts = [
            each.name
            for each in entries
            if _FOLDER.fullmatch(each.name) and each.is_dir(follow_symlinks=False)
        ]
    return [folder, *(folder / name for name in sorted(parts))]


def found_in(folder: Path, name: str) -> Path:
    """Return where the file `name` lies in `folder`, also where a class has folders of a thousand.

    Where there is none, it is the path right in `folder`.
    """
    if (folder / name).is_file():
        return folder / name
    places = (part / name for part in parts_of(folder)[1:])
    return next((place for place in places if place.is_file()), folder / name)


def files_in(folder: Path, ending: str) -> Iterator[Path]:
    """Yield the files in `folder` and its folders of a thousand whose names have this ending.

    A file that was never finished, whose name begins with a dot, is none of them.
    """
    for part in parts_of(folder):
        with os.scandir(part) as entries:
            names = [each.name for each in entries if each.name.endswith(ending)]
        yield from (part / name for name in sorted(names) if not name.startswith("."))


def put_in_order(
    folder: Path, ending: str, folders: Mapping[str, str], but_not: Callable[[Path], bool]
) -> None:
    """Move the files with this ending to where `folders` says, by stem; remove all others.

    A class may have grown or shrunk since they were written. Nothing else is touched, and no file
    that `but_not` is true of.
    """
    for file in [each for each in files_in(folder, ending) if not but_not(each)]:
        part = folders.get(file.stem)
        if part is None:
            file.unlink()
        elif file.parent != folder / part:
            (folder / part).mkdir(exist_ok=True)
            file.replace(folder / part / file.name)
    for part_folder in parts_of(folder)[1:]:
        if not any(part_folder.iterdir()):
            part_folder.rmdir()
