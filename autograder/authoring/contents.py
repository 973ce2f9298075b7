"""The files of a release, made in memory: path inside the release to content.

Each exercise's folder is complete, because a student who gets one archive has nothing else. The
files for a hosting service are at the top.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, PathDistribution, distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import quote

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from autograder.authoring.build import TRACES
from autograder.authoring.leak import text_of
from autograder.authoring.rungs import FILE as RUNGS
from autograder.errors import KitError
from autograder.values.exercise import GENERATED, MANIFEST, SOLUTION, Exercise, generated
from autograder.values.this_machine import ANSWERS, run_python

# The kit as students install it: a wheel with the engine and the public files of exercises.
#
# It is built from a copy that holds nothing else, or the answers for who learns alone. So a
# mistake in the packaging cannot put solutions/ or tests/ into it, and a build leaves no traces
# in the repository.

PACKAGE = Path(__file__).resolve().parent.parent
# The other files that setuptools reads.
SOURCES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")
# 1980, the earliest time in a zip file, so that the same sources give the same bytes.
EPOCH = "315532800"
LAST_LINES = 5


class Wheel(NamedTuple):
    """The kit as students install it: the file name and the bytes of its wheel."""

    name: str
    content: bytes

    @property
    def texts(self) -> dict[str, str]:
        """Every file in it as text: name to content."""
        with zipfile.ZipFile(io.BytesIO(self.content)) as archive:
            return {name: text_of(name, archive.read(name)) for name in archive.namelist()}

    @property
    def requires(self) -> list[str]:
        """The requirements in its metadata."""
        name, version = self.name.split("-")[:2]
        archive = zipfile.ZipFile(io.BytesIO(self.content))
        return (
            PathDistribution(zipfile.Path(archive, f"{name}-{version}.dist-info/")).requires or []
        )

    def packages(self, exercises: Sequence[Exercise]) -> tuple[Package, ...]:
        """Return the packages that the kit needs for these exercises."""
        torch = any(exercise.library == "torch" for exercise in exercises)
        return needed(self.requires, ["torch"] if torch else [])


def build_wheel(exercises: Sequence[Path], answers: Sequence[Path] = ()) -> Wheel:
    """Build the wheel with these folders of assignments in it.

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
        return Wheel(wheel.name, wheel.read_bytes())


def read_wheel(path: Path) -> Wheel:
    """Read a wheel; raise `KitError` if it is not the kit's."""
    if not (path.name.startswith("attention_kit-") and zipfile.is_zipfile(path)):
        raise KitError(
            "that is not a wheel of the kit", place=str(path), cure="name attention_kit-….whl"
        )
    return Wheel(path.name, path.read_bytes())


def is_answer(path: str) -> bool:
    """Return whether a path in a wheel is one of the answers for who learns alone."""
    return path.startswith(f"{PACKAGE.name}/{ANSWERS.name}/")


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


# The pages of a release: the way to begin with an exercise, and a page for all of them.
#
# On a hosting service that page is the first thing a student sees, so it links to what runs
# there.

CHECKLIST = "CHECKLIST.md"
ENVIRONMENT = "attention-env"  # beside the exercises, so that nobody hands it in
COLAB = "https://colab.research.google.com"
BINDER_SITE = "https://mybinder.org"


def exercise_readme(exercise: Exercise, size: int) -> str:
    """Return the README of one exercise: install (`size` bytes, 0: not known), open, check, hand in.

    It begins where a student is: with a zip, and without an environment. Debian's Python refuses to
    install anything outside of one.
    """
    name, first = exercise.name, exercise.steps[0].name
    room = f" (about {size / 1e6:.0f} MB)" if size else ""
    return f"""# {exercise.title}

1. **Unpack** the zip, if this page is still in one. Then open a terminal in the folder of this page.
2. **Make an environment**, once for all exercises, with Python 3.11 or newer ([python.org](https://www.python.org/downloads/)):
   - on Windows: `py -m venv ..\\{ENVIRONMENT}`
   - on macOS or Linux: `python3 -m venv ../{ENVIRONMENT}` (if Debian or Ubuntu says that ensurepip is missing: `sudo apt install python3-venv`)
3. **Enter it**, in every new terminal:
   - on Windows: `..\\{ENVIRONMENT}\\Scripts\\activate` (if PowerShell refuses to run scripts, type `cmd` first)
   - on macOS or Linux: `source ../{ENVIRONMENT}/bin/activate`
4. **Install**{room}: `python -m pip install -r requirements.txt`
5. **Open** `{name}.py` in an editor, or `{name}.ipynb` in JupyterLab (`python -m pip install jupyterlab`, then `jupyter lab`).
6. **Check** with the cell under each step, or in a terminal in this folder: `attn check {first}`, or `attn watch`.
7. **Tick off** the steps in [{CHECKLIST}]({CHECKLIST}), which names every shape.
8. **Hand in** the one file you work in, without renaming it. Expect Python {graded_with()} where it is graded: this exercise was released with it. What only a newer Python reads cannot be judged there.
"""


