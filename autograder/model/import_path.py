"""Where this Python looks for modules while the kit works, and a Python process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import KitError
from autograder.model.sanitize import terminal_line

SAFE_PATH, PYTHONPATH = "PYTHONSAFEPATH", "PYTHONPATH"
OURS = Path(__file__).resolve().parents[2]  # where the kit itself is imported from


def refuse_the_current_folder() -> None:
    """Raise `KitError` when Python looked for modules in the current folder as it started.

    It did when PYTHONPATH names that folder, or any folder by a relative path, and when a module
    that Python runs by itself came from it. The kit's own folder is allowed.
    """
    named = os.environ.get(PYTHONPATH) if not sys.flags.ignore_environment else ""
    for entry in named.split(os.pathsep) if named else ():
        if _begins_here(entry) and not _same(Path(entry), OURS):
            raise _ran_first(f"PYTHONPATH names {_shown(entry)}", "take it out of PYTHONPATH")
    for file in _run_by_itself():
        if _same(file.parent, Path(os.curdir)) and not _same(file.parent, OURS):
            fact = f"Python has run {terminal_line(file.name, 60)} from the current folder"
            raise _ran_first(fact, "take that folder out of PYTHONPATH and of .pth files")


def _begins_here(entry: str) -> bool:
    path = Path(entry)
    return _same(path, Path(os.curdir)) or (not path.is_absolute() and path.exists())


def _shown(entry: str) -> str:
    return terminal_line(entry, 200) if entry else "the current folder, by an empty entry"


def _ran_first(fact: str, cure: str) -> KitError:
    return KitError(
        f"{fact}, so Python runs what lies there (a sitecustomize.py) before the kit starts, and "
        "students' files may lie there",
        place=terminal_line(_current_folder(), 500),
        cure=f"{cure}, or work in another folder; then run the same command again",
    )


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "the current folder, which no longer exists"


def _run_by_itself() -> tuple[Path, ...]:
    """Return the files of the modules that Python runs by itself at its start, if any."""
    modules = (sys.modules.get(name) for name in ("sitecustomize", "usercustomize"))
    files = (getattr(module, "__file__", None) for module in modules)
    return tuple(Path(file).absolute() for file in files if file)


def leave_out_the_current_folder() -> None:
    """Take the current folder off the import path of this process and of all that it starts."""
    sys.path[:] = _without_the_current_folder(sys.path)
    os.environ.update(_environment())


@contextmanager
def safe_for_a_new_process() -> Iterator[None]:
    """Make a process that is started in this block look for modules outside the current folder.

    This is for programs that use the kit as a library: their own import path stays as it is.
    """
    path, kept = sys.path[:], {name: os.environ.get(name) for name in (SAFE_PATH, PYTHONPATH)}
    leave_out_the_current_folder()
    try:
        yield
    finally:
        sys.path[:] = path
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def refuse_modules_in(folder: Path) -> None:
    """Raise `KitError` when Python looks for modules in `folder`, where submissions lie.

    Also when Python ran a module from there as it started. The running interpreter's own folders
    are not a student's, wherever they lie.
    """
    real = folder.resolve()
    own = [Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix)]
    for entry in (*map(Path, sys.path), *_run_by_itself()):
        place = entry.resolve()
        if place.is_relative_to(real) and not any(place.is_relative_to(home) for home in own):
            raise KitError(
                "Python looks for modules in the folder that is to be graded, so a file handed in "
                "there could run as a part of the grader",
                place=str(place),
                cure="take that folder out of PYTHONPATH (and of .pth files), or move the "
                "submissions to a folder of their own",
            )


def _without_the_current_folder(entries: list[str]) -> list[str]:
    here = Path(os.curdir)  # it may be gone, and then has no name
    kept = [
        entry
        for entry in entries
        if os.path.isabs(entry) and (not _same(Path(entry), here) or _same(Path(entry), OURS))
    ]
    # A zip file or a folder that does not exist (yet) does no harm.
    return list(dict.fromkeys(kept))


def _environment() -> dict[str, str]:
    named = os.environ.get(PYTHONPATH, "").split(os.pathsep)
    return {
        SAFE_PATH: "1",
        PYTHONPATH: os.pathsep.join(_without_the_current_folder(named)),
    }


def _same(entry: Path, here: Path) -> bool:
    try:
        return entry.samefile(here)
    except OSError:  # not there, or out of reach
        return False


# This Python, run in a process of its own until it ends; and what it said.


@dataclass(frozen=True)
class PythonRun:
    """How the process ended: its exit code, and the lines that it wrote to its error stream."""

    code: int
    said: tuple[str, ...]

    @property
    def failed(self) -> bool:
        """Whether it ended with an error."""
        return self.code != 0


def run_python(
    arguments: Sequence[str],
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    seconds: float | None = None,
) -> PythonRun:
    """Run this Python with `arguments` in `folder`, or in the current one; it reads no input.

    Without an `environment` it gets ours. Raises subprocess.TimeoutExpired after `seconds`.
    """
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
    )
    lines = (line.strip() for line in done.stderr.splitlines())
    return PythonRun(done.returncode, tuple(line for line in lines if line))


# How many threads the numeric libraries compute with, as their environment variables say it.
#
# The arrays here are small: more threads than one gain nothing, and where other processes have
# the cores, threads that wait for each other take several times as long.

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
