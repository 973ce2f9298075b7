"""An exercise on its way to another machine: its files as bytes, with the hash that they must have.

What an exercise shares with others (`_attention/`) lies beside it and travels along.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import KitError
from autograder.grading.digest import engine_versions, exercise_hash
from autograder.model.exercise import shared_folders

_LEFT_OUT = "__pycache__"


@dataclass(frozen=True)
class Parcel:
    """The exercise `name` as an archive, what judges it here, and the hash of both."""

    name: str
    archive: bytes
    exercise_hash: str
    versions: dict[str, str]


def pack(folder: Path) -> Parcel:
    """Return the exercise in `folder`; raise OSError when a file of it cannot be read."""
    content = io.BytesIO()
    root = folder.resolve()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in (root, *shared_folders(root)):
            for path in sorted(part.rglob("*")):
                if path.is_file() and _LEFT_OUT not in path.parts:
                    archive.writestr(path.relative_to(root.parent).as_posix(), path.read_bytes())
    return Parcel(root.name, content.getvalue(), exercise_hash(root), engine_versions())


def unpack(name: str, archive: bytes, digest: str, versions: dict[str, str], target: Path) -> Path:
    """Unpack a parcel into the empty folder `target`; return the folder of the exercise.

    The arguments are plain values, so that a machine with another kit can read them too. Raises
    `KitError` where this machine would not judge as the one that packed.
    """
    refuse_other_versions(versions)
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        packed.extractall(target)
    if exercise_hash(target / name) != digest:
        raise KitError(
            f"the exercise {name} did not arrive as it was sent",
            place=str(target),
            cure="run the same command again; if it happens again, look at that machine's disk",
        )
    return target / name


def refuse_other_versions(versions: dict[str, str]) -> None:
    """Raise `KitError` unless the kit, its source, Python and the libraries are those `versions`.

    With any other, verdicts could differ.
    """
    here = engine_versions()
    other = [name for name in versions if here.get(name) != versions[name]]
    if other:
        told = ", ".join(f"{_told(name, here)} instead of {versions[name][:12]}" for name in other)
        raise KitError(
            f"it would not judge as this machine does: {told}",
            place="what is installed for the Dask worker",
            cure="install the same kit with the same Python and libraries there, and start the "
            "worker again",
        )


def _told(name: str, versions: dict[str, str]) -> str:
    return f"{name} {versions.get(name, 'none')[:12]}"
