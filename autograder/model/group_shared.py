"""Files of a course that several instructors share: a folder that their group may write.

What is made there follows the folder, and not the settings of who happens to run the command.
Nothing is opened to anybody whom the folder keeps out.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


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
