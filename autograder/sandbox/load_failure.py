"""Why workers cannot load a library that they need: the real cause, and its cure.

"Not installed" is only one of many causes. The library may lie where no worker looks, need a file
that workers cannot see, or be broken outside the sandbox too. So the host looks and tries itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from autograder.errors import KitError
from autograder.model.python_run import run_python
from autograder.model.sanitize import terminal_line
from autograder.sandbox import remedies
from autograder.sandbox.package_folders import PackageFolders, location

_SECONDS, _MOST_WORDS = 120.0, 300
_MISSING_FILES = ("cannot open shared object file", "No such file", "Permission denied")


def load_failure(library: str, greeting: Mapping[str, object], folders: PackageFolders) -> KitError:
    """Return the error about `library`, which no worker can use.

    `greeting` is what the zygote said: how it `failed` and, if an import failed, the `module`
    that was not found ("" when every module was found).
    """
    said = str(greeting.get("failed", greeting))
    if "module" not in greeting:
        return KitError(
            f"the sandbox cannot work with {library}: {said}",
            place=sys.executable,
            cure=remedies.REPORT,
        )
    return _not_imported(library, said, str(greeting["module"]), folders)


def _not_imported(library: str, said: str, module: str, folders: PackageFolders) -> KitError:
    name = (module or library).partition(".")[0]
    what = library if name == library else f"{library}, which needs {name}"
    where = location(name)
    if where is None:
        return KitError(
            f"the sandbox cannot load {what}: {name} is not installed for this Python",
            place=sys.executable,
            cure=f"install it: `{sys.executable} -m pip install {name}`",
        )
    exclusion = folders.exclusion_of(where)
    if exclusion and not folders.shows(where):
        return KitError(
            f"the sandbox cannot load {what}: it is installed in {exclusion.folder}, which no "
            f"worker may see: {exclusion.reason}",
            place=str(where),
            cure=f"install {name} into a folder that holds only packages, such as {sys.prefix}",
        )
    if hidden := _not_shown(where, folders):
        return KitError(
            f"the sandbox cannot load {what}: {name} lies in {where}, {hidden}",
            place=str(where),
            cure=f"install {name} as plain files into a folder of sys.path: no `--editable`, no "
            "links to a cache (`uv pip install --link-mode=copy`)",
        )
    return _broken(what, library, where, said)


def _not_shown(where: Path, folders: PackageFolders) -> str:
    """Say which part of a package no worker can see, "" when workers see all of it."""
    if not folders.shows(where):
        return "where an import hook finds it; workers look only in the folders of sys.path"
    for folder, _, names in os.walk(where):
        for file in (Path(folder, name) for name in names):
            if file.is_symlink() and not folders.shows(file):
                return (
                    f"and its files are links to {file.resolve().parent}, which workers cannot see"
                )
    return ""


def _broken(what: str, library: str, where: Path, said: str) -> KitError:
    outside = _import_outside(library)
    if outside:
        return KitError(
            f"{what} cannot be imported by this Python, inside the sandbox or outside: {outside}",
            place=str(where),
            cure=f"reinstall it (`{sys.executable} -m pip install --force-reinstall {library}`)",
        )
    fact = f"the sandbox cannot load {what}, though it is installed and loads outside: "
    cure = f"let every user read it (`chmod -R go+rX {where}`)"
    if any(words in said for words in _MISSING_FILES):
        cure += ", and install it from a wheel, which brings the libraries that it needs"
        if os.environ.get("LD_LIBRARY_PATH"):
            cure += (
                "; from LD_LIBRARY_PATH, workers see only what lies below the interpreter or its "
                "packages"
            )
    return KitError(
        fact + terminal_line(said, _MOST_WORDS),
        place=str(where),
        cure=f"{cure}; `attn doctor` tries it again",
    )


def _import_outside(library: str) -> str:
    """Import the library in a process of its own, without the sandbox; return how it failed."""
    code = f"import sys; sys.path[:] = {sys.path!r}; import {library}"
    try:
        run = run_python(("-P", "-c", code), folder=Path("/"), seconds=_SECONDS)
    except subprocess.TimeoutExpired:
        return f"it takes longer than {_SECONDS:g} seconds"
    if not run.failed:
        return ""
    return terminal_line(run.said[-1] if run.said else f"exit code {run.code}", _MOST_WORDS)
