"""Who handed in what: which files and folders below a path are whose. Nothing is read here.

A path is a course directory (nbgrader's `submitted/STUDENT/EXERCISE/`) or a flat
folder in which every file or folder is named after its student. With a list of groups, what one
member hands in is the hand-in of all.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from autograder.errors import KitError
from autograder.model.files import read_small
from autograder.model.sanitize import clean_line
from autograder.submission.file_text import bare, is_submission
from autograder.submission.student_name import student_of

GROUPS = "groups.csv"
_STUDENT, _GROUP = ("student_id", "student", "id"), "group"  # headings of that list
_MOST_BYTES = 16_000_000
INSTRUCTORS_OWN = (".csv", ".md", ".txt")  # lists and notes that lie beside the submissions


@dataclass(frozen=True)
class HandIn:
    """The files and folders that one student handed in.

    Everything below the folder `root` is the student's; None stands for the folder they lie in.
    """

    student: str
    paths: tuple[Path, ...]
    root: Path | None = None


def course_roster(folders: Iterable[tuple[str, Path]]) -> tuple[HandIn, ...]:
    """Return the hand-ins of a course: pairs of a student and the folder handed in.

    That folder lies in the student's own folder, which may be a link.
    """
    return tuple(HandIn(student, (folder,), folder.parent.parent) for student, folder in folders)


def flat_roster(folder: Path) -> tuple[HandIn, ...]:
    """Return the hand-ins in a folder of files named after students.

    Whatever has a student's name is theirs, even a file of the wrong kind: nobody is left out.
    Raises `KitError` when there are none.
    """
    by_student: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir():
            by_student[student_of(path.name)].append(path)
        elif is_submission(path) or path.suffix.lower() not in INSTRUCTORS_OWN:
            by_student[student_of(bare(path).stem)].append(path)
    if not by_student:
        raise KitError(
            "there are no submissions here",
            place=str(folder),
            cure="put one .py or .ipynb file per student into it, named after the student",
        )
    return tuple(HandIn(student, tuple(paths)) for student, paths in by_student.items())


@dataclass(frozen=True)
class GroupHandIn:
    """A group of whose `members` one has handed in for all: `student`.

    What `others` of them have handed in as well does not count.
    """

    group: str
    members: tuple[str, ...]
    student: str
    others: tuple[str, ...] = ()


def read_groups(folder: Path) -> Mapping[str, tuple[str, ...]]:
    """Return the students of each group, as `groups.csv` in `folder` lists them; without it, none.

    Raise `KitError` when it lists no groups, or one student in two.
    """
    path = folder / GROUPS
    try:
        text = read_small(path, _MOST_BYTES).decode("utf-8-sig", "replace")
    except FileNotFoundError:
        return {}
    lines = csv.reader(io.StringIO(text), delimiter=";" if ";" in text.split("\n")[0] else ",")
    rows = [[value.strip() for value in row] for row in lines if row]
    head = [value.casefold() for value in rows[0]] if rows else []
    student_at = next((head.index(name) for name in _STUDENT if name in head), None)
    if student_at is None or _GROUP not in head:
        raise _wrong_groups(path, "has no columns `student_id` and `group`")
    group_at, found = head.index(_GROUP), dict[str, str]()
    for row in rows[1:]:
        student, group = (*row, *[""] * len(head))[student_at], (*row, *[""] * len(head))[group_at]
        if student and group and found.setdefault(student, group) != group:
            raise _wrong_groups(path, f"lists {clean_line(student, 60)} in two groups")
    groups: dict[str, tuple[str, ...]] = {}
    for student, group in found.items():
        groups[group] = (*groups.get(group, ()), student)
    return groups


def _wrong_groups(path: Path, why: str) -> KitError:
    return KitError(
        f"{GROUPS} {why}",
        place=str(path),
        cure="write a line for each student of a group: student_id,group",
    )


def shared_hand_ins(
    hand_ins: Sequence[HandIn],
    groups: Mapping[str, Sequence[str]],
    handed_in: Callable[[HandIn], datetime | None] = lambda _: None,
) -> tuple[tuple[HandIn, ...], tuple[GroupHandIn, ...]]:
    """Return the hand-in of every student, also of those whose group has one, and these groups.

    Of several of a group, the one that was `handed_in` last counts for all: the first by name where
    that is not known.
    """
    by_student = {each.student: each for each in hand_ins}
    shared = []
    for group, members in groups.items():
        own = [by_student[student] for student in sorted(members) if student in by_student]
        if own:
            last = max(own, key=lambda each: handed_in(each) or datetime.min)
            by_student |= {student: replace(last, student=student) for student in members}
            others = tuple(each.student for each in own if each is not last)
            shared.append(GroupHandIn(group, tuple(members), last.student, others))
    return tuple(by_student[student] for student in sorted(by_student)), tuple(shared)
