"""The instructor's page on a whole course: each student over all exercises.

Exercises are graded one at a time, so each run leaves its rows in a file, from which the next run,
of whichever exercise, makes the page again.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from autograder.reports.class_page import KINDS, MOST_ROWS, points_words, shown_students
from autograder.reports.feedback import environment
from autograder.reports.roll import (
    NO_RECORDS,
    GradebookEntries,
    StudentRecords,
    class_roll,
    max_points_of,
    points_of,
    shown_names,
)
from autograder.values.exercise import Exercise
from autograder.values.files import write_whole
from autograder.values.symbols import KEY, count, number, step_mark
from autograder.values.verdict import Verdict

ROWS = "course-rows.json"
COURSE_PAGE = "index.html"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class CourseMark:
    """A student's mark for one exercise: a link from the exercise's folder, and a sign a step."""

    page: str
    words: str
    points: float | None
    max_points: float
    signs: str

    @property
    def runs(self) -> list[tuple[str, str]]:
        """Equal signs side by side, after the kind of each."""
        return [(KINDS[sign], "".join(same)) for sign, same in itertools.groupby(self.signs)]

    @property
    def told(self) -> str:
        """The signs in words."""
        counted = Counter(self.signs).items()
        return ", ".join(f"{amount} {KEY[sign]}" for sign, amount in counted)


@dataclass(frozen=True)
class ExerciseRows:
    """What the course's page has of one exercise: its students, by id."""

    folder: str
    title: str
    difficulty: int
    marks: Mapping[str, CourseMark]


def write_course_page(
    output: Path,
    exercise: Exercise,
    verdicts: Sequence[Verdict],
    entries: GradebookEntries,
    records: StudentRecords = NO_RECORDS,
) -> Path:
    """Write the page beside `output`, where the results of `exercise` are; return its path.

    Raise `KitError` when a verdict is not about this exercise or the folder cannot be written.
    """
    _write_rows(output / ROWS, exercise, verdicts, entries)
    found, unread = _read_all(output.parent)
    ids = sorted({student for each in found for student in each.marks}, key=str.casefold)
    names = shown_names(ids, records)
    template = environment().get_template("course.html.j2")
    text = template.render(
        students=count(len(ids), "student"),
        exercises=found,
        unread=unread,
        rows=[_row(names[student], student, found) for student in ids[:MOST_ROWS]],
        left_out=len(ids) > MOST_ROWS,
        key=KEY,
        kinds=KINDS,
    )
    path = output.parent / COURSE_PAGE
    write_whole(path, text)
    return path


def _write_rows(
    path: Path, exercise: Exercise, verdicts: Sequence[Verdict], entries: GradebookEntries
) -> None:
    roll = class_roll(exercise, verdicts)
    shown = shown_students([verdict.student for verdict in roll])
    marks = {
        each.student: asdict(
            CourseMark(
                shown[each.student].page,
                points_words(each, entries),
                points_of(each, entries),
                max_points_of(each, entries),
                "".join(step_mark(step).sign for step in each.steps),
            )
        )
        for each in roll
    }
    facts = {
        "format_version": FORMAT_VERSION,
        "title": exercise.title,
        "difficulty": exercise.difficulty,
        "marks": marks,
    }
    write_whole(path, json.dumps(facts) + "\n")


def _read_all(graded: Path) -> tuple[list[ExerciseRows], list[str]]:
    """Return what is known about each exercise, the easiest first, and whose file is damaged."""
    found, unread = [], []
    for path in sorted(graded.glob(f"*/{ROWS}")):
        try:
            found.append(_read(path))
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            unread.append(path.parent.name)
    return sorted(found, key=lambda each: (each.difficulty, each.folder)), unread


def _read(path: Path) -> ExerciseRows:
    facts = json.loads(path.read_text(encoding="utf-8"))
    if facts["format_version"] != FORMAT_VERSION:
        raise ValueError
    marks = {student: CourseMark(**mark) for student, mark in facts["marks"].items()}
    return ExerciseRows(path.parent.name, facts["title"], facts["difficulty"], marks)


def _row(name: str, student: str, exercises: Sequence[ExerciseRows]) -> dict[str, Any]:
    """Return a student's row: a folder and a mark or None for each exercise, and their sum."""
    marks = [(each.folder, each.marks.get(student)) for each in exercises]
    given = [mark for _, mark in marks if mark and mark.points is not None]
    points = sum(mark.points or 0.0 for mark in given)
    together = f"{number(points)}/{number(sum(mark.max_points for mark in given))}"
    return {"name": name, "marks": marks, "together": together if given else "–"}
