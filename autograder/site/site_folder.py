"""Makes a site: a folder of files that any static host can serve, with all that a page loads.

A page's Python finds the kit in `kit.zip`: the modules that a check imports, the public files of
the exercises, and the libraries that students' code imports besides NumPy.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape, unescape
from importlib.metadata import distribution
from pathlib import Path

from autograder.authoring.contents import with_first_cell
from autograder.authoring.lesson import GUIDE_STYLE, STUB, markdown_html
from autograder.authoring.rungs import FILE as RUNGS
from autograder.authoring.rungs import PuzzleLine, Rungs, read_rungs
from autograder.errors import KitError
from autograder.learning.step_lesson import asked_after
from autograder.reports.finding import needed_steps
from autograder.site.in_page import ScriptPieces
from autograder.values.exercise import (
    EXAMPLES,
    GENERATED,
    MANIFEST,
    MISTAKE_COSTS,
    SOLUTION,
    Exercise,
    generated,
)
from autograder.values.this_machine import PACKAGE

# Fetches what a browser's Python and a page's editor are made of, through npm and pip.
#
# Every file is pinned by its SHA-256, and what npm gets by `npm/package-lock.json`, too. NumPy's
# wheel for WebAssembly lies on no registry under its own name; Open WebUI carries Pyodide's own.
# Its hash is the one that Pyodide's lock file names.
#
#     python -m autograder.site.site_folder

PYODIDE_FILES = {
    "pyodide.mjs": "5cfc46f5dcbaf2a16f26e2363f441873eb424762609cc03db00d6a2ace4d00e5",
    "pyodide.asm.mjs": "1a9775427ef6e8abaa7db88ece0515422d1886915ae5c9093776410c865dfd8d",
    "pyodide.asm.wasm": "e7f8fac36f8bf11085309cbc5c829b3ec3057c18bf1d73b05a6741612d63cdbf",
    "pyodide-lock.json": "c963d22858f6bcb8f41586a2142f03905ab370c88ea22a86a2736e95fac2a8f3",
    "python_stdlib.zip": "444c770dfd75a32097fc0a7d5c1413fd3140601f49c3a1f2e9af0376fcd124b4",
}
NUMPY = "numpy-2.4.3-cp314-cp314-pyemscripten_2026_0_wasm32.whl"
NUMPY_HASH = "0cad9c1b91f0082e4f959bc0e0bf5835a2efbba6ab3b1e9d1fe6e7e564cca98e"
CARRIER = "open-webui==0.12.4"
CARRIER_HASH = "02e9caba96234db3fa17a92e56163b3f7f2b8ca8227fa886b85c178d696483f6"
CARRIED_IN = "open_webui/frontend/pyodide"
EDITOR = "editor.js"
EDITOR_HASH = "f1c15c3f36ce109aa5186306b0877cd6470921b3c0ab36d8136a25acb2462875"
EDITOR_LICENSES = "editor-licenses.txt"
EDITOR_LICENSES_HASH = "5649f9b6750a6947d4cce8556358e77733eef056c37719e47c8bd76971be8fe4"
PARTS = {
    **PYODIDE_FILES,
    EDITOR: EDITOR_HASH,
    EDITOR_LICENSES: EDITOR_LICENSES_HASH,
    NUMPY: NUMPY_HASH,
}
NOT_BUNDLED = ("@esbuild", "@types", "esbuild", "pyodide", "ws")  # of what npm gets
NPM = Path(__file__).with_name("npm")  # what npm is told to get, and what is bundled of it
BUNDLE = ("--bundle", "--format=esm", "--minify", "--legal-comments=none")


def parts_folder() -> Path:
    """Return where the parts are kept: in this environment."""
    return Path(sys.prefix) / ".pyodide"


def missing_parts(folder: Path) -> list[str]:
    """Return the parts that are not in `folder`, or are others than they should be."""
    return [name for name, known in PARTS.items() if _hash_of(folder / name) != known]


def fetch_parts(folder: Path) -> None:
    """Put the parts that are missing into `folder`; raise `KitError` if one cannot be had."""
    missing = {*missing_parts(folder)}
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        if missing - {NUMPY}:
            _keep(folder, dict(_out_of_npm(Path(directory))))
        if NUMPY in missing:
            _keep(folder, {NUMPY: _numpy(Path(directory))})


def _out_of_npm(work: Path) -> Iterator[tuple[str, bytes]]:
    shutil.copytree(NPM, work, dirs_exist_ok=True)
    cure = "install Node and npm: apt install npm"
    _run(("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"), work, cure)
    for name in PYODIDE_FILES:
        yield name, (work / "node_modules" / "pyodide" / name).read_bytes()
    bundler = str(work / "node_modules" / ".bin" / "esbuild")
    _run((bundler, EDITOR, *BUNDLE, f"--outfile=bundled/{EDITOR}"), work, cure)
    yield EDITOR, (work / "bundled" / EDITOR).read_bytes()
    yield EDITOR_LICENSES, _licenses_of(work / "node_modules").encode()


def _licenses_of(modules: Path) -> str:
    """Return the licenses of the packages that are in the editor, each below their names."""
    names = dict[str, list[str]]()
    for file in sorted(modules.rglob("LICENSE")):
        package = file.parent.relative_to(modules)
        if package.parts[0] not in NOT_BUNDLED:
            names.setdefault(file.read_text(encoding="utf-8"), []).append(package.as_posix())
    return "\n\n".join(f"{', '.join(each)}\n\n{text.strip()}" for text, each in names.items())


def _numpy(work: Path) -> bytes:
    wanted = work / "wanted.txt"
    wanted.write_text(f"{CARRIER} --hash=sha256:{CARRIER_HASH}\n", encoding="utf-8")
    # It asks for one of a few versions of Python, which need not be this one: nothing is installed.
    options = ("--no-deps", "--only-binary=:all:", "--python-version=3.12", "--require-hashes")
    pip = (sys.executable, "-m", "pip", "download", "--quiet", *options, "-r", wanted.name)
    _run(pip, work, "see whether `python -m pip download` works here")
    (carrier,) = work.glob("open_webui-*.whl")
    with zipfile.ZipFile(carrier) as archive:
        return archive.read(f"{CARRIED_IN}/{NUMPY}")


def _run(command: Sequence[str], work: Path, cure: str) -> None:
    try:
        run = subprocess.run(command, cwd=work, capture_output=True, encoding="utf-8")
    except FileNotFoundError:
        raise KitError(f"there is no `{command[0]}`", place="the PATH", cure=cure) from None
    if run.returncode:
        said = (run.stderr or run.stdout).strip()[-500:]
        raise KitError(f"`{' '.join(command)}` fails", place=said, cure=cure)


def _keep(folder: Path, parts: Mapping[str, bytes]) -> None:
    for name, content in parts.items():
        if hashlib.sha256(content).hexdigest() != PARTS[name]:
            raise KitError(
                f"{name} is not the file that is pinned",
                place=__file__,
                cure="find out who has changed it, before anything runs it",
            )
        new = folder / f".{name}.new"
        new.write_bytes(content)
        os.replace(new, folder / name)


def _hash_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


# The page of an exercise: its guide, with an editor where each stub stands.
#
# Nothing is fetched from elsewhere and no script stands in the page. What the scripts need to
# know is beside them, as data.

POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
    "connect-src 'self'; img-src data:; style-src 'self' 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'"
)
KEYS = "In an editor, Ctrl+Enter checks the step, and Escape and then Tab leaves the editor."
TITLE = "Build attention step by step"
NOTHING_TO_INSTALL = (
    "Open an exercise, write, and check: there is nothing to install. What you write stays in this "
    "browser, and these pages send nothing to anybody."
)
NOT_GRADED = "Nothing is graded here."
HANDED_IN = (
    "Nothing is graded here: save your code as .py, and hand that file in as your course says. "
    "Grades come from there, never from these pages."
)
_NO_SCRIPT = "Here is nothing but the lesson, since this browser runs no scripts."
NO_SCRIPT = f"<noscript><style>.unserved {{ display: none; }}</style><p>{_NO_SCRIPT}</p></noscript>"
# A script takes it away; where none is loaded, it comes into sight.
NOT_SERVED = (
    "There are no editors here yet. If none come, the page was opened as a file, or a part of it "
    "is missing: load it again. Or serve its folder: type <code>python -m http.server</code> "
    "there, and open http://localhost:8000."
)
PRINTS = "Write it below your code: a check shows what it prints."
LICENSES = "licenses.txt"
LICENSED = "The licenses of what these pages are made of"
_END = "</body>\n</html>\n"
READS = (
    "Your layer gets the sentence with the numbers and the matrices that you followed by hand: "
    "where does each word look? Then it takes the place of the attention in a small language "
    "model, which has learned plays by Shakespeare, one character after the other. Every character "
    "that you read there went through your code. It takes up to a minute."
)
# What a lesson says to who has the notebook, or the file and a terminal.
_ELSEWHERE = re.compile(
    r"In the notebook, (?P<own>add a cell)?[^.]*\.(?: With the file, [^<]*<code>[^<]*</code>\.)?"
)
_MAIN = re.compile(r"<main>\n(.*)</main>", re.DOTALL)


@dataclass(frozen=True)
class ExercisePage:
    """An exercise as a page shows it: its guide, its script in pieces, the name of a course.

    rungs: the lines to sort of each step, where they may be shown.
    """

    exercise: Exercise
    guide: str
    script: ScriptPieces
    course: str = ""
    rungs: Mapping[str, Rungs] = field(default_factory=dict)

    def html(self) -> str:
        """Return the page."""
        exercise, main = self.exercise, _MAIN.search(self.guide)
        lesson = main[1] if main else ""
        for question in self._after.values():  # it is asked below the step, once that passes
            lesson = lesson.replace(question, "")
        lesson = _ELSEWHERE.sub(lambda told: PRINTS if told["own"] else "", lesson)
        lesson = STUB.sub(self._step, lesson)
        facts = {
            "exercise": exercise.name,
            "below": self.script.below,
            "finale": _reading_cells(exercise),
            "steps": [
                {
                    "name": step.name,
                    "needed": step in needed_steps(exercise),
                    "above": self.script.above[step.name],
                }
                for step in exercise.steps
            ],
        }
        data = json.dumps(facts).replace("</", "<\\/")  # it cannot end the element
        course = f"<span>{escape(self.course)}</span> " if self.course else ""
        return (
            f"{_head(exercise.title)}"
            f'<script type="application/json" id="facts">{data}</script>\n'
            '<script type="module" src="page.js"></script>\n</head>\n<body>\n'
            f'<header>{course}<a href="./">All exercises</a> <span id="count"></span> '
            '<button data-act="save">Save as .py</button> '
            '<label class="file">Load a .py <input id="load" type="file" accept=".py"></label> '
            f'<span id="python" role="status"><span class="unserved">{NOT_SERVED}</span></span> '
            '<span id="kept" role="status"></span></header>'
            f"\n<main>\n{NO_SCRIPT}\n"
            f'<p class="keys">{HANDED_IN if self.course else NOT_GRADED} {KEYS}</p>\n'
            f"{lesson}{_finale(exercise)}</main>\n{_END}"
        )

    @cached_property
    def _after(self) -> dict[str, str]:
        """The question for who has written a step, its answer folded, by the step's name."""
        names = [step.name for step in self.exercise.steps]
        asked = {name: asked_after(self.exercise, name) for name in names}
        return {name: markdown_html(each.folded).strip() for name, each in asked.items() if each}

    def _step(self, stub: re.Match[str]) -> str:
        """Return what stands in the place of a stub: an editor, buttons, room for an answer."""
        name = unescape(stub["step"])
        buttons = " ".join(
            f'<button data-act="{act}">{words}</button>'
            for act, words in (("check", "Check"), ("hint", "Hint"), ("reset", "Put the stub back"))
        )
        return (
            f'<section class="step" id="{escape(name)}" data-step="{escape(name)}">'
            f'<div class="editor"><pre><code>{stub["code"]}</code></pre></div>'
            f'<p class="buttons">{buttons}</p><div class="answer" aria-live="polite"></div>'
            '<div class="after" aria-live="polite"><div hidden>'
            f"{self._after.get(name, '')}</div></div>"
            f'<div class="hints" aria-live="polite">{"".join(self._hints(name))}</div></section>'
        )

    def _hints(self, name: str) -> Iterator[str]:
        """Give what is shown from one number of hints on, and some of it only until another."""
        step, rungs = self.exercise.step(name), self.rungs.get(name)
        last = len(step.hints)
        for number, words in enumerate(step.hints, 1):
            yield f'<p data-from="{number}" hidden>Hint {number} of {last}: {escape(words)}</p>'
        if step.similar.strip():
            yield f'<pre data-from="{last}" hidden>{escape(step.similar.strip())}</pre>'
        if rungs is None:
            return
        lines = "".join(
            f'<li><button data-act="choose" data-line="{number}">{line}</button></li>'
            for number, line in enumerate(_shown(rungs, rungs.lines))
        )
        yield f'<div data-from="{last}" hidden><p>{escape(rungs.task)} Choose them in their order.'
        if rungs.gap is not None:
            yield f' <span data-until="{last + 1}">One hint more shows the step with a gap.</span>'
        yield f'</p><ol>{lines}</ol><button data-act="order">Try this order</button>'
        yield '<div class="told"></div></div>'
        if rungs.gap is not None:
            code = "\n".join(_shown(rungs, rungs.with_gap()))
            yield f'<div data-from="{last + 1}" hidden><p>{escape(rungs.gap_task)}</p>'
            yield f"<pre>{code}</pre></div>"


