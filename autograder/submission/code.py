"""The code in one file: its cells in order, and what there is to say about them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autograder.model.exercise import Exercise
from autograder.model.sanitize import file_name
from autograder.submission.cells import (
    notebook_cells,
    parsed,
    pieces,
    source_as_it_is,
)
from autograder.submission.file_text import (
    LARGEST_SOURCE,
    Text,
    Unreadable,
    is_notebook,
    is_plain,
    is_submission,
    plain_text,
    read_text,
    remarks_on_characters,
)
from autograder.submission.kit_calls import without_kit_calls
from autograder.submission.magics import without_magics
from autograder.submission.missing_step import not_run, without_copied_stubs

# More is no longer quick to parse: a second at this size, half a minute at the largest source.
MOST_LINES, MOST_MARKS = 20_000, 100_000
_PROSE = {"markdown": "a Markdown cell", "raw": "a raw cell"}


@dataclass(frozen=True)
class Code:
    """What one file holds: the code to run, remarks, and the steps that are not run.

    `digest` is the SHA-256 of the file's bytes.
    """

    file: Path
    cells: tuple[str, ...]
    remarks: tuple[str, ...]
    not_run: tuple[tuple[str, str], ...]
    digest: str = ""


@dataclass(frozen=True)
class Texts:
    """The code cells of a file, and the prose between them, each with the kind of its cell."""

    code: tuple[str, ...]
    prose: tuple[tuple[str, str], ...] = ()
    remarks: tuple[str, ...] = ()
    digest: str = ""


def read_code(file: Path, exercise: Exercise, root: Path | None = None) -> Code:
    """Return what a notebook or a `.py` holds; raise `Unreadable` or OSError.

    No link below `root` is followed, see `opened`.
    """
    name = file_name(file)
    if not is_submission(file) and file.is_file():
        raise Unreadable(
            f"{name} is neither a notebook nor a .py file: "
            f"hand in {exercise.name}.ipynb or {exercise.name}.py."
        )
    notebook = is_notebook(file)
    texts = _texts(read_text(file, root), file)
    _refuse_too_much(name, "\n".join(texts.code))
    plain = [_python(text) for text in texts.code]
    magics = zip(texts.code, plain)
    other = [(f"a cell that begins with `{magic}`", text) for text, (_, magic) in magics if magic]
    unread = [*texts.prose, *other]
    kept = without_kit_calls(pieces(text for text, _ in plain), notebook=notebook)
    code, remarks = without_copied_stubs(kept, exercise)
    code = tuple(cell for cell in code if cell.strip() not in ("", "True", "pass"))
    remarks = (*texts.remarks, *remarks)
    return Code(file, code, remarks, not_run(unread, exercise), texts.digest)


def _texts(read: Text, file: Path) -> Texts:
    if not is_notebook(file):
        return Texts((read.text,), (), read.remarks, read.digest)
    name = file_name(file)
    cells = notebook_cells(read.text, name)
    kinds, texts = [cell.get("cell_type") for cell in cells], list(map(source_as_it_is, cells))
    remarks: tuple[str, ...] = ()
    plain = texts
    if not is_plain("".join(texts)):
        plain, remarks = list(map(plain_text, texts)), _remarks(texts, name)
    prose = ((_PROSE.get(str(kind)), text) for kind, text in zip(kinds, plain))
    return Texts(
        tuple(text for kind, text in zip(kinds, plain) if kind == "code"),
        tuple((place, text) for place, text in prose if place),
        (*read.remarks, *remarks),
        read.digest,
    )


def _remarks(texts: Iterable[str], name: str) -> tuple[str, ...]:
    found = (remark for text in texts for remark in remarks_on_characters(text, name))
    return tuple(dict.fromkeys(found))


def _refuse_too_much(name: str, code: str) -> None:
    """Raise `Unreadable` for what would take the grader long to parse: it is data, not code."""
    for count, most, what in (
        (-(-len(code) // 1024), LARGEST_SOURCE // 1024, "kB"),
        (code.count("\n"), MOST_LINES, "lines"),
        (_marks(code), MOST_MARKS, "brackets, commas and other signs"),
    ):
        if count > most:
            raise Unreadable(
                f"{name} holds more than {most} {what} of code: leave data out of it and hand "
                "it in again."
            )


def _marks(code: str) -> int:
    """Return how many signs there are; of a text in which there cannot be too many, its length."""
    return len(code) if len(code) <= MOST_MARKS else len(re.findall(r"[^\w\s]", code))


def _python(text: str) -> tuple[str, str]:
    """Return a cell as plain Python, and the magic that keeps it from being run, if any."""
    if parsed(text) is not None:
        return text, ""
    plain = without_magics(text)
    return plain.text, plain.magic
