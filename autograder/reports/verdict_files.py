"""One JSON file for each student, from which every other report can be made again; and the code.

The text of a verdict is kept exactly, including hostile characters. It is cleaned
when it is shown. The code that was judged lies beside it: what was handed in may change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from autograder.errors import KitError
from autograder.model.files import file_stem, read_small, write_whole
from autograder.model.sanitize import ELLIPSIS, clean_line
from autograder.model.student_folders import files_in, found_in
from autograder.model.verdict import Verdict
from autograder.model.verdict_outline import VerdictOutlines
from autograder.reports.roll import sorted_roll

CODE = "code"  # the folder of the code that was judged
MOST_CODE = 200_000  # characters
_BETWEEN = "\n\n# %%\n"  # cells


def write_verdicts(folder: Path, verdicts: Sequence[Verdict]) -> tuple[Path, ...]:
    """Write each verdict to its own file in `folder`; return the paths, sorted by student.

    Files of students who are not among `verdicts` stay. Raise `KitError` when one student has
    two verdicts or the folder cannot be written.
    """
    return tuple(write_verdict(folder, verdict) for verdict in sorted_roll(verdicts))


def write_verdict(folder: Path, verdict: Verdict) -> Path:
    """Write one verdict to its file in `folder`; return the path. Raises as `write_verdicts`."""
    path = folder / _name(verdict.student)
    write_whole(path, verdict.to_json())
    return path


def read_verdicts(folder: Path) -> tuple[Verdict, ...]:
    """Read the verdicts that `write_verdicts` left in `folder`, sorted by student.

    Raise `KitError` when the folder has no verdicts, or has a JSON file that is not a verdict.
    """
    return sorted_roll(list(_read(folder)))


def read_outlines(folder: Path) -> tuple[Verdict, ...]:
    """Return the outlines of what `read_verdicts` reads: a large class fits into memory."""
    return sorted_roll(list(map(VerdictOutlines().of, _read(folder))))


def _read(folder: Path) -> Iterator[Verdict]:
    paths = list(files_in(folder, ".json"))
    if not paths:
        raise KitError(
            "there are no verdicts",
            place=str(folder),
            cure="grade the class first, or name its results: in a course, graded/EXERCISE",
        )
    yield from map(read_verdict, paths)


def find_verdict(folder: Path, student: str) -> Verdict | None:
    """Return the verdict that `write_verdict` left about `student`, None when there is none.

    Raise `KitError` when the file is not a verdict on this student.
    """
    path = verdict_file(folder, student)
    if not path.is_file():
        return None
    verdict = read_verdict(path)
    if verdict.student != student:
        raise KitError(
            f"{path.name} is not about the student that it is named after",
            place=str(path),
            cure="remove the file, and grade again",
        )
    return verdict


def verdict_file(folder: Path, student: str) -> Path:
    """Return where the verdict about `student` lies in `folder`, if there is one."""
    return found_in(folder, _name(student))


def _name(student: str) -> str:
    return f"{file_stem(student)}.json"


def read_verdict(path: Path) -> Verdict:
    """Read one verdict file; raise `KitError` when it is none, and OSError."""
    try:
        return Verdict.from_json(path.read_text(encoding="utf-8"))
    except (ValueError, KeyError, TypeError) as error:
        raise KitError(
            f"{path.name} is not a verdict: {type(error).__name__}",
            place=str(path),
            cure="remove the file, or grade the submission again",
        ) from error


def write_code(output: Path, folder: str, student: str, file: str, cells: Sequence[str]) -> str:
    """Keep the code that was judged in `output`, below the name of its file; return the code."""
    code = _BETWEEN.join(cells)
    code = code if len(code) <= MOST_CODE else f"{code[:MOST_CODE]}{ELLIPSIS}"
    write_whole(output / CODE / folder / _code_name(student), f"{clean_line(file, 200)}\n{code}")
    return code


def read_code(output: Path, student: str) -> tuple[str, str]:
    """Return the name of the file that was judged, and its code; both "" where nothing is kept.

    Raise `KitError` when another file than the kit's is there.
    """
    path = found_in(output / CODE, _code_name(student))
    try:
        text = read_small(path, 4 * MOST_CODE + 1_000).decode("utf-8", "replace")
    except FileNotFoundError:
        return "", ""
    file, _, code = text.partition("\n")
    return file, code


def _code_name(student: str) -> str:
    return f"{file_stem(student)}.txt"
