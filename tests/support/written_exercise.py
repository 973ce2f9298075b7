"""An exercise that a test writes down itself, file by file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

Change = tuple[str, str, str]  # in which file, the old text, the new one


def write_exercise(folder: Path, files: Mapping[str, str], *changes: Change) -> Path:
    """Write the files of an exercise, with texts replaced; return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8")
    return changed(folder, *changes)


def changed(folder: Path, *changes: Change) -> Path:
    """Replace texts in the files of an exercise; return its folder."""
    for file, old, new in changes:
        text = (folder / file).read_text(encoding="utf-8")
        assert old in text, f"{old!r} is not in {file} any more"
        (folder / file).write_text(text.replace(old, new), encoding="utf-8")
    return folder
