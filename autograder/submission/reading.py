"""One student's code for one exercise, read from what was handed in.

Whatever is wrong with a file costs only its owner, and becomes a sentence (`rejected`)
instead of an error. What can be read of it counts.
"""

from __future__ import annotations

import hashlib
import json
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from autograder.errors import KitError
from autograder.model.exercise import Exercise
from autograder.model.sanitize import clean_line, file_name
from autograder.model.verdict import Finding, Outcome
from autograder.submission.cells import Asked
from autograder.submission.file_choice import Choice, cannot_be_opened, chosen
from autograder.submission.file_text import Unreadable, is_notebook

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
        return _submission(chosen(paths, exercise, below), exercise, student, below, folder)
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
    choice: Choice, exercise: Exercise, student: str, root: Path, handed_in: Path | None
) -> Submission:
    code = choice.code
    remarks = tuple(dict.fromkeys(map(_line, code.remarks)))[:MOST_REMARKS]
    not_run = tuple((name, _line(words)) for name, words in code.not_run)
    facts = (student, exercise.name, code.cells, code.file, remarks, None, not_run)
    needs = "" if code.needs is None else f"{code.needs[0]}.{code.needs[1]}"
    folder = None if handed_in == code.file else handed_in
    return Submission(*facts, choice.digests, root, needs, folder, code.asked)


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
