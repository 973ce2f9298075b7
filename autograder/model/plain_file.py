"""A file or a folder opened once, with no link followed on the way to it.

Where others may write, a path may become a link after it was checked and before it is opened. That
link may point at what the grader can read and the student may not. So each part of a path is
opened inside the folder before it, and every question about a file is about the open one.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

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
