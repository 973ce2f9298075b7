"""The files of a release, made in memory: path inside the release to content.

Each exercise's folder is complete, because a student who gets one archive has nothing else. The
files for a hosting service are at the top.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from autograder.building.build import TRACES
from autograder.model.exercise import MANIFEST, Exercise
from autograder.releasing import pages
from autograder.releasing.first_cell import with_first_cell
from autograder.releasing.requirements import Package, requirements_text, total_size

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
    texts = {
        path.name: path.read_text(encoding="utf-8")
        for path in sorted(assignment.iterdir())
        if path.is_file() and path.name not in TRACES
    }
    texts[MANIFEST] = f'graded_with = "{pages.graded_with()}"\n{texts[MANIFEST]}'
    texts[pages.CHECKLIST] = texts[README]
    texts[README] = pages.exercise_readme(exercise, total_size(packages))
    address = pages.files_address(repository, name) if repository else ""
    texts[f"{name}.ipynb"] = with_first_cell(texts[f"{name}.ipynb"], name, wheel, address)
    texts[REQUIREMENTS] = requirements_text(f"./{wheel}", packages)
    return _encoded({f"{name}/{file}": text for file, text in texts.items()})


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
            README: pages.release_readme(ordered, repository),
            f"{BINDER}/{REQUIREMENTS}": requirements_text(f"./{wheel}", packages),
            f"{BINDER}/runtime.txt": pages.binder_runtime(),
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
