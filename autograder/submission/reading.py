"""One student's code for one exercise, read from what was handed in.

Whatever is wrong with a file costs only its owner, and becomes a sentence (`rejected`)
instead of an error. What can be read of it counts.
"""

from __future__ import annotations

import errno
import hashlib
import json
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from autograder.errors import KitError
from autograder.submission.cells import Asked
from autograder.submission.code import Code, not_the_file, read_code
from autograder.submission.file_text import Unreadable, bare, is_notebook, is_submission
from autograder.submission.missing_step import worked_on, written
from autograder.values.exercise import Exercise
from autograder.values.files import NotPlain, opened
from autograder.values.sanitize import clean_line, file_name
from autograder.values.verdict import Finding, Outcome

# Which of several files counts: the first that holds work, notebooks before scripts.
#
# What lies in a folder further down is looked for only where there is nothing at the top.

# How many notebooks and scripts of a folder are read, and how many entries are looked at.
MOST_FILES, MOST_ENTRIES = 10, 10_000
DEEPEST, LONGEST_PLACE = 8, 200
_COPIES = ".ipynb_checkpoints"  # where Jupyter keeps one of every notebook
_NO_MORE_FILES = (errno.EMFILE, errno.ENFILE)


# The SHA-256 of every file that was read, by path.
Digests = tuple[tuple[Path, str], ...]


def chosen(paths: Sequence[Path], exercise: Exercise, root: Path) -> tuple[Code, Digests]:
    """Return the code that counts among what one student handed in below `root`, and what was read.

    Raises `Unreadable` when nothing can be read, or nothing but what nobody has worked on beside
    what cannot be read, and `KitError` when this machine lets the process open no more files.
    """
    folders = {path: names for path in paths if (names := _names(path, root)) is not None}
    if len(paths) == 1 and not folders:
        code = _read(paths[0], exercise, root)
        return code, ((code.file, code.digest),)
    files = _candidates(paths, folders, exercise)
    below: Sequence[Path] = ()
    if not files:
        below = _below(folders, root)
        files = _candidates(below, {}, exercise)
    readable: list[Code] = []
    reasons: list[Unreadable] = []
    for file in files[:MOST_FILES]:
        try:
            readable.append(_read(file, exercise, root))
        except Unreadable as reason:
            reasons.append(reason)
    if not readable:
        raise reasons[0] if reasons else Unreadable(_nothing(paths, folders, exercise, root))
    if reasons and not any(_is_work(code, exercise) for code in readable):
        raise reasons[0]  # the work may be in there: what was handed out beside it is no 0
    several = len(readable) > 1  # else there is no choice
    worked = [code for code in readable if several and written(code.cells, exercise)]
    code = (worked or readable)[0]
    remarks = _remarks(code, worked, reasons, paths, exercise)
    if below:
        remarks.append(
            f"{_place(code.file, paths)} was read, since there is nothing above it. Put the file "
            "there itself when you hand in, without a folder around it."
        )
    if len(files) > MOST_FILES:
        remarks.append(
            f"You handed in {len(files)} notebooks and .py files, but only {MOST_FILES} of them "
            "were read: hand in the one that counts."
        )
    digests = tuple((each.file, each.digest) for each in readable)
    return replace(code, remarks=(*remarks, *code.remarks)), digests


def cannot_be_opened(path: Path, error: OSError) -> Unreadable:
    """Return why `path` cannot be opened; raise `KitError` when that is the machine's fault."""
    reason = error.strerror or "the system gives no reason"
    if error.errno in _NO_MORE_FILES:
        raise KitError(
            f"no more files can be opened: {reason}",
            place=file_name(path),
            cure="allow more open files (`ulimit -n 4096`), then run the same command again",
        ) from error
    return Unreadable(f"{file_name(path)} cannot be opened: {reason}. Hand it in again.")


def _read(file: Path, exercise: Exercise, root: Path) -> Code:
    """Read one file; raise `Unreadable`, whatever keeps it from being read."""
    try:
        return read_code(file, exercise, root)
    except (Unreadable, KitError):
        raise
    except OSError as error:
        raise cannot_be_opened(file, error) from error
    except Exception as error:  # perhaps hostile content; it costs only its owner
        raise Unreadable(
            f"{file_name(file)} could not be read: it holds something that the grader cannot "
            "take in, such as very deeply nested code. Leave out what is not an answer and hand "
            "it in again."
        ) from error


def _is_work(code: Code, exercise: Exercise) -> bool:
    return bool(code.not_run or worked_on(code.cells, exercise, ""))


