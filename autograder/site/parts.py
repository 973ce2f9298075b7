"""Fetches what a browser's Python and a page's editor are made of, through npm and pip.

Every file is pinned by its SHA-256, and what npm gets by `npm/package-lock.json`, too. NumPy's
wheel for WebAssembly lies on no registry under its own name; Open WebUI carries Pyodide's own. Its
hash is the one that Pyodide's lock file names.

    python -m autograder.site.parts
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from autograder.errors import KitError

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
    yield EDITOR_LICENSES, _licenses(work / "node_modules").encode()


def _licenses(modules: Path) -> str:
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


if __name__ == "__main__":
    try:
        fetch_parts(parts_folder())
    except KitError as error:
        sys.exit(str(error))
