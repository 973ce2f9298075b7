"""Installations as other people have them, and commands that know nothing of who runs the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

from support.typed_commands import Run

PACKAGES = Path(np.__file__).parents[1]
Put = Callable[[str, str], object]


def link(source: str, target: str) -> None:
    """Make `target` the same file as `source`, or a copy of it."""
    try:
        os.link(source, target)
    except OSError:  # on another disk, or another user's
        shutil.copy(source, target)


def new_environment(folder: Path, *options: str) -> tuple[str, Path]:
    """Make an environment with nothing in it; return its interpreter and its site-packages."""
    command = [sys.executable, "-m", "venv", "--without-pip", *options, str(folder)]
    subprocess.run(command, check=True, env={"PATH": os.environ["PATH"]})
    (site,) = (folder / "lib").glob("python3*/site-packages")
    return str(folder / "bin" / "python"), site


def put_packages(folder: Path, names: Iterable[str], put: Put = link) -> None:
    """Put the packages `names` (patterns) of this interpreter into `folder`, each file by `put`."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in (path for name in names for path in PACKAGES.glob(name)):
        put_package(folder, package, put)


def put_package(folder: Path, package: Path, put: Put = link) -> None:
    target = folder / package.name
    if package.is_dir():
        left_out = shutil.ignore_patterns("__pycache__", "tests")
        shutil.copytree(package, target, ignore=left_out, copy_function=put)
    else:
        put(str(package), str(target))


def run_bare(command: list[str], environment: Mapping[str, str], folder: Path = Path("/")) -> Run:
    """Run a command with these environment variables, PATH and no others."""
    run = subprocess.run(
        command,
        cwd=folder,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return Run(run.returncode, run.stdout, run.stderr)