def _remarks(
    code: Code,
    worked: Sequence[Code],
    reasons: Iterable[Unreadable],
    paths: Sequence[Path],
    exercise: Exercise,
) -> list[str]:
    name = file_name(code.file)
    remarks = [f"{reason} Until then, {name} counts." for reason in reasons]
    if len(worked) > 1:
        others = ", ".join(file_name(other.file) for other in worked[1:])
        remarks.append(f"{name} counts; there is also work in {others}, which was not read.")
    if len(paths) == 1 and code.file.stem.lower() != exercise.name:
        expected = f"{exercise.name}{'.ipynb' if is_notebook(code.file) else '.py'}"
        remarks.append(
            f"{name} was read; there is no {expected} with work in it. Keep the name {expected} "
            "when you hand in."
        )
    return remarks


def _candidates(
    paths: Sequence[Path], folders: Mapping[Path, Sequence[str]], exercise: Exercise
) -> list[Path]:
    """Return the files to read: those named after the exercise first, then notebooks first."""
    inside = [path / name for path, names in folders.items() for name in names]
    files = [*inside, *(path for path in paths if path not in folders)]
    files = [file for file in files if is_submission(file) and not file.name.startswith(".")]

    def order(file: Path) -> tuple[bool, bool, str]:
        return bare(file).stem != exercise.name, not is_notebook(file), file.name

    return sorted(files, key=order)


def _names(path: Path, root: Path) -> list[str] | None:
    """Return what is in the folder at `path`, None for a file; raise `Unreadable`."""
    try:
        with opened(path, root) as found:
            names = found.names(MOST_ENTRIES + 1) if found.is_folder else None
    except NotPlain as obstacle:
        if obstacle.is_link:
            what = f"{file_name(obstacle.path)} is a link"
            raise Unreadable(f"{what}: hand in the file itself.") from None
        return None
    except OSError:  # reading it will show why
        return None
    if names is not None and len(names) > MOST_ENTRIES:
        raise Unreadable(
            f"{file_name(path)} holds more than {MOST_ENTRIES} files: hand in the one that counts."
        )
    return names


def _below(folders: Mapping[Path, Sequence[str]], root: Path) -> list[Path]:
    """Return what lies in the nearest folders further down that hold a hand-in; else nothing."""
    waiting = [path / name for path, names in folders.items() for name in names]
    for _ in range(DEEPEST):
        inside: list[Path] = []
        for path in waiting:
            if not _is_set_aside(path) and len(inside) <= MOST_ENTRIES:
                inside += [path / name for name in _names_below(path, root)]
        if any(is_submission(path) and not _is_set_aside(path) for path in inside):
            return inside
        waiting = inside[:MOST_ENTRIES]
    return []


def _is_set_aside(path: Path) -> bool:
    """Whether a program keeps something of its own there, and no student a hand-in."""
    return path.name.startswith(".") or path.name in ("__MACOSX", "__pycache__", "node_modules")


def _names_below(path: Path, root: Path) -> list[str]:
    """Return what is in a folder further down; nothing for a file, and where nobody can look."""
    try:
        return _names(path, root) or []
    except Unreadable:
        return []


def _place(file: Path, paths: Sequence[Path]) -> str:
    """Return where in a folder of `paths` a file lies, as one clean text."""
    inside = next(file.relative_to(path) for path in paths if file.is_relative_to(path))
    return clean_line(inside.as_posix(), LONGEST_PLACE)


def _nothing(
    paths: Sequence[Path],
    folders: Mapping[Path, Sequence[str]],
    exercise: Exercise,
    root: Path,
) -> str:
    """Say that no hand-in is there, and what is there in its place."""
    inside = [path / name for path, names in folders.items() for name in names]
    for path in inside:
        if path.name == _COPIES and any(is_submission(Path(x)) for x in _names_below(path, root)):
            return (
                f"There is only Jupyter's own copy of a notebook, in {_COPIES}, and it may be "
                f"older than your work: hand in {exercise.name}.ipynb itself."
            )
    for path in (*inside, *(path for path in paths if path not in folders)):
        if words := not_the_file(path, exercise):
            return words
    return (
        f"There is no notebook and no .py file in {file_name(paths[0])}: "
        f"hand in {exercise.name}.ipynb or {exercise.name}.py."
    )


MOST_REMARKS, LONGEST_REMARK = 20, 500


