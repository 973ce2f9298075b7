"""A hash of all that decides a verdict except the submission: exercise, engine, libraries."""

from __future__ import annotations

import ast
import hashlib
import json
import platform
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path

from autograder import __version__
from autograder.model.exercise import MANIFEST, WALKTHROUGH, shared_folders

_LIBRARIES = ("numpy", "torch", "pytest")


def exercise_hash(folder: Path) -> str:
    """Return a hash of all that decides a verdict: the exercise, this package, its libraries.

    What the exercise shares with others is part of it.
    """
    own = sorted([*folder.glob("*.py"), *folder.glob("*.toml")])
    shared = [path for each in shared_folders(folder) for path in sorted(each.rglob("*.py"))]
    return _hash([*own, *shared], _engine_hash())


def judging_hash(folder: Path) -> str:
    """Return a hash of what decides whether a step is right, but not of its points and words.

    Comments, and prose that stands in them, do not count; neither do titles, hints and minutes, or
    the diagram and the numbers in the prose.
    """
    own = [(file.name, file) for file in sorted(folder.glob("*.py")) if file.name != WALKTHROUGH]
    shared = [
        (path.relative_to(each.parent).as_posix(), path)
        for each in shared_folders(folder)
        for path in sorted(each.rglob("*.py"))
    ]
    programs = {name: ast.dump(ast.parse(path.read_bytes())) for name, path in [*own, *shared]}
    facts = tomllib.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    for step in facts.get("steps", ()):
        for words in ("title", "points", "hints", "similar", "minutes"):
            step.pop(words, None)
    for words in ("title", "diagram"):
        facts.pop(words, None)
    text = json.dumps([programs, facts, _engine_hash()], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def engine_versions() -> dict[str, str]:
    """Return what judges besides the exercise: the kit, a hash of its source, Python, libraries."""
    versions = {"Python": platform.python_version()}
    versions |= {library: _version(library) for library in _LIBRARIES}
    return {"attention-kit": __version__, "its source": _source_hash()} | versions


def judged_by() -> str:
    """Return what judges in words: the kit and Python, each with its version."""
    return f"attention-kit {__version__}, Python {platform.python_version()}"


@cache
def _engine_hash() -> str:
    versions = [platform.python_version(), *map(_version, _LIBRARIES)]
    return _hash((), " ".join([_source_hash(), *versions]))


@cache
def _source_hash() -> str:
    package = Path(__file__).resolve().parent.parent
    return _hash(sorted(package.rglob("*.py")), "")


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "none"


def _hash(files: Iterable[Path], start: str) -> str:
    digest = hashlib.sha256(start.encode())
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()
