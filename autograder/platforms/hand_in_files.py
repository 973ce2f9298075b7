"""Which of a student's files lie where in the folder that is graded.

The grader reads what lies at the top of a student's folder (`submission/file_choice.py`), and a
file named after the exercise counts before others. So a folder around everything is left out, and
where no hand-in lies at the top, those that lie nearest to it are put there.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from autograder.model.sanitize import UNSEEN
from autograder.platforms.archive import Parts, UnpackedFile, common_length
from autograder.submission.file_text import bare, is_submission

_AGAIN = re.compile(r"(?P<stem>.+)-(?P<number>\d{1,4})")
_MOST_BYTES = 150
TIMESTAMP = "timestamp.txt"  # nbgrader's file beside a hand-in


@dataclass(frozen=True)
class Delivered:
    """A file of a student's: its content, its path in what was handed in, and how new it is.

    The `attempt` that it belongs to sorts by its moment, "" where the platform has none.
    """

    file: UnpackedFile
    inner: Parts
    newer: int = 0
    attempt: str = ""


@dataclass(frozen=True)
class Laid:
    """Where each file goes in the student's folder, and which an uploaded later one replaces."""

    files: tuple[tuple[PurePosixPath, UnpackedFile], ...]
    replaced: tuple[tuple[UnpackedFile, str], ...] = ()


def laid_out(
    delivered: Sequence[Delivered],
    exercise: str | None,
    *,
    numbered: bool = False,
    reserved: Iterable[str] = (),
) -> Laid:
    """Return where the files of one student go; of a file handed in again, the last counts.

    `numbered` says that the platform adds `-1` to the name of such a file, as Canvas does.
    Elsewhere, such a name is the student's own. `reserved` are names that no file gets.
    """
    kept, replaced = _last_attempt(delivered)
    if numbered:
        kept, replaced = _latest(kept, exercise)
    common = common_length([each.inner[:-1] for each in kept])
    inner = {id(each): _names(each.inner[common:]) for each in kept}
    wanted = [each for each in kept if _counts(inner[id(each)], exercise)]
    wanted = wanted or [each for each in kept if _counts(inner[id(each)], None)]
    nearest = min((len(inner[id(each)]) for each in wanted), default=1)
    if nearest > 1:
        for each in wanted:
            if len(inner[id(each)]) == nearest:
                inner[id(each)] = inner[id(each)][-1:]
    places = _Places(reserved)
    files = tuple((places.free(inner[id(each)]), each.file) for each in kept)
    return Laid(files, tuple(replaced))


def _last_attempt(
    delivered: Sequence[Delivered],
) -> tuple[list[Delivered], list[tuple[UnpackedFile, str]]]:
    """Return the files of the last attempt with a hand-in in it, and of those after it."""
    work = [each.attempt for each in delivered if is_submission(Path(each.inner[-1]))]
    last = max(work, default="")
    older = [(each.file, "a later attempt counts") for each in delivered if each.attempt < last]
    return [each for each in delivered if each.attempt >= last], older


def _latest(
    delivered: Sequence[Delivered], exercise: str | None
) -> tuple[list[Delivered], list[tuple[UnpackedFile, str]]]:
    """Return the files with the names that they were handed in under; of each, the newest."""
    names = {each.inner for each in delivered}
    by_name: dict[Parts, list[Delivered]] = {}
    for each in delivered:
        by_name.setdefault(_first_name(each.inner, names, exercise), []).append(each)
    kept: list[Delivered] = []
    replaced: list[tuple[UnpackedFile, str]] = []
    for inner, versions in by_name.items():
        *older, last = sorted(versions, key=lambda each: (each.newer, _number(each.inner)))
        kept.append(Delivered(last.file, inner, last.newer))
        replaced += [(each.file, f"{last.file.parts[-1]} was handed in later") for each in older]
    return kept, replaced


def _first_name(inner: Parts, names: Iterable[Parts], exercise: str | None) -> Parts:
    """Return the name without the `-1` that Canvas adds when a file is handed in again."""
    if len(inner) != 1:
        return inner
    file = Path(inner[0])
    found = _AGAIN.fullmatch(bare(file).stem)
    if found is None or not is_submission(file):
        return inner
    first = (found["stem"] + bare(file).suffix,)
    return first if found["stem"] == exercise or first in names else inner


def _number(inner: Parts) -> int:
    found = _AGAIN.fullmatch(bare(Path(inner[-1])).stem)
    return int(found["number"]) if found else 0


def _counts(inner: Parts, exercise: str | None) -> bool:
    file = Path(inner[-1])
    return is_submission(file) and exercise in (None, bare(file).stem)


def _names(inner: Parts) -> Parts:
    return tuple(safe_name(part) for part in inner)


def safe_name(name: str) -> str:
    """Return a name of one file or folder that any disk keeps, with its suffix."""
    clean = "".join(
        "_" if letter in '/\\:*?"<>|' or unicodedata.category(letter) in (*UNSEEN, "Cs") else letter
        for letter in name
    ).strip(" ")
    clean = f"_{clean}" if clean.startswith((".", "-")) or not clean else clean
    path = PurePosixPath(clean)
    short = path.stem.encode("utf-8")[:_MOST_BYTES].decode("utf-8", "ignore")
    return short + path.suffix.encode("utf-8")[:20].decode("utf-8", "ignore")


class _Places:
    """The paths of one hand-in: no two are the same, also where small and large letters are.

    `reserved` are names that no file gets. Thousands of files of one name take no longer than
    others.
    """

    def __init__(self, reserved: Iterable[str]) -> None:
        self.taken = set(reserved)
        self.numbers: Counter[str] = Counter()
        self.folders: dict[str, PurePosixPath] = {}

    def free(self, inner: Parts) -> PurePosixPath:
        """Return a path for a file; a folder that has the name of a file gets another one."""
        folder = PurePosixPath()
        for name in inner[:-1]:
            key = str(folder / name).casefold()
            if key not in self.folders:
                self.folders[key] = self._unlike_others(folder / name)
            folder = self.folders[key]
        return self._unlike_others(folder / inner[-1])

    def _unlike_others(self, wanted: PurePosixPath) -> PurePosixPath:
        path, key = wanted, str(wanted).casefold()
        while str(path).casefold() in self.taken:
            self.numbers[key] += 1
            path = wanted.with_name(f"{wanted.stem}~{self.numbers[key] + 1}{wanted.suffix}")
        self.taken.add(str(path).casefold())
        return path
