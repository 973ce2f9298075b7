"""The search for what only instructors may read, over every file of a folder."""

from __future__ import annotations

from pathlib import Path

from autograder.authoring.leak import Secret, refuse_leaks


def refuse_leaks_below(secrets: tuple[Secret, ...], folder: Path) -> None:
    """Raise `KitError` for the first secret in any file below `folder`."""
    files = {
        str(path): path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    assert files, folder
    refuse_leaks(secrets, files)
