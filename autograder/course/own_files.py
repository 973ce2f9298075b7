"""The files of an instructor's own steps, read as text whatever an editor made of them."""

from __future__ import annotations

import hashlib
from pathlib import Path

from autograder.course.adjustment import OWN_STEPS
from autograder.errors import KitError
from autograder.model.exercise import GRADERS, SOLUTION
from autograder.model.files import read_small

MISCONCEPTIONS = "misconceptions.py"
_LARGEST = 1 << 20  # bytes of a file that an instructor wrote


def own_text(path: Path) -> str:
    """Return the text of a file, with plain line ends and without an editor's mark at its head.

    Raises `KitError` when the file is not there, cannot be read or is not UTF-8.
    """
    try:
        text = read_small(path, _LARGEST).decode("utf-8-sig")
        return text.replace("\r\n", "\n").replace("\r", "\n")
    except FileNotFoundError:
        raise KitError(
            f"steps of your own need a {path.name}",
            place=str(path.parent),
            cure="write it; docs/instructors.md has an example of each file in "
            f"{path.parent.name}/",
        ) from None
    except OSError as error:
        raise KitError(
            f"{path.name} cannot be read: {error.strerror}",
            place=str(path),
            cure="make sure that you may read it",
        ) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise KitError(
            f"{path.name} is not UTF-8: {error.reason}",
            place=f"{path}:{line}",
            cure="save it as UTF-8",
        ) from None


def digests(own: Path) -> list[tuple[str, str]]:
    """Return the files that are there and used, each with a hash of its text.

    What else is in the folder, such as the checkpoints of JupyterLab, is nobody's business.
    """
    names = (OWN_STEPS, SOLUTION, GRADERS, MISCONCEPTIONS)
    there = [own / name for name in names if (own / name).exists()]
    return [(file.name, hashlib.sha256(own_text(file).encode()).hexdigest()) for file in there]