def release_readme(exercises: Sequence[Exercise], repository: str) -> str:
    """Return the README of a release, with links to Colab and Binder if `repository` is known."""
    head = ["exercise", "steps", "about", *(["open in a browser"] if repository else [])]
    rows = [_row(exercise, repository) for exercise in exercises]
    lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
    told = "Each folder is one exercise; begin with the README in it."
    return "\n".join(["# Build attention step by step", "", told, "", *lines, ""])


def graded_with() -> str:
    """Return the Python that grades: the one with which the instructor makes the release."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _row(exercise: Exercise, repository: str) -> list[str]:
    name = exercise.name
    cells = [f"[{exercise.title}]({name}/)", str(len(exercise.steps)), f"{exercise.minutes} min"]
    if repository:
        notebook = f"{name}/{name}.ipynb"
        colab = f"{COLAB}/github/{repository}/blob/HEAD/{notebook}"
        binder = f"{BINDER_SITE}/v2/gh/{repository}/HEAD?labpath={quote(notebook, safe='')}"
        cells.append(
            f"[![Open in Colab]({COLAB}/assets/colab-badge.svg)]({colab}) "
            f"[![Binder]({BINDER_SITE}/badge_logo.svg)]({binder})"
        )
    return cells


# The one cell that a released notebook has in addition to the assignment: it installs the kit.
#
# Google Colab begins with an empty machine and only the notebook, so there the cell also fetches
# the exercise's files. If the kit is already installed, the cell does nothing.

CELL_ID = "install"
HEAD = """\
# Installs the exercise kit if it is missing, as on Google Colab; otherwise it does nothing.
from importlib.util import find_spec
"""
BESIDE = """
if find_spec("autograder") is None:
    %pip install --quiet ./{wheel}
"""
ONLINE = """from os.path import exists

if find_spec("autograder") is None:
    if exists("{wheel}"):
        %pip install --quiet ./{wheel}
    else:
        %pip install --quiet {address}/{wheel}
        !attn start . --exercise {exercise}
"""


def with_first_cell(notebook: str, exercise: str, wheel: str, address: str = "") -> str:
    """Return the text of the notebook with a first cell that installs `wheel`.

    `address` is the online address of the exercise's folder, or "".
    """
    facts: dict[str, Any] = json.loads(notebook)
    body = ONLINE if address else BESIDE
    source = HEAD + body.format(wheel=wheel, address=address, exercise=exercise)
    cell: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "id": CELL_ID,
        "metadata": {},
        "outputs": [],
        "source": source.rstrip("\n").splitlines(keepends=True),
    }
    changed = {**facts, "cells": [cell, *facts["cells"]]}
    # As nbformat writes it, so that nothing else in the file differs.
    return json.dumps(changed, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


REQUIREMENTS = "requirements.txt"
BINDER = "binder"
README = "README.md"
# The same files give the same archive.
ZIP_TIME = (1980, 1, 1, 0, 0, 0)

Files = dict[str, bytes]


def exercise_files(
    exercise: Exercise,
    assignment: Path,
    *,
    wheel: str,
    packages: Sequence[Package],
    repository: str = "",
) -> Files:
    """Return the files of one exercise, except for the wheel, which is only named in them."""
    name = exercise.name
    there = {
        path.name: path.read_bytes()
        for path in sorted(assignment.iterdir())
        if path.is_file() and path.name not in TRACES
    }
    texts = {file: there[file].decode("utf-8") for file in (MANIFEST, README, f"{name}.ipynb")}
    texts[MANIFEST] = f'graded_with = "{graded_with()}"\n{texts[MANIFEST]}'
    texts[CHECKLIST] = texts[README]
    texts[README] = exercise_readme(exercise, total_size(packages))
    files = f"https://raw.githubusercontent.com/{repository}/HEAD/{name}"
    address = files if repository else ""
    texts[f"{name}.ipynb"] = with_first_cell(texts[f"{name}.ipynb"], name, wheel, address)
    texts[REQUIREMENTS] = requirements_text(f"./{wheel}", packages)
    made = there | _encoded(texts)
    return {f"{name}/{file}": made[file] for file in sorted(made)}


def common_files(
    exercises: Sequence[Exercise],
    *,
    wheel: str,
    packages: Sequence[Package],
    repository: str = "",
) -> Files:
    """Return the files at the top: a page, and what Binder needs to install everything."""
    ordered = sorted(exercises, key=lambda exercise: (exercise.difficulty, exercise.name))
    return _encoded(
        {
            README: release_readme(ordered, repository),
            f"{BINDER}/{REQUIREMENTS}": requirements_text(f"./{wheel}", packages),
            # Binder's default may be too old for the kit.
            f"{BINDER}/runtime.txt": f"python-{graded_with()}\n",
        }
    )


def archive_of(files: Mapping[str, bytes], executable: Collection[str] = ()) -> bytes:
    """Return a zip of the files; those named in `executable` are marked as programs."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, ZIP_TIME)
            entry.create_system = 3  # Unix, whose rights these are
            entry.external_attr = (0o755 if path in executable else 0o644) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return written.getvalue()


def _encoded(texts: Mapping[str, str]) -> Files:
    return {path: text.encode("utf-8") for path, text in texts.items()}
