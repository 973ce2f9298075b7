"""The pages of a release: the way to begin with an exercise, and a page for all of them.

On a hosting service that page is the first thing a student sees, so it links to what runs there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from urllib.parse import quote

from autograder.model.exercise import Exercise

CHECKLIST = "CHECKLIST.md"
ENVIRONMENT = "attention-env"  # beside the exercises, so that nobody hands it in
COLAB = "https://colab.research.google.com"
BINDER = "https://mybinder.org"


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
        binder = f"{BINDER}/v2/gh/{repository}/HEAD?labpath={quote(notebook, safe='')}"
        cells.append(
            f"[![Open in Colab]({COLAB}/assets/colab-badge.svg)]({colab}) "
            f"[![Binder]({BINDER}/badge_logo.svg)]({binder})"
        )
    return cells
