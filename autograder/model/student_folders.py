"""In which folder the files of a student lie: those of a large class are in folders of a thousand.

A file browser takes long to list a hundred thousand files. A class of up to a thousand has all in
one folder, a larger one has `0001-1000`, `1001-2000` and so on, in the order of the class.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

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