@dataclass(frozen=True)
class Submission:
    """What a student handed in: the cells of code in their order, and where they come from.

    `rejected` is set, and `cells` empty, when there is nothing that could be run. `not_run` names
    the steps that stand in text that is not run, such as a Markdown cell, each with a sentence.
    There are at most 20 remarks; remarks and sentences are clean lines of at most 500 characters.
    `digests` are the SHA-256 of the bytes of every file that was read, so that a later reader can
    tell whether it has changed. No link below `root` was followed. What `needs` a Python that is
    newer than this one, such as "3.12", cannot be judged here. `folder` is what was handed in, if
    that is a folder. `asked` is what the release had that a notebook comes from.
    """

    student: str
    exercise: str
    cells: tuple[str, ...]
    path: Path
    remarks: tuple[str, ...] = ()
    rejected: Finding | None = None
    not_run: tuple[tuple[str, str], ...] = ()
    digests: tuple[tuple[Path, str], ...] = ()
    root: Path | None = None
    needs: str = ""
    folder: Path | None = None
    asked: Asked | None = None

    @cached_property
    def code_hash(self) -> str:
        """A hash of the code that is run and of what is said about the rest.

        Equal code is graded once. An unreadable file is not equal to an empty one, nor a notebook
        to a script, since messages count a notebook's lines by cell.
        """
        refused = self.rejected and [self.rejected.outcome, self.rejected.fact]
        why = refused or self.needs or None
        return hash_of([self.exercise, is_notebook(self.path), self.cells, self.not_run, why])


def hash_of(facts: object) -> str:
    """Return the SHA-256, in hexadecimal, of `facts` as JSON; different facts differ as text."""
    text = json.dumps(facts, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_submission(
    path: Path, exercise: Exercise, student: str, root: Path | None = None
) -> Submission:
    """Read `path`: a notebook, a `.py`, or a folder that holds one or both.

    Where both hold work, the notebook counts, and a remark says so. No link below `root` is
    followed; by default, `root` is the folder that holds `path`. Raises only `KitError`, when this
    machine lets the process open no more files.
    """
    return read_one_of([path], exercise, student, root)


def read_one_of(
    paths: Sequence[Path], exercise: Exercise, student: str, root: Path | None = None
) -> Submission:
    """Read what one student handed in as several files or folders, as if it lay in one folder.

    Raises what `read_submission` raises.
    """
    try:
        below = root or paths[0].parent
        folder = paths[0] if len(paths) == 1 else None
        code, digests = chosen(paths, exercise, below)
        return _submission(code, digests, exercise, student, below, folder)
    except Unreadable as reason:
        return _rejected(paths, exercise, student, str(reason), reason.__cause__, root)
    except OSError as error:
        words = str(cannot_be_opened(paths[0], error))
        return _rejected(paths, exercise, student, words, error, root)
    except KitError:
        raise
    except Exception as error:  # no hand-in may keep the class from being graded
        return unreadable(paths, exercise, student, "the grader cannot take it in", error, root)


def unreadable(
    paths: Sequence[Path],
    exercise: Exercise,
    student: str,
    why: str,
    error: BaseException | None = None,
    root: Path | None = None,
) -> Submission:
    """Return the rejected submission of a student whose files cannot be read; `why` says why."""
    fact = (
        f"{file_name(paths[0])} could not be read, since {why}. Leave out what is not an answer "
        "and hand it in again."
    )
    return _rejected(paths, exercise, student, fact, error, root)


def _submission(
    code: Code,
    digests: Digests,
    exercise: Exercise,
    student: str,
    root: Path,
    handed_in: Path | None,
) -> Submission:
    remarks = tuple(dict.fromkeys(map(_line, code.remarks)))[:MOST_REMARKS]
    not_run = tuple((name, _line(words)) for name, words in code.not_run)
    facts = (student, exercise.name, code.cells, code.file, remarks, None, not_run)
    needs = "" if code.needs is None else f"{code.needs[0]}.{code.needs[1]}"
    folder = None if handed_in == code.file else handed_in
    return Submission(*facts, digests, root, needs, folder, code.asked)


def _rejected(
    paths: Sequence[Path],
    exercise: Exercise,
    student: str,
    fact: str,
    error: BaseException | None,
    root: Path | None,
) -> Submission:
    finding = Finding(Outcome.REJECTED, _line(fact), details=_details(error))
    below = root or paths[0].parent
    return Submission(student, exercise.name, (), paths[0], rejected=finding, root=below)


def _details(error: BaseException | None) -> tuple[str, ...]:
    """Return what helps an instructor find the cause; nothing about causes that are known."""
    if error is None or isinstance(error, OSError):
        return ()
    frames = traceback.extract_tb(error.__traceback__, limit=-1)
    place = f", in {Path(frames[0].filename).name}:{frames[0].lineno}" if frames else ""
    return (_line(f"{type(error).__name__}: {error}{place}"),)


def _line(text: str) -> str:
    return clean_line(text, LONGEST_REMARK)