def _shown(rungs: Rungs, chosen: Sequence[PuzzleLine]) -> list[str]:
    """Return lines of a step as HTML, each with its part where there are several."""
    parts = len(rungs.parts) > 1
    return [escape(f"{line.part}: {line.text}" if parts else line.text) for line in chosen]


def _reading_cells(exercise: Exercise) -> list[str]:
    """Return the cells at the end of the notebook in which the layer reads a sentence, if any."""
    notebook = json.loads((exercise.folder / f"{exercise.name}.ipynb").read_text(encoding="utf-8"))
    code = ["".join(each["source"]) for each in notebook["cells"] if each["cell_type"] == "code"]
    last = code.index(f"check({exercise.steps[-1].name})")
    shown = [number for number, text in enumerate(code) if "show_example(" in text]
    return code[last + 1 : shown[-1] + 1] if shown else []


def _finale(exercise: Exercise) -> str:
    """Return what there is at the end for whoever has written all that is needed."""
    if not exercise.speaker:
        return ""
    reading = "".join(
        f"<li>{escape(each.title)}. {escape(each.source)}. {escape(each.why)}</li>"
        for each in exercise.closing.reading
    )
    return (
        '<section id="finale"><h2>Your layer reads a sentence, and speaks</h2>\n'
        f"<p>{READS}</p>\n"
        '<p><button data-act="speak" disabled>Let it read and speak</button> '
        "<span>When every step passes, this button works.</span></p>\n"
        '<div class="shown" tabindex="-1" aria-live="polite"></div>\n'
        f'<div class="built" hidden><h2>What you have built</h2><p>{escape(exercise.closing.built)}'
        f"</p><p>To read:</p><ul>{reading}</ul></div></section>\n"
    )


