"""Which tests a change in one room can break: `make test ROOM=judging` runs what this prints.

These are the folders of tests of the room and of the rooms that import it. The worker's tests are
those of the sandbox that it runs in, and what says something of all rooms is in `tests/project`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from support.import_layers import PACKAGE, rooms

TESTS = Path(__file__).resolve().parents[1]
ELSEWHERE = {"worker": "sandbox", "errors": "model"}
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
    """Print the folders for the room that is named; exit with 2 when there is no such room."""
    try:
        print(*folders_for(sys.argv[1]))
    except KeyError:
        known = ", ".join(sorted(room.name for room in rooms(PACKAGE)))
        sys.exit(f"error: {sys.argv[1]!r} is no room of autograder/; cure: use one of {known}")


if __name__ == "__main__":
    main()
