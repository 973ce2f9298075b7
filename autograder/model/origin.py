"""Where lines of a file come from that was put together from several, for errors that name a line.

A note beside the file says which of its lines are those of another file.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

_NOTE = ".origin.json"
_PLACE = re.compile(r"(?P<file>[^\n]+?\.(?:py|toml))(?::(?P<line>\d+))?(?P<rest>.*)", re.DOTALL)


def note_origin(path: Path, origin: Path, first: int = 0, count: int = 0) -> None:
    """Note that `count` lines of the file at `path`, from line `first` on, are those of `origin`.

    Lines count from 1. Without them, only the file is known in which to look.
    """
    note = {"origin": str(origin), "first": first, "count": count}
    _note(path).write_text(json.dumps(note), encoding="utf-8")


def at_its_origin(place: str) -> str:
    """Return a place such as `graders.py:217` as the place in the file where that line is from."""
    found = _PLACE.fullmatch(place)
    if not found:
        return place
    try:
        note = json.loads(_note(Path(found["file"])).read_text("utf-8"))
    except (OSError, ValueError):  # most files have none; a place is not always a file
        return place
    if not found["line"] or not note["count"]:
        return str(note["origin"])
    line = int(found["line"]) - note["first"] + 1
    return f"{note['origin']}:{line}{found['rest']}" if 1 <= line <= note["count"] else place


def _note(path: Path) -> Path:
    return path.with_name(f"{path.name}{_NOTE}")