def start_page(
    exercises: Sequence[Exercise], course: str, wheel: str, downloads: Mapping[str, str]
) -> str:
    """Return the page that leads to every exercise.

    course: its name, or "". wheel: the file name of the kit, or "". downloads: the address of each
    notebook, and of the kit, by name.
    """
    here = "".join(
        f'<li><a href="{each.name}.html">{escape(each.title)}</a><br>{each.extent}</li>\n'
        for each in exercises
        if each.name not in downloads
    )
    elsewhere = "".join(
        f'<li><a href="{downloads[each.name]}" download>{escape(each.title)}</a>'
        f"<br>{each.extent}</li>\n"
        for each in exercises
        if each.name in downloads
    )
    parts = [
        f"<h1>{TITLE}</h1>",
        f"<p>{NOTHING_TO_INSTALL} {HANDED_IN if course else NOT_GRADED}</p>",
        f'<ul class="exercises">\n{here}</ul>' if here else "",
    ]
    if elsewhere:
        kit = f'<a href="{downloads[wheel]}" download>the kit</a>'
        parts += [
            "<h2>In JupyterLab, with PyTorch</h2>",
            f"<p>No browser has PyTorch. So these exercises are notebooks to download, with {kit} "
            "beside them: save both into one folder, and open the notebook there. It needs Python "
            "3.11 or newer, and PyTorch (<code>%pip install torch</code>). The first cell of each "
            "installs the kit with this line:</p>",
            f"<pre><code>%pip install --quiet ./{escape(wheel)}</code></pre>",
            f'<ul class="exercises">\n{elsewhere}</ul>',
        ]
    parts.append(f'<p class="keys"><a href="{LICENSES}">{LICENSED}</a></p>')
    name = f"<header>{escape(course)}</header>\n" if course else ""
    body = "\n".join(filter(None, parts))
    return f"{_head(course or TITLE)}</head>\n<body>\n{name}<main>\n{body}\n</main>\n{_END}"


def _head(title: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<title>{escape(title)}</title>\n<link rel="icon" href="data:,">\n'
        '<link rel="stylesheet" href="page.css">\n'
    )


DOWNLOADS = "download"
LOCK = "pyodide-lock.json"
STATIC = Path(__file__).with_name("static")
LIBRARIES = ("jaxtyping", "wadler-lindig")
# Of the kit, what a check needs no more of than its source.
ROOMS = (
    *("authoring", "errors", "judging", "learning", "play", "reports", "site", "submission"),
    *("tracing", "values", "worker"),
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


if __name__ == "__main__":
    try:
        fetch_parts(parts_folder())
    except KitError as error:
        sys.exit(str(error))
