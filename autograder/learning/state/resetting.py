"""Puts the stub of a step, or of a whole exercise, back into the learner's file.

First a copy of the file is kept. For a step, only its own lines or its notebook cell change.
"""

from __future__ import annotations

import itertools
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.errors import KitError
from autograder.learning.own_work import MARK
from autograder.learning.state.workspace import Task
from autograder.model.files import replace_file, write_whole
from autograder.model.shipped import original
from autograder.submission.cells import find_definitions, percent_cells, source
from autograder.submission.file_text import with_plain_lines


def reset(root: Path, task: Task, file: Path) -> Path | None:
    """Put the stub back into `file`; return the copy of the old one (None if there was none).

    If the step is not found in the file, or the copy or the file cannot be written, nothing
    changes and `KitError` is raised.
    """
    exercise, step = task.exercise, task.step
    stub = original(exercise, f"{exercise.name}{file.suffix}").read_text(encoding="utf-8")
    if step and file.is_file():
        change = _in_notebook if file.suffix == ".ipynb" else _in_script
        text = change(_StepInFile(file, exercise.name, step.name), stub)
    else:
        text = stub
    kept = _keep(root, file) if file.is_file() else None
    write_whole(file, text)
    return kept


def _keep(root: Path, file: Path) -> Path:
    folder = root / MARK / "kept"
    stamp = time.strftime("%Y-%m-%d-%H%M%S")
    ends = (f"-{number}" if number else "" for number in itertools.count())
    names = (folder / f"{file.stem}-{stamp}{end}{file.suffix}" for end in ends)
    kept = next(name for name in names if not name.exists())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(kept, file.read_bytes())
    except OSError as error:
        raise KitError(
            f"your file cannot be copied, so it is left unchanged: {error.strerror}",
            place=str(folder),
            cure="free some disk space, or allow yourself to write there, and try again",
        ) from error
    return kept


@dataclass(frozen=True)
class _StepInFile:
    """The learner's file, and the step to find in it."""

    file: Path
    exercise: str
    name: str

    def text(self) -> str:
        """Return the text of the file without a byte order mark; raise `KitError`."""
        try:
            return self.file.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise self.lost() from None

    def lost(self) -> KitError:
        return KitError(
            f"`{self.name}` cannot be found in your file, so it cannot be put back on its own",
            place=str(self.file),
            cure=f"`attn reset {self.exercise}` puts the whole file back and keeps a copy of yours",
        )


def _in_script(step: _StepInFile, stub: str) -> str:
    text = step.text()
    plain = with_plain_lines(text)
    places, fresh = _definitions(plain, step.name), _definitions(stub, step.name)
    if not places:
        places, fresh = _cells(plain, step.name), _cells(stub, step.name)
    if not places or not fresh:
        raise step.lost()
    lines, (begin, end) = plain.split("\n"), fresh[0]
    # Go from the end, so that earlier places stay valid. The first place gets the stub.
    for number in range(len(places) - 1, -1, -1):
        lines_of_stub = stub.split("\n")[begin:end] if number == 0 else []
        lines[places[number][0] : places[number][1]] = lines_of_stub
    return ("\r\n" if "\r\n" in text else "\n").join(lines)


def _definitions(text: str, name: str) -> list[tuple[int, int]]:
    """Return the places of the definitions of `name`: first line (from 0), and the line after.

    Return none if one of them is not valid Python, because its end is then unknown.
    """
    found = [each for each in find_definitions(text) if each.name == name]
    whole = all(each.is_python for each in found)
    return [(each.first - 1, each.last) for each in found] if whole else []


def _cells(text: str, name: str) -> list[tuple[int, int]]:
    """Return the same for the `# %%` cells that define `name`, valid Python or not."""
    return [
        (cell.line - 1, cell.last)
        for cell in percent_cells(text)
        if cell.marker and _defines(cell.text, name)
    ]


def _defines(source: str, name: str) -> bool:
    return any(found.name == name for found in find_definitions(source))


def _in_notebook(step: _StepInFile, stub: str) -> str:
    try:
        notebook = json.loads(step.text())
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError):
        raise step.lost() from None
    released = json.loads(stub)["cells"]
    fresh = [cell for cell in released if _defines(source(cell), step.name)]
    # The cell that was made for the step, or else one that defines it now.
    own = [cell for cell in cells if _made_for(cell, step.name)]
    own = own or [cell for cell in cells if _defines(source(cell), step.name)]
    if not own or not fresh:
        raise step.lost()
    for cell in own:
        cell.update(source=fresh[0]["source"], outputs=[], execution_count=None)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _made_for(cell: dict[str, Any], name: str) -> bool:
    grading = cell.get("metadata", {}).get("nbgrader", {})
    return bool(grading.get("solution")) and grading.get("grade_id") == name
