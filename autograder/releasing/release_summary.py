"""What an instructor reads after a release: what was released, its size, what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autograder.releasing.release import Released
from autograder.releasing.wheel import total_size


def release_summary(released: Sequence[Released], folder: Path, repository: str = "") -> str:
    """Return the lines for the terminal."""
    lines = [line for each in released for line in _about(each, folder)]
    first = released[0]
    name = first.exercise.name
    hand_out = first.archive or f"{name}/"
    lines += [
        "searched: no line of solutions/ is in it, nor in the kit's wheel",
        "next:",
        f"  hand out {folder / hand_out}; its README.md says how to install and begin",
    ]
    if repository:
        lines.append(f"  push {folder} to https://github.com/{repository}: its README.md has links")
        lines.append("  to Colab and Binder (try them once before the class does)")
    lines += [
        "  put what students hand in into one folder, named by student: homework/ada.ipynb",
        f"  attn grade homework --exercise {name}",
    ]
    return "\n".join(lines)


def _about(released: Released, folder: Path) -> list[str]:
    name = released.exercise.name
    lines = [f"{folder / name}: {released.files} files, {_size(released.size)}"]
    if released.archive:
        lines.append(f"{folder / released.archive}: {_size(released.archive_size)}")
    packages, installed = released.packages, total_size(released.packages)
    takes = f", {_size(installed)} on disk" if installed else ""
    lines.append(f"  a student installs the kit and {len(packages)} packages{takes}")
    return lines


def _size(count: int) -> str:
    return f"{count / 1e6:.0f} MB" if count >= 1e7 else f"{count / 1e6:.1f} MB"
