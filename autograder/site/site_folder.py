"""Makes a site: a folder of files that any static host can serve, and a browser keeps.

A page's Python finds the kit in `kit.zip`: the modules that a check imports, the public files of
the exercises, and the libraries that students' code imports besides NumPy.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

from autograder.building.guide import GUIDE_STYLE
from autograder.errors import KitError
from autograder.ladder.rungs import FILE as RUNGS
from autograder.ladder.rungs import read_rungs
from autograder.model.exercise import (
    EXAMPLES,
    GENERATED,
    MANIFEST,
    MISTAKE_COSTS,
    SOLUTION,
    Exercise,
    generated,
)
from autograder.model.shipped import PACKAGE
from autograder.releasing.contents import with_first_cell
from autograder.site.exercise_page import LICENSES, ExercisePage, start_page
from autograder.site.parts import EDITOR, EDITOR_LICENSES, NPM, NUMPY, PYODIDE_FILES
from autograder.site.script_pieces import ScriptPieces

DOWNLOADS = "download"
LOCK = "pyodide-lock.json"
STATIC = Path(__file__).with_name("static")
LIBRARIES = ("jaxtyping", "wadler-lindig")
# Of the kit, what a check needs no more of than its source.
ROOMS = (
    *("errors", "heatmaps", "judging", "ladder", "learning", "model", "notebook", "play"),
    *("protocol", "reports", "site", "submission"),
)
PUBLIC = (MANIFEST, EXAMPLES, MISTAKE_COSTS)
PYODIDE_LICENSE = """\
Pyodide {version}, with Python and its standard library

Pyodide is under the Mozilla Public License 2.0, which follows; its source is at
https://github.com/pyodide/pyodide. Python is under the license of the Python Software Foundation,
https://docs.python.org/3/license.html.

"""
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the same site from the same files


@dataclass(frozen=True)
class SiteOptions:
    """What a site is made of: exercises, and where Python for browsers and the editor lie.

    course: the name of a course, or "". wheel: the kit's file name and bytes, for the notebooks of
    exercises that need more than NumPy. answers: the folder of the solutions, for lines to sort,
    where those who read may have them.
    """

    exercises: Sequence[Exercise]
    parts: Path
    course: str = ""
    wheel: tuple[str, bytes] = ("", b"")
    answers: Path | None = None

    @property
    def to_download(self) -> tuple[Exercise, ...]:
        """The exercises that no browser can run."""
        return tuple(each for each in self.exercises if each.library != "numpy")


def make_site(options: SiteOptions, folder: Path) -> tuple[int, int]:
    """Write a site into a new `folder`.

    Return the size in bytes of what a browser keeps, and of what is there to download. Raises
    `KitError` when there is something in the folder.
    """
    if folder.exists() and any(folder.iterdir()):
        cure = "name a new folder, or delete this one"
        raise KitError("there is something in the folder", place=str(folder), cure=cure)
    downloads = dict(_downloads(options))
    files = dict(_files(options))
    files["service.js"] = _service(files)
    for name, content in (files | downloads).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return sum(map(len, files.values())), sum(map(len, downloads.values()))


def _downloads(options: SiteOptions) -> Iterator[tuple[str, bytes]]:
    wheel, content = options.wheel
    for exercise in options.to_download:
        notebook = (exercise.folder / f"{exercise.name}.ipynb").read_text(encoding="utf-8")
        installs = with_first_cell(notebook, exercise.name, wheel)
        yield f"{DOWNLOADS}/{exercise.name}.ipynb", installs.encode()
    if options.to_download:
        yield f"{DOWNLOADS}/{wheel}", content


def _files(options: SiteOptions) -> Iterator[tuple[str, bytes]]:
    parts, to_download = options.parts, options.to_download
    exercises = [each for each in options.exercises if each not in to_download]
    addresses = {each.name: f"{DOWNLOADS}/{each.name}.ipynb" for each in to_download}
    wheel = options.wheel[0]
    addresses[wheel] = f"{DOWNLOADS}/{wheel}"
    yield "index.html", start_page(options.exercises, options.course, wheel, addresses).encode()
    for exercise in exercises:
        yield f"{exercise.name}.html", _page(exercise, options).html().encode()
    for name in ("page.js", "worker.js"):
        yield name, (STATIC / name).read_bytes()
    own = (STATIC / "page.css").read_text(encoding="utf-8")
    yield "page.css", (GUIDE_STYLE + own).encode()
    yield EDITOR, (parts / EDITOR).read_bytes()
    for name in PYODIDE_FILES:
        content = (parts / name).read_bytes()
        yield f"pyodide/{name}", _lock(content) if name == LOCK else content
    yield f"pyodide/{NUMPY}", (parts / NUMPY).read_bytes()
    yield "kit.zip", _archive(exercises, options.answers)
    yield LICENSES, "\n\n\n".join(_licenses(parts)).encode()


def _page(exercise: Exercise, options: SiteOptions) -> ExercisePage:
    guide, script = (
        (exercise.folder / name).read_text(encoding="utf-8")
        for name in ("guide.html", f"{exercise.name}.py")
    )
    steps = [step.name for step in exercise.steps]
    rungs = read_rungs(generated(options.answers / exercise.name, RUNGS)) if options.answers else {}
    return ExercisePage(exercise, guide, ScriptPieces.of(script, steps), options.course, rungs)


def _lock(content: bytes) -> bytes:
    """Return Pyodide's list of packages with NumPy alone: no other is there to be loaded."""
    facts = json.loads(content)
    facts["packages"] = {"numpy": facts["packages"]["numpy"]}
    return json.dumps(facts).encode()


