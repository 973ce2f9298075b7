"""Which tests a change in a room can break: `make test ROOM=judging` runs what this prints.

These are the folders of tests of the room and of the rooms that import it. What says
something of all rooms is in `tests/project`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from support.import_layers import PACKAGE, rooms

TESTS = Path(__file__).resolve().parents[1]
ELSEWHERE = {"errors": "values"}
ALWAYS = ("project/test_imports.py",)


def folders_for(room: str) -> tuple[str, ...]:
    """Return the folders of tests, from the repository on; raise `KeyError` for no room."""
    importing = {each.name: each.imports for each in rooms(PACKAGE)}
    if room not in importing:
        raise KeyError(room)
    above = sorted(name for name in importing if room in importing[name])
    folders = dict.fromkeys(ELSEWHERE.get(name, name) for name in (room, *above))
    return tuple(f"{TESTS.name}/{name}" for name in (*folders, *ALWAYS))


def main() -> None:
    """Print the folders for the rooms that are named; exit with 2 when one is no room."""
    try:
        print(*dict.fromkeys(folder for room in sys.argv[1:] for folder in folders_for(room)))
    except KeyError as error:
        known = ", ".join(sorted(room.name for room in rooms(PACKAGE)))
        (room,) = error.args
        print(f"error: {room!r} is no room of autograder/; cure: use {known}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
