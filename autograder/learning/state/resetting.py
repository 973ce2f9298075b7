"""Put the stub of a step, or of a whole exercise, back into the learner's file.

What was there is kept as a copy first. Only the step's own lines, or its notebook cell, are
touched.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

from autograder.errors import KitError
from autograder.learning.state.scaffold import original
from autograder.learning.state.workspace import MARK
from autograder.model.exercise import Exercise, Step
from autograder.submission.reading import read_submission


def work_file(exercise: Exercise) -> Path:
    """The file that a check would read; the script when there is none."""
    submission = read_submission(exercise.folder, exercise, "you")
    path = submission.path
    return path if path.is_file() else exercise.folder / f"{exercise.name}.py"


def reset(root: Path, exercise: Exercise, step: Step | None) -> tuple[Path, Path | None]:
    """Put the stub back; return the file and the copy of what was there (None: there was none).

    Raises `KitError` when the step cannot be found in the file; nothing is changed then.
    """
    file = work_file(exercise)
    stub = original(exercise, f"{exercise.name}{file.suffix}").read_text(encoding="utf-8")
    if step and file.is_file():
        change = _in_notebook if file.suffix == ".ipynb" else _in_script
        text = change(file, stub, step.name, exercise.name)
    else:
        text = stub
    kept = _keep(root, file) if file.is_file() else None
    new = file.with_name(f".{file.name}.new")
    new.write_text(text, encoding="utf-8")
    os.replace(new, file)
    return file, kept


def _keep(root: Path, file: Path) -> Path:
    folder = root / MARK / "kept"
    folder.mkdir(parents=True, exist_ok=True)
    stamp = time.strftime("%Y-%m-%d-%H%M%S")
    number = 0
    while True:
        more = f"-{number}" if number else ""
        kept = folder / f"{file.stem}-{stamp}{more}{file.suffix}"
        if not kept.exists():
            break
        number += 1
    shutil.copyfile(file, kept)
    return kept


def _lost(file: Path, exercise: str, name: str) -> KitError:
    return KitError(
        f"`{name}` cannot be found in your file, so it cannot be put back alone",
        place=str(file),
        cure=f"`attn reset {exercise}` puts the whole file back and keeps yours",
    )


def _in_script(file: Path, stub: str, name: str, exercise: str) -> str:
    text = file.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    try:
        places = _definitions(text, name)
    except SyntaxError:
        places = _cells(text, name)
        fresh = _cells(stub, name)
    else:
        fresh = _definitions(stub, name)
    if not places or not fresh:
        raise _lost(file, exercise, name)
    lines = text.split("\n")
    begin, end = fresh[0]
    # From the end, so that the earlier places stay where they are; the first gets the stub.
    for number in range(len(places) - 1, -1, -1):
        put = stub.split("\n")[begin:end] if number == 0 else []
        lines[places[number][0] : places[number][1]] = put
    return "\n".join(lines)


def _definitions(text: str, name: str) -> list[tuple[int, int]]:
    """Where the top-level definitions of `name` stand: first line from 0, and the line after."""
    return [
        (min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 1, node.end_lineno)
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and node.name == name
        and node.end_lineno is not None
    ]


def _cells(text: str, name: str) -> list[tuple[int, int]]:
    """The same for a file that does not parse: the `# %%` cells that begin to define `name`."""
    lines = text.split("\n")
    starts = [number for number, line in enumerate(lines) if line.startswith("# %%")]
    cells = zip(starts, [*starts[1:], len(lines)])
    return [(begin, end) for begin, end in cells if _defines("\n".join(lines[begin:end]), name)]


def _defines(source: str, name: str) -> bool:
    begins = (f"def {name}(", f"class {name}(", f"class {name}:")
    return any(line.startswith(begins) for line in source.split("\n"))


def _in_notebook(file: Path, stub: str, name: str, exercise: str) -> str:
    try:
        notebook = json.loads(file.read_text(encoding="utf-8-sig"))
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError):
        raise _lost(file, exercise, name) from None
    fresh = [cell for cell in json.loads(stub)["cells"] if _defines(_source(cell), name)]
    # The cell that was made for it, else one that defines it now.
    own = [cell for cell in cells if _made_for(cell, name)]
    own = own or [cell for cell in cells if _defines(_source(cell), name)]
    if not own or not fresh:
        raise _lost(file, exercise, name)
    for cell in own:
        cell.update(source=fresh[0]["source"], outputs=[], execution_count=None)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _made_for(cell: dict[str, Any], name: str) -> bool:
    grading = cell.get("metadata", {}).get("nbgrader", {})
    return bool(grading.get("solution")) and grading.get("grade_id") == name


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)