def _archive(exercises: Sequence[Exercise], answers: Path | None) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in sorted(_packed(exercises, answers)):
            archive.writestr(zipfile.ZipInfo(name, _LONG_AGO), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _packed(exercises: Sequence[Exercise], answers: Path | None) -> Iterator[tuple[str, bytes]]:
    for path in PACKAGE.rglob("*"):
        parts = path.relative_to(PACKAGE).parts
        ours = parts[0].removesuffix(".py") in (*ROOMS, "__init__")
        if ours and path.suffix in (".py", ".npz"):
            yield f"{PACKAGE.name}/{'/'.join(parts)}", path.read_bytes()
    for exercise in exercises:
        for name in (*PUBLIC, f"{exercise.name}.py"):
            if (exercise.folder / name).is_file():
                yield f"assignments/{exercise.name}/{name}", (exercise.folder / name).read_bytes()
        if answers:
            folder, target = answers / exercise.name, f"assignments/{exercise.name}"
            yield f"{target}/{SOLUTION}", (folder / SOLUTION).read_bytes()
            yield f"{target}/{GENERATED}/{RUNGS}", generated(folder, RUNGS).read_bytes()
    for library in LIBRARIES:
        for file in distribution(library).files or ():
            if file.suffix == ".py" or file.name == "METADATA":
                yield str(file), file.read_binary()


def _licenses(parts: Path) -> Iterator[str]:
    """Give the licenses of all that a browser gets, each below the name of what it is for."""
    if (PACKAGE.parent / "LICENSE").is_file():  # in a clone
        yield f"attention-kit\n\n{(PACKAGE.parent / 'LICENSE').read_text(encoding='utf-8').strip()}"
    wanted = json.loads((NPM / "package.json").read_text(encoding="utf-8"))["dependencies"]
    mozilla = (STATIC / "MPL-2.0.txt").read_text(encoding="utf-8").strip()
    yield PYODIDE_LICENSE.format(version=wanted["pyodide"]) + mozilla
    with zipfile.ZipFile(parts / NUMPY) as wheel:
        own = next(name for name in wheel.namelist() if name.endswith("licenses/LICENSE.txt"))
        yield f"{NUMPY}, which has those of its parts in it\n\n{wheel.read(own).decode().strip()}"
    for library in LIBRARIES:
        for file in distribution(library).files or ():
            if file.name == "LICENSE":
                yield f"{file}\n\n{file.read_text().strip()}"
    yield (parts / EDITOR_LICENSES).read_text(encoding="utf-8")


def _service(files: dict[str, bytes]) -> bytes:
    """Return the script that keeps the files offline, under a name that changes with them."""
    version = hashlib.sha256(b"".join(files[name] for name in sorted(files))).hexdigest()[:12]
    kept = ["./", *sorted(files)]
    text = (STATIC / "service.js").read_text(encoding="utf-8")
    return text.replace("@VERSION@", version).replace('"@FILES@"', json.dumps(kept)).encode()
