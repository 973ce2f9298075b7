"""Makes a workspace from the public files of exercises; a learner's work is never overwritten.

The files come with the package: inside it in an installation, beside it in the repository.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.building.checklist import for_oneself
from autograder.errors import KitError
from autograder.learning.own_work import WORK
from autograder.learning.state.workspace import Workspace, is_workspace, workspace_at
from autograder.model.exercise import MANIFEST, find_exercise
from autograder.model.shipped import shipped

README = "README.md"


@dataclass(frozen=True)
class CreatedWorkspace:
    """A workspace, with the work that `attn start` kept and the files that it updated."""

    workspace: Workspace
    kept: tuple[Path, ...]
    updated: tuple[Path, ...]


def create_workspace(root: Path, names: Sequence[str]) -> CreatedWorkspace:
    """Make `root` a workspace with these exercises (all by default); leave work as it is.

    Raises `KitError` for an unknown exercise, or when `root` is a file or inside a workspace.
    """
    source = shipped()
    _refuse_inside_another(root)
    if root.exists() and not root.is_dir():
        raise KitError(
            "a file of that name already exists", place=str(root), cure="name a new folder"
        )
    chosen = names or sorted(path.parent.name for path in source.glob(f"*/{MANIFEST}"))
    exercises = [find_exercise(name, source) for name in chosen]
    done: dict[str, list[Path]] = {"made": [], "kept": [], "updated": [], "same": []}
    for exercise in exercises:
        target = root / exercise.name
        target.mkdir(parents=True, exist_ok=True)
        for file in sorted(path for path in exercise.folder.iterdir() if path.is_file()):
            done[_lay(file, target / file.name)].append(target / file.name)
    return CreatedWorkspace(
        workspace_at(root.resolve()), tuple(done["kept"]), tuple(done["updated"])
    )


def _refuse_inside_another(root: Path) -> None:
    around = next(filter(is_workspace, root.resolve().parents), None)
    if around:
        raise KitError(
            "this folder is inside a workspace, and another one in there would know nothing of "
            "the work in it",
            place=str(root.resolve()),
            cure=f"go on in {around}; `attn start {shlex.quote(str(around))}` brings its "
            "exercises up to date. For a second workspace, name a folder outside",
        )


def _lay(file: Path, path: Path) -> str:
    """Copy a file to `path`, except over work; return "made", "same", "kept" or "updated"."""
    content = file.read_bytes()
    if file.name == README:
        content = for_oneself(content.decode("utf-8")).encode("utf-8")
    if not path.exists():
        path.write_bytes(content)
        return "made"
    if path.read_bytes() == content:
        return "same"
    if path.suffix in WORK:
        return "kept"
    path.write_bytes(content)
    return "updated"
