"""The files of a release, made in memory: path inside the release to content.

Each exercise's folder is complete, because a student who gets one archive has nothing else. The
files for a hosting service are at the top.
"""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from autograder.building.build import TRACES
from autograder.model.exercise import MANIFEST, Exercise
from autograder.releasing.wheel import Package, requirements_text, total_size

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
    return "\n".join(
        [
            "# Build attention step by step",
            "",
            "Each folder is one exercise; begin with the README in it.",
            "",
            *lines,
            "",
        ]
    )


def graded_with() -> str:
    """Return the Python that grades: the one with which the instructor makes the release."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def binder_runtime() -> str:
    """Return the runtime.txt for Binder, because its default may be too old for the kit."""
    return f"python-{graded_with()}\n"


def files_address(repository: str, folder: str) -> str:
    """Return the address from which the files in a folder on GitHub can be downloaded."""
    return f"https://raw.githubusercontent.com/{repository}/HEAD/{folder}"


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
    address = files_address(repository, name) if repository else ""
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
            f"{BINDER}/runtime.txt": binder_runtime(),
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
