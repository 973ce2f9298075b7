"""This machine and this Python: where modules lie, who started it, what it refuses."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from autograder.errors import KitError
from autograder.values.exercise import MANIFEST, Exercise
from autograder.values.sanitize import terminal_line

# Where this Python looks for modules while the kit works, and a Python process of its own.

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


# Faults of the machine, in words: what it refuses, where that is, and what to do about it.
#
# No command can foresee a full disk, a limit that somebody has set, or a missing package, and
# none of them deserves a traceback.

_FULL = "free some space on that disk, and run the same command again"
_CLOSED = "work in a folder that you may write to, or change the permissions there"
_CURES = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EROFS: _CLOSED,
    errno.EACCES: _CLOSED,
    errno.EPERM: _CLOSED,
    errno.EIO: "check that disk: it cannot be read or written",
    errno.EFBIG: "allow larger files (`ulimit -f unlimited`), and run the same command again",
}
# The limits of a process belong to no file: where each one is set, and how to raise it.
TOO_FEW_FILES = (
    "the limit on open files of this process (`ulimit -n`)",
    "raise it (`ulimit -n 1024`; for a container, start it with `--ulimit nofile=1024`)",
)
_LIMITS = {
    errno.EMFILE: TOO_FEW_FILES,
    errno.ENFILE: (
        "the limit on open files of this machine (sysctl fs.file-max)",
        "close programs that hold many files open, and run the same command again",
    ),
    errno.EAGAIN: (
        "the limit on processes and threads of this user (`ulimit -u`, or the container's)",
        "raise it, end some of your other processes, or grade in fewer (`--processes 1`)",
    ),
    errno.ENOMEM: (
        "the memory of this machine, or the limit of this process (`ulimit -v`)",
        "free memory or raise the limit, or grade in fewer processes (`--processes 1`)",
    ),
}
_OF_A_LIMIT = ("failed to map segment", "cannot allocate memory", "Cannot allocate memory")


def fault_of(error: BaseException) -> KitError | None:
    """Return the fault of the machine behind `error`, or None when the fault may be ours."""
    if isinstance(error, ImportError):
        return _not_importable(error)
    if isinstance(error, MemoryError):
        place, cure = _LIMITS[errno.ENOMEM]
        return KitError("there is no memory left", place=place, cure=cure)
    if isinstance(error, OSError) and error.errno is not None:
        return _refused(error, error.errno)
    return None


def limit_reached(error: OSError) -> KitError | None:
    """Return the error about a limit of this process or user, or None when there is none."""
    if error.errno not in _LIMITS:
        return None
    place, cure = _LIMITS[error.errno]
    return KitError(f"{error.strerror}", place=place, cure=cure)


def limit_named_in(words: str) -> KitError | None:
    """Return the error about the limit that the last words of another process name, or None."""
    reached = (number for number in _LIMITS if os.strerror(number) in words)
    return next((limit_reached(OSError(number, os.strerror(number))) for number in reached), None)


def _refused(error: OSError, number: int) -> KitError | None:
    if limit := limit_reached(error):
        return limit
    if number == errno.ENOENT and str(error.filename).startswith("/proc/"):
        return no_proc()
    if number in _CURES:
        place = str(error.filename or _current_folder())
        return KitError(f"{error.strerror}", place=place, cure=_CURES[number])
    return None


def no_proc() -> KitError:
    """Return the error about a machine without /proc."""
    return KitError(
        "there is no /proc, which the kit needs to limit and watch processes",
        place="/proc",
        cure="mount it (`mount -t proc proc /proc`), or start the container with one",
    )


def _not_importable(error: ImportError) -> KitError | None:
    if any(words in str(error) for words in _OF_A_LIMIT):
        return fault_of(MemoryError())
    name = (error.name or "").partition(".")[0]
    if not name or name == __name__.partition(".")[0]:
        return None
    if name.lstrip("_") in sys.stdlib_module_names or name in sys.stdlib_module_names:
        return KitError(
            f"this Python was built without {name}, a part of its standard library",
            place=sys.executable,
            cure="use a complete Python (the system's own, or build it with the headers of the "
            "library that is missing), and install the kit for it",
        )
    if not isinstance(error, ModuleNotFoundError):
        return KitError(
            f"{name} is installed but cannot be imported: {_first_line(error)}",
            place=str(error.path or sys.prefix),
            cure=f"reinstall it (`{sys.executable} -m pip install --force-reinstall {name}`)",
        )
    return KitError(
        f"{name} is not installed for this Python, but this command needs it",
        place=sys.executable,
        cure=f"install it: `{sys.executable} -m pip install {requirement_of(name)}`",
    )


def requirement_of(name: str) -> str:
    """Return what to type after `pip install` for a package: in the version that the kit needs.

    The kit itself is in no index of packages, so its extras cannot be installed by name.
    """
    try:
        needed = metadata.requires("attention-kit") or ()
    except metadata.PackageNotFoundError:
        needed = ()
    own = re.compile(rf"{re.escape(name).replace('_', '[-_]')}\b(?![-_.\[])[^;]*", re.IGNORECASE)
    found = [match[0].strip() for match in map(own.match, needed) if match]
    return f"'{found[0]}'" if found else name


def _first_line(error: ImportError) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), "").strip()[:300]


# The process that started this one, which can be killed while this one works.


def end_with_parent(last: Callable[[], object] | None = None) -> None:
    """End this process when its parent is killed; it would work, or wait, on otherwise.

    `last` is what to do before. For a process of `multiprocessing`. Raises `KitError` when this
    user may have no thread more.
    """
    import multiprocessing  # not everywhere, and not for everybody who needs this machine
    from multiprocessing.connection import wait

    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        try:
            if last is not None:
                last()
        finally:
            os._exit(1)

    thread = threading.Thread(target=watch, name="end with parent", daemon=True)
    try:
        thread.start()
    except RuntimeError as error:  # Python keeps no number of it; there is one reason only
        refused = OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        raise limit_reached(refused) or error from error


# The public files of the exercises, as they come with the package.
#
# They lie inside it in an installation, beside it in the repository.

PACKAGE = Path(__file__).resolve().parents[1]
# The solutions in a wheel for who learns alone: `attn release --with-answers` puts them there.
ANSWERS = PACKAGE / "answers"


def shipped() -> Path:
    """Return the folder with the public files of all exercises; raise `KitError` if missing."""
    for place in (PACKAGE / "assignments", PACKAGE.parent / "assignments"):
        if any(place.glob(f"*/{MANIFEST}")):
            return place
    raise KitError(
        "this installation has no exercises in it",
        place=str(PACKAGE),
        cure="install the kit again, as you did the first time, and add `--force-reinstall` to pip",
    )


def original(exercise: Exercise, file: str) -> Path:
    """Return the path of an exercise's original file; raise `KitError` if the kit has none."""
    path = shipped() / exercise.name / file
    if path.is_file():
        return path
    raise KitError(
        f"the kit has no {file} of {exercise.name}",
        place=str(exercise.folder),
        cure="get the file from where you got the exercise",
    )


def handed_out(exercise: Exercise) -> str:
    """Return the script of an exercise as it is handed out, "" where the kit does not have it."""
    try:
        return original(exercise, f"{exercise.name}.py").read_text(encoding="utf-8")
    except (KitError, OSError):
        return ""
