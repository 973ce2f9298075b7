"""A student's disk: a fresh virtual environment with what they install, and their handout.

No network is needed: the packages that the handout's requirements.txt names are copied from
this environment, file by file as their own lists of files say. What is not named is not there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import venv
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

from autograder.authoring.contents import needed
from autograder.authoring.leak import CODE_FILES, Secret, refuse_leaks
from autograder.errors import KitError
from autograder.values.exercise import SOLUTION

PIN = re.compile(r"^([A-Za-z0-9._-]+)==", re.MULTILINE)
# A shorter line may stand in any library.
DISTINCTIVE = 30


@dataclass(frozen=True)
class Disk:
    """A folder with a virtual environment (`venv`), a handout and a home in it."""

    root: Path
    handout: Path

    @property
    def python(self) -> Path:
        return self.root / "venv" / "bin" / "python"

    @property
    def packages(self) -> Path:
        (found,) = (self.root / "venv" / "lib").glob("python*/site-packages")
        return found

    @property
    def environment(self) -> dict[str, str]:
        """As on a computer of one's own, with no index of packages in reach."""
        return {
            "PATH": os.pathsep.join((str(self.python.parent), "/usr/bin", "/bin")),
            "HOME": str(self.root / "home"),
            "LANG": "C.UTF-8",
            "PIP_NO_INDEX": "1",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }

    def run(self, *command: str | Path, within: Path | None = None) -> tuple[int, str]:
        """Run a command in the handout; return its exit code and all it printed."""
        done = subprocess.run(
            [str(part) for part in command],
            cwd=within or self.handout,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        return done.returncode, done.stdout

    def attn(self, *arguments: str) -> tuple[int, str]:
        return self.run(self.python.parent / "attn", *arguments)


def new_disk(root: Path, archive: Path) -> Disk:
    """Unpack a handout, and make an environment with pip and all that the handout names."""
    (root / "home").mkdir(parents=True)
    with zipfile.ZipFile(archive) as handed_out:
        handed_out.extractall(root)
    disk = Disk(root, root / archive.stem)
    venv.create(root / "venv", symlinks=True)
    named = (disk.handout / "requirements.txt").read_text(encoding="utf-8")
    copy_packages([*PIN.findall(named), "pip"], disk.packages)
    return disk


def jupyter_packages(folder: Path) -> Path:
    """Put Jupyter's kernel into a folder of its own, for what runs a notebook and nothing else."""
    copy_packages([package.name for package in needed(["ipykernel"])], folder)
    return folder


def copy_packages(names: Iterable[str], target: Path) -> None:
    for name in names:
        found = distribution(name)
        for file in found.files or ():
            source = Path(str(found.locate_file(file)))
            if ".." not in file.parts and source.is_file():
                (target / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target / file)  # with its time, for the compiled files


def given_away(root: Path, secrets: tuple[Secret, ...]) -> list[str]:
    """Name every file below `root` that is, or holds, what only instructors may read.

    The kit and the handout are searched for any secret line within a line; every other file for
    the longer ones as whole lines.
    """
    lines = {secret.text for secret in secrets if len(secret.text) >= DISTINCTIVE}
    found = []
    for name, text in _texts(root):
        parts = name.split("/")
        own = "autograder" in parts or "site-packages" not in parts
        # The engine has a module of its own with one of these names.
        secret = parts[-1] in (SOLUTION, *CODE_FILES) and "authoring" not in parts
        whole = not lines.isdisjoint("".join(line.split()) for line in text.splitlines())
        if secret or whole or (own and _leaks(name, text, secrets)):
            found.append(name)
    return found


def _leaks(name: str, text: str, secrets: tuple[Secret, ...]) -> bool:
    try:
        refuse_leaks(secrets, {name: text})
    except KitError:
        return True
    return False


def _texts(root: Path) -> Iterator[tuple[str, str]]:
    """Every file that is text: name and content; what an archive holds too."""
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        name, data = path.relative_to(root).as_posix(), path.read_bytes()
        if path.suffix in (".whl", ".zip"):
            with zipfile.ZipFile(path) as archive:
                for inner in archive.namelist():
                    yield f"{name}/{inner}", archive.read(inner).decode("utf-8", "replace")
        elif b"\0" not in data[:8192]:
            yield name, data.decode("utf-8", "replace")


def kernel_of(disk: Disk, jupyter: Path, folder: Path) -> Path:
    """Write a kernel that runs the disk's Python into `folder`; return JUPYTER_PATH for it."""
    spec = {
        "argv": [str(disk.python), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "the student's Python",
        "language": "python",
        "env": {**disk.environment, "PYTHONPATH": str(jupyter)},
    }
    kernel = folder / "kernels" / "student"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    return folder
