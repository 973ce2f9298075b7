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
from importlib.metadata import distribution
from pathlib import Path

from autograder.errors import KitError
from autograder.model.exercise import MANIFEST, Exercise
from autograder.model.shipped import PACKAGE
from autograder.site.exercise_page import ExercisePage, start_page
from autograder.site.parts import EDITOR, NUMPY, PYODIDE_FILES
from autograder.site.script_pieces import ScriptPieces

LOCK = "pyodide-lock.json"
STATIC = Path(__file__).with_name("static")
LIBRARIES = ("jaxtyping", "wadler-lindig")
# Of the kit, what a check needs no more of than its source.
ROOMS = (
    *("errors", "heatmaps", "judging", "language_model", "learning", "model", "notebook"),
    *("protocol", "reports", "site", "submission", "training_tasks"),
)
PUBLIC = (MANIFEST, "examples.json", "mistake_costs.json")
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the same site from the same files


def make_site(exercises: Sequence[Exercise], parts: Path, folder: Path) -> int:
    """Write a site of these exercises into a new `folder`; return its size in bytes.

    Raises `KitError` when the folder is there, or an exercise needs what no browser has.
    """
    for exercise in exercises:
        if exercise.library != "numpy":
            raise KitError(
                f"{exercise.title} needs {exercise.library}, and no browser has it",
                place=str(exercise.folder),
                cure="leave it out: its notebook runs in JupyterLab",
            )
    if folder.exists() and any(folder.iterdir()):
        cure = "name a new folder, or delete this one"
        raise KitError("there is something in the folder", place=str(folder), cure=cure)
    files = dict(_files(exercises, parts))
    files["service.js"] = _service(files)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return sum(map(len, files.values()))


def _files(exercises: Sequence[Exercise], parts: Path) -> Iterator[tuple[str, bytes]]:
    pages = [_page(exercise) for exercise in exercises]
    titles = {exercise.name: exercise.title for exercise in exercises}
    yield "index.html", start_page(titles).encode()
    for page in pages:
        yield f"{page.exercise.name}.html", page.html().encode()
    for name in ("page.js", "worker.js"):
        yield name, (STATIC / name).read_bytes()
    own = (STATIC / "page.css").read_text(encoding="utf-8")
    yield "page.css", (pages[0].style + own).encode()
    yield EDITOR, (parts / EDITOR).read_bytes()
    for name in PYODIDE_FILES:
        content = (parts / name).read_bytes()
        yield f"pyodide/{name}", _lock(content) if name == LOCK else content
    yield f"pyodide/{NUMPY}", (parts / NUMPY).read_bytes()
    yield "kit.zip", _archive(exercises)


def _page(exercise: Exercise) -> ExercisePage:
    guide, script = (
        (exercise.folder / name).read_text(encoding="utf-8")
        for name in ("guide.html", f"{exercise.name}.py")
    )
    steps = [step.name for step in exercise.steps]
    return ExercisePage(exercise, guide, ScriptPieces.of(script, steps))


def _lock(content: bytes) -> bytes:
    """Return Pyodide's list of packages with NumPy alone: no other is there to be loaded."""
    facts = json.loads(content)
    facts["packages"] = {"numpy": facts["packages"]["numpy"]}
    return json.dumps(facts).encode()


def _archive(exercises: Sequence[Exercise]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in sorted(_packed(exercises)):
            archive.writestr(zipfile.ZipInfo(name, _LONG_AGO), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _packed(exercises: Sequence[Exercise]) -> Iterator[tuple[str, bytes]]:
    for path in PACKAGE.rglob("*"):
        parts = path.relative_to(PACKAGE).parts
        ours = parts[0].removesuffix(".py") in (*ROOMS, "__init__")
        if ours and path.suffix in (".py", ".npz"):
            yield f"{PACKAGE.name}/{'/'.join(parts)}", path.read_bytes()
    for exercise in exercises:
        for name in (*PUBLIC, f"{exercise.name}.py"):
            if (exercise.folder / name).is_file():
                yield f"assignments/{exercise.name}/{name}", (exercise.folder / name).read_bytes()
    for library in LIBRARIES:
        for file in distribution(library).files or ():
            if file.suffix == ".py" or file.name == "METADATA":
                yield str(file), file.read_binary()


def _service(files: dict[str, bytes]) -> bytes:
    """Return the script that keeps the files offline, under a name that changes with them."""
    version = hashlib.sha256(b"".join(files[name] for name in sorted(files))).hexdigest()[:12]
    kept = ["./", *sorted(files)]
    text = (STATIC / "service.js").read_text(encoding="utf-8")
    return text.replace("@VERSION@", version).replace('"@FILES@"', json.dumps(kept)).encode()
