"""One student's code for one exercise, read from what was handed in.

Whatever is wrong with a file costs its owner only, and becomes a sentence (`rejected`)
instead of an error. What can be read of it counts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.exercise import Exercise
from autograder.reading.absence import not_run, without_copied_stubs, written
from autograder.reading.cells import definitions, notebook_cells, parsed, pieces, source
from autograder.reading.file_text import (
    LARGEST_SOURCE,
    Unreadable,
    bare,
    is_notebook,
    is_submission,
    read_text,
)
from autograder.reading.magics import without_magics
from autograder.reading.own_run import without_own_run
from autograder.verdict import Finding, Outcome

# More is no longer quick to parse: a second at this size, half a minute at the largest source.
MOST_LINES, MOST_MARKS = 20_000, 100_000
_PROSE = {"markdown": "a Markdown cell", "raw": "a raw cell"}


@dataclass(frozen=True)
class Submission:
    """What a student handed in: the cells of code in their order, and where they come from.

    `rejected` is set, and `cells` empty, when there is nothing that could be run. `not_run` are
    steps that stand in text which is not run, such as a Markdown cell: name and sentence.
    """

    student: str
    exercise: str
    cells: tuple[str, ...]
    path: Path
    remarks: tuple[str, ...] = ()
    rejected: Finding | None = None
    not_run: tuple[tuple[str, str], ...] = ()

    @property
    def code_hash(self) -> str:
        """A hash of what is run, and of what is said about what is not: equal code is graded once.

        What cannot be read is not equal to what is empty.
        """
        said = [part for pair in self.not_run for part in pair]
        said += [self.rejected.fact] if self.rejected else []
        text = "\0".join((self.exercise, *self.cells, *said))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Code:
    """What one file holds: the code to run, remarks, and the steps that are not run."""

    file: Path
    cells: tuple[str, ...]
    remarks: tuple[str, ...]
    not_run: tuple[tuple[str, str], ...]


def read_submission(path: Path, exercise: Exercise, student: str) -> Submission:
    """Read `path`: a notebook, a `.py`, or a folder that holds one or both.

    Where both hold work, the notebook counts, and a remark says so.
    """
    return read_one_of([path], exercise, student)


def read_one_of(paths: Sequence[Path], exercise: Exercise, student: str) -> Submission:
    """Read what one student handed in as several files or folders, as if it lay in one folder."""
    named = paths[0]
    try:
        code = _chosen(paths, exercise)
    except Unreadable as reason:
        finding = Finding(Outcome.REJECTED, str(reason))
        return Submission(student, exercise.name, (), named, (), finding)
    except OSError as error:
        fact = f"{named.name} cannot be opened: {error.strerror}. Hand it in again."
        return Submission(student, exercise.name, (), named, (), Finding(Outcome.REJECTED, fact))
    return Submission(
        student, exercise.name, code.cells, code.file, code.remarks, None, code.not_run
    )


def _chosen(paths: Sequence[Path], exercise: Exercise) -> Code:
    for path in paths:
        if path.is_symlink():
            raise Unreadable(f"{path.name} is a link: hand in the file itself.")
    if len(paths) == 1 and not paths[0].is_dir():
        return read_code(paths[0], exercise)
    readable: list[Code] = []
    reasons: list[str] = []
    for file in _candidates(paths, exercise):
        try:
            readable.append(read_code(file, exercise))
        except Unreadable as reason:
            reasons.append(str(reason))
    if not readable:
        raise Unreadable(reasons[0] if reasons else _nothing(paths[0], exercise))
    worked = [code for code in readable if written(code.cells, exercise)]
    return _with_remarks((worked or readable)[0], worked, reasons, paths, exercise)


def _with_remarks(
    code: Code, worked: list[Code], reasons: list[str], paths: Sequence[Path], exercise: Exercise
) -> Code:
    name = code.file.name
    remarks = [f"{reason} Until then, {name} counts." for reason in reasons]
    if len(worked) > 1:
        others = ", ".join(other.file.name for other in worked[1:])
        remarks.append(f"{name} counts; there is work in {others} too, which was not read.")
    if len(paths) == 1 and code.file.stem.lower() != exercise.name:
        due = f"{exercise.name}{'.ipynb' if is_notebook(code.file) else '.py'}"
        remarks.append(f"{name} was read; {due} is not there. Keep that name when you hand in.")
    return Code(code.file, code.cells, (*remarks, *code.remarks), code.not_run)


def _candidates(paths: Sequence[Path], exercise: Exercise) -> list[Path]:
    """Notebooks first, and those with the exercise's own name first of all."""
    files = [file for path in paths for file in (path.iterdir() if path.is_dir() else [path])]
    files = [file for file in files if is_submission(file) and not file.name.startswith(".")]

    def order(file: Path) -> tuple[bool, bool, str]:
        return bare(file).stem != exercise.name, not is_notebook(file), file.name

    return sorted(files, key=order)


def _nothing(folder: Path, exercise: Exercise) -> str:
    return (
        f"There is no notebook and no .py file in {folder.name}: "
        f"hand in {exercise.name}.ipynb or {exercise.name}.py."
    )


def read_code(file: Path, exercise: Exercise) -> Code:
    """Return what a notebook or a `.py` holds; raise `Unreadable`, OSError."""
    if file.is_file() and not is_submission(file):
        raise Unreadable(
            f"{file.name} is neither a notebook nor a .py file: "
            f"hand in {exercise.name}.ipynb or {exercise.name}.py."
        )
    read = read_text(file)
    notebook = is_notebook(file)
    sources, unread = [read.text], []
    if notebook:
        cells = notebook_cells(read.text, file.name)
        sources = [source(cell) for cell in cells if cell.get("cell_type") == "code"]
        prose = [(_PROSE.get(str(cell.get("cell_type"))), source(cell)) for cell in cells]
        unread = [(place, text) for place, text in prose if place]
    _refuse_too_much(file.name, "\n".join(sources))
    plain = [_python(text) for text in sources]
    names = [step.name for step in exercise.steps]
    unread += [
        (f"a cell that begins with `{magic}`", text)
        for text, (_, magic) in zip(sources, plain)
        if magic and definitions(text, names)
    ]
    kept = without_own_run(pieces(text for text, _ in plain), notebook=notebook)
    code, remarks = without_copied_stubs(kept, exercise)
    code = tuple(cell for cell in code if cell.strip() not in ("", "True", "pass"))
    return Code(file, code, (*read.remarks, *remarks), not_run(unread, exercise))


def _refuse_too_much(name: str, code: str) -> None:
    """Raise `Unreadable` for what would take the grader long to parse: it is data, not code."""
    for count, most, what in (
        (-(-len(code) // 1024), LARGEST_SOURCE // 1024, "kB"),
        (code.count("\n"), MOST_LINES, "lines"),
        (len(re.findall(r"[^\w\s]", code)), MOST_MARKS, "brackets, commas and other signs"),
    ):
        if count > most:
            raise Unreadable(
                f"{name} holds more than {most} {what} of code: leave data out of it and hand "
                "it in again."
            )


def _python(text: str) -> tuple[str, str]:
    """Return a cell as plain Python, and the magic for which it is not run, if any."""
    if parsed(text) is not None:
        return text, ""
    plain = without_magics(text)
    return plain.text, plain.magic
