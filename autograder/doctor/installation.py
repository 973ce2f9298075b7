"""What is installed, and who needs it: learners need little, instructors more.

Versions come from the packages' metadata, so nothing heavy is imported. A student
without nbgrader or PyTorch is not told that anything is wrong.
"""

from __future__ import annotations

import platform
import shutil
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path

from autograder.errors import KitError
from autograder.model.exercise import MANIFEST, read_exercise
from autograder.model.machine_fault import requirement_of
from autograder.sandbox.measurement import remedy_for as remedy
from autograder.sandbox.package_folders import location

OLDEST = (3, 11)
LEARNING, PLACE = "the exercises", "a place to work"
TORCH, COURSE, GRADING = "PyTorch", "a course", "grading"
_LEAST_MEGABYTES = 100
_MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Part:
    """One thing to have installed: whether it is there, which one, and what it is for.

    `need` is one of "the exercises", "a place to work", "PyTorch", "a course" and "grading".
    """

    name: str
    found: bool
    fact: str
    need: str
    purpose: str
    remedy: str = ""


def installation(folder: Path) -> tuple[Part, ...]:
    """Return the parts, with those that everybody needs first; work is done in `folder`."""
    linux = sys.platform == "linux"
    return (
        _python(),
        _package("numpy", LEARNING, "every exercise", "pip install numpy"),
        _package("pytest", LEARNING, "the checks", "pip install pytest"),
        *_disk(folder),
        _package("torch", TORCH, _for_torch(folder), f"pip install {requirement_of('torch')}"),
        _package("jupyterlab", COURSE, "the notebooks", "pip install jupyterlab"),
        _package(
            "nbgrader",
            COURSE,
            "a course with nbgrader",
            f"pip install {requirement_of('nbgrader')}",
        ),
        *((_libseccomp(),) if linux else ()),
    )


def _python() -> Part:
    wanted = ".".join(map(str, OLDEST))
    fact = f"{platform.python_version()} in {sys.prefix}"
    found = sys.version_info >= OLDEST
    cure = "" if found else f"install Python {wanted} or newer"
    return Part("Python", found, fact, LEARNING, f"{wanted} or newer", cure)


def _package(name: str, need: str, purpose: str, cure: str) -> Part:
    if fact := _version(name):
        return Part(name, True, fact, need, purpose)
    return Part(name, False, "not installed", need, purpose, cure)


def _version(name: str) -> str:
    """Return a package's version, or its place if no version is recorded, or ""."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        where = location(name)
        return f"no version recorded, in {where.parent}" if where else ""


def _for_torch(folder: Path) -> str:
    names = _exercises_of("torch", (folder / "assignments", folder / "solutions"))
    return f"only for {', '.join(names)}" if names else "only for the exercises in PyTorch"


def _exercises_of(library: str, roots: Iterable[Path]) -> list[str]:
    found = set()
    for manifest in (path for root in roots for path in root.glob(f"*/{MANIFEST}")):
        try:
            exercise = read_exercise(manifest.parent)
        except (KitError, OSError):
            continue  # `attn verify` reports broken exercises
        if exercise.library == library:
            found.add(exercise.name)
    return sorted(found)


def _disk(folder: Path) -> Iterable[Part]:
    yield _place("this folder", folder)
    try:
        yield _place("temporary files", Path(tempfile.gettempdir()))
    except FileNotFoundError as error:
        cure = "free some disk space, or set TMPDIR to a folder that you may write to"
        yield Part("temporary files", False, str(error), PLACE, "can be written", cure)


def _place(name: str, folder: Path) -> Part:
    purpose = "can be written"
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(4096))
            file.flush()
        fact, free = str(folder.resolve()), shutil.disk_usage(folder).free // _MEGABYTE
    except OSError as error:
        cure = "work in a folder that you may write to, on a disk with free space"
        return Part(name, False, f"{folder}: {error.strerror}", PLACE, purpose, cure)
    enough = free >= _LEAST_MEGABYTES
    cure = "" if enough else f"free some disk space: up to {_LEAST_MEGABYTES} MB are needed"
    return Part(name, enough, f"{fact}, {free:,} MB free", PLACE, purpose, cure)


def _libseccomp() -> Part:
    purpose = "the filter of system calls"
    try:
        import_module("pyseccomp")  # the import itself looks for the library
    except (ImportError, RuntimeError) as error:
        why = str(error)
        return Part("libseccomp", False, why, GRADING, purpose, remedy("seccomp", why))
    return Part("libseccomp", True, f"pyseccomp {_version('pyseccomp')}", GRADING, purpose)
