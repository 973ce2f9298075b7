"""The processes below one, as /proc names their parents."""

from __future__ import annotations

from pathlib import Path


def descendants(pid: int) -> list[int]:
    """Return the processes below `pid`, by the parents that /proc names."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended meanwhile
                continue
            parents[int(entry.name)] = int(fields[1])
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found
