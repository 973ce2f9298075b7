"""Zips as platforms give them to download, written by hand after their documentation and source."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

from support.typed_commands import Run, typed

ROOT = Path(__file__).resolve().parents[2]


def zipped(files: Mapping[str, bytes | str]) -> bytes:
    """The bytes of a zip with these files."""
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


def download(path: Path, files: Mapping[str, bytes | str]) -> Path:
    """Write a zip with these files to `path` and return it."""
    path.write_bytes(zipped(files))
    return path


def attn(*words: object) -> Run:
    """Run a command, with lines as wide as they get."""
    return typed(*words, folder=ROOT, COLUMNS="200")


def tree(folder: Path) -> dict[str, str]:
    """The files below a folder, by path, with what they hold; the lists of the command left out."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".csv"
    }
