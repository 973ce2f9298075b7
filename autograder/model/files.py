"""File names from student ids; files written whole or not at all, and read only when plain.

An id comes from a folder, a form or a learning platform. It may hold slashes,
`..`, any script, or a thousand characters. Two ids may differ only in what a
file system ignores (case, normal form), yet they never share a name.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from autograder.errors import KitError
from autograder.model.plain_file import NotPlain, opened

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


def write_whole(path: Path, text: str) -> None:
    """Write `text` to `path` as UTF-8, so that a reader finds all of it or the previous file.

    A lone surrogate is written as its escape, which JSON reads back unchanged. Raises
    `KitError` when the folder cannot be written to.
    """
    write_content(path, file_content(text))


def file_content(text: str) -> bytes:
    """Return what `write_whole` writes."""
    return text.encode("utf-8", "backslashreplace")


def write_content(path: Path, content: bytes) -> None:
    """Write a file as `write_whole` does."""
    try:
        try:
            replace_file(path, content)
        except FileNotFoundError:  # of a class, only the first file has no folder
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, content)
    except OSError as error:
        raise _unwritable(path, error) from error


def write_all_whole(files: Mapping[Path, str]) -> None:
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
        raise _unwritable(path, error) from error
    finally:
        for part in parts:
            with suppress(OSError):
                _remove(part)


def _unwritable(path: Path, error: OSError) -> KitError:
    return KitError(
        f"{path.name} cannot be written: {error.strerror}",
        place=str(path.parent),
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
