"""Where Python looks for modules while the kit works: never among what was handed in.

Python puts the current folder first on its path when it is started with `-c` or `-m`, and
`PYTHONPATH` may name it too. `cd homework; attn grade .` would then run a student's `pickle.py`
in the trusted processes, before the first line of ours.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autograder.errors import KitError

SAFE_PATH, PYTHONPATH = "PYTHONSAFEPATH", "PYTHONPATH"
OURS = Path(__file__).resolve().parents[2]  # where the kit itself is imported from


def leave_out_the_current_folder() -> None:
    """Take the current folder off the import path of this process and of all that it starts."""
    sys.path[:] = _without_the_current_folder(sys.path)
    os.environ.update(_environment())


@contextmanager
def safe_for_a_new_process() -> Iterator[None]:
    """Have a process that is started meanwhile look for modules outside the current folder.

    For programs that use the kit as a library, whose own import path stays as it is.
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

    The running interpreter's own folders are not a student's, wherever they lie.
    """
    real = folder.resolve()
    own = [Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix)]
    for entry in sys.path:
        place = Path(entry).resolve()
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
    # A zip file or a folder that is not there (yet) does no harm.
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
