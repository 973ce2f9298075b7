"""The folder for a release, and a record of the files that releases put there.

Somebody's work may be in it: an instructor's own files, or a student's solved notebook. So a
release is written only into a folder whose files are all as a release left them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.building.build import TRACES
from autograder.errors import KitError

NOTE = ".attn-release.json"
FORMAT_VERSION = 1
# The folder may be under version control.
NOT_LOOKED_AT = (*TRACES, ".git")
ANOTHER = "name a new folder with --to"


@dataclass(frozen=True)
class Target:
    """A folder, and the files that a release put there: path in the folder to SHA-256."""

    folder: Path
    made: Mapping[str, str]

    def kept(self, exercises: frozenset[str]) -> tuple[str, ...]:
        """Return the names of earlier released exercises that are not in `exercises`."""
        folders = {path.split("/")[0] for path in self.made if path.endswith("/exercise.toml")}
        return tuple(sorted(folders - exercises))

    def put(self, files: Mapping[str, bytes], keep: tuple[str, ...]) -> None:
        """Write `files`; remove an earlier release's files, except for the exercises in `keep`."""
        stay = {
            path: digest
            for path, digest in self.made.items()
            if path.split("/")[0].removesuffix(".zip") in keep
        }
        for path in self.made.keys() - stay.keys() - files.keys():
            (self.folder / path).unlink(missing_ok=True)
        for path, content in files.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_bytes(content)
        made = {**stay, **{path: _digest(content) for path, content in files.items()}}
        facts = {"format_version": FORMAT_VERSION, "files": dict(sorted(made.items()))}
        (self.folder / NOTE).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def open_target(folder: Path) -> Target:
    """Return the folder as a target; raise `KitError` if it holds anything but a release."""
    if folder.exists() and not folder.is_dir():
        raise KitError("a file of that name already exists", place=str(folder), cure=ANOTHER)
    noted = _noted(folder / NOTE)
    made: dict[str, str] = {}
    for path in _files(folder):
        inside = path.relative_to(folder).as_posix()
        if inside == NOTE:
            continue
        if inside not in noted:
            raise KitError(
                f"{inside} is not from a release, and a release never overwrites other files",
                place=str(folder),
                cure=f"{ANOTHER}, or move that file out",
            )
        if path.is_symlink() or _digest(path.read_bytes()) != noted[inside]:
            raise KitError(
                f"{inside} was changed after it was released: it may be somebody's work",
                place=str(folder),
                cure=f"{ANOTHER}, or move that file out",
            )
        made[inside] = noted[inside]
    return Target(folder, made)


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if (path.is_symlink() or not path.is_dir()) and not set(parts) & set(NOT_LOOKED_AT):
            yield path


def _noted(note: Path) -> dict[str, str]:
    if not note.is_file():
        return {}
    try:
        facts = json.loads(note.read_text(encoding="utf-8"))
    except ValueError:
        facts = None
    if isinstance(facts, dict) and facts.get("format_version") == FORMAT_VERSION:
        files = facts.get("files")
        if isinstance(files, dict):
            return {path: str(digest) for path, digest in files.items()}
    raise KitError(
        "the record of what was released here cannot be read", place=str(note), cure=ANOTHER
    )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
