"""The kit as students install it: a wheel with the engine and the public files of exercises.

It is built from a copy that holds nothing else, or the answers for who learns alone. So a mistake
in the packaging cannot put solutions/ or tests/ into it, and a build leaves no traces in the
repository.
"""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, PathDistribution, distribution
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from autograder.building.leak import text_of
from autograder.errors import KitError
from autograder.ladder.rungs import FILE as RUNGS
from autograder.model.exercise import GENERATED, SOLUTION, generated
from autograder.model.import_path import run_python
from autograder.model.shipped import ANSWERS

PACKAGE = Path(__file__).resolve().parent.parent
# The other files that setuptools reads.
SOURCES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")
# 1980, the earliest time in a zip file, so that the same sources give the same bytes.
EPOCH = "315532800"
LAST_LINES = 5


def build_wheel(exercises: Sequence[Path], answers: Sequence[Path] = ()) -> tuple[str, bytes]:
    """Build the wheel with these folders of assignments in it; return its file name and bytes.

    `answers` are folders of solutions: the code and the lines to sort of each are in the wheel.

    This works without a network. Raises `KitError` if the build fails, or if the kit runs from an
    installation, which has no sources.
    """
    root = PACKAGE.parent
    if not (root / "pyproject.toml").is_file():
        raise KitError(
            "the kit runs from an installation, so there are no sources to build its wheel from",
            place=str(PACKAGE),
            cure="name the wheel that you installed it from with --wheel, "
            "or run this in a clone of the repository",
        )
    with TemporaryDirectory(prefix="attention-kit-") as folder:
        stage, out = Path(folder, "kit"), Path(folder, "out")
        _stage(root, stage, exercises)
        _stage_answers(stage, answers)
        _run_pip(stage, out)
        wheel = next(out.glob("*.whl"))
        return wheel.name, wheel.read_bytes()


def read_wheel(path: Path) -> tuple[str, bytes]:
    """Return the file name and bytes of a wheel; raise `KitError` if it is not the kit's."""
    if not (path.name.startswith("attention_kit-") and zipfile.is_zipfile(path)):
        raise KitError(
            "that is not a wheel of the kit", place=str(path), cure="name attention_kit-….whl"
        )
    return path.name, path.read_bytes()


def is_answer(path: str) -> bool:
    """Return whether a path in a wheel is one of the answers for who learns alone."""
    return path.startswith(f"{PACKAGE.name}/{ANSWERS.name}/")


def wheel_texts(path: Path) -> dict[str, str]:
    """Return every file in a wheel as text: name to content."""
    with zipfile.ZipFile(path) as archive:
        return {name: text_of(name, archive.read(name)) for name in archive.namelist()}


def wheel_requires(path: Path) -> list[str]:
    """Return the requirements in the wheel's metadata."""
    name, version = path.name.split("-")[:2]
    inside = zipfile.Path(path, f"{name}-{version}.dist-info/")
    return PathDistribution(inside).requires or []


def _stage(root: Path, stage: Path, exercises: Sequence[Path]) -> None:
    without = shutil.ignore_patterns("__pycache__", "assignments", ANSWERS.name)
    shutil.copytree(PACKAGE, stage / PACKAGE.name, ignore=without)
    for name in SOURCES:
        if (root / name).is_file():
            shutil.copyfile(root / name, stage / name)
    for folder in exercises:
        target = stage / "assignments" / folder.name
        target.mkdir(parents=True)
        for file in folder.iterdir():
            if file.is_file():
                shutil.copyfile(file, target / file.name)


def _stage_answers(stage: Path, answers: Sequence[Path]) -> None:
    for folder in answers:
        target = stage / ANSWERS.name / folder.name
        (target / GENERATED).mkdir(parents=True)
        shutil.copyfile(folder / SOLUTION, target / SOLUTION)
        if (rungs := generated(folder, RUNGS)).is_file():
            shutil.copyfile(rungs, target / GENERATED / RUNGS)


def _run_pip(stage: Path, out: Path) -> None:
    options = "--quiet --no-deps --no-index --no-build-isolation".split()
    command = ("-m", "pip", "wheel", *options, "--wheel-dir", str(out), str(stage))
    done = run_python(command, environment={**os.environ, "SOURCE_DATE_EPOCH": EPOCH})
    if done.failed:
        raise KitError(
            f"pip could not build the kit's wheel: {' / '.join(done.said[-LAST_LINES:])}",
            place=sys.executable,
            cure="install the build tool and release again: python -m pip install 'setuptools>=77'",
        )


# What a student's `pip install` installs: the kit's wheel, and one version of each package.
#
# These are the versions with which the instructor grades, so that no check differs from the grade
# because of a library. PyTorch's own requirements differ between systems, so they are left to
# pip.

LEFT_TO_PIP = ("torch",)
CPU_INDEX = "--extra-index-url=https://download.pytorch.org/whl/cpu"
CPU_REASON = "# PyTorch for the CPU, which is enough here and the smallest download on Linux."


@dataclass(frozen=True)
class Package:
    """One package that a student needs; `installed` is the copy found here, if there is one."""

    name: str
    line: str
    installed: Distribution | None

    @property
    def size(self) -> int:
        """The installed size in bytes, or 0 if it is not installed here."""
        files = (self.installed.files if self.installed else None) or ()
        paths = [Path(str(file.locate())) for file in files if ".." not in file.parts]
        return sum(path.stat().st_size for path in paths if path.is_file())


def needed(requires: Sequence[str], extras: Sequence[str] = ()) -> tuple[Package, ...]:
    """Return all packages that these requirements need, directly or not, sorted by name."""
    found: dict[str, Package] = {}
    for requirement in _apply(requires, extras):
        _walk(requirement, found)
    return tuple(found[name] for name in sorted(found))


def total_size(packages: Sequence[Package]) -> int:
    """Return the installed size of the packages in bytes, or 0 if one of them is unknown."""
    known = all(each.installed and each.name not in LEFT_TO_PIP for each in packages)
    return sum(each.size for each in packages) if known else 0


def requirements_text(wheel: str, packages: Sequence[Package]) -> str:
    """Return a requirements.txt with the wheel (a path) and the packages."""
    index = [CPU_REASON, CPU_INDEX] if any(each.name == "torch" for each in packages) else []
    return "\n".join([*index, wheel, *(each.line for each in packages)]) + "\n"


def _walk(requirement: Requirement, found: dict[str, Package]) -> None:
    name = canonicalize_name(requirement.name)
    if name in found and not requirement.extras:
        return
    try:
        installed = distribution(name)
    except PackageNotFoundError:
        found[name] = Package(name, f"{name}{requirement.specifier}", None)
        return
    # Other systems do not find the version of a build for one processor (+cpu).
    version = Version(installed.version).public
    found[name] = Package(name, f"{name}=={version}", installed)
    if name not in LEFT_TO_PIP:
        for each in _apply(installed.requires or [], sorted(requirement.extras)):
            _walk(each, found)


def _apply(requires: Sequence[str], extras: Sequence[str]) -> Iterator[Requirement]:
    """Give the requirements that apply here, with these extras."""
    for text in requires:
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement
