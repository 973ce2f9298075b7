"""Single students: whose hand-in counts for whom, more time, held marks; who is to be graded."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from nbgrader import api
from nbgrader.utils import parse_utc
from sqlalchemy import select

from autograder.course.creation import Course, read_course
from autograder.course.intake import timestamp
from autograder.course.settings import in_gradebook, open_gradebook, read_settings
from autograder.errors import KitError
from autograder.grading.class_task import (
    ClassTask,
    GroupHandIn,
    HandIn,
    course_roster,
    looks_handed_in,
    read_groups,
    shared_hand_ins,
)
from autograder.reports.roll import MarkQuestion, time_words
from autograder.values.files import opened, write_whole
from autograder.values.sanitize import clean, terminal_line
from autograder.values.value_file import indented_json, read_noted

# Whose hand-in counts for whom in a course: what one member of a group hands in is that of all.


@dataclass(frozen=True)
class CourseHandIns:
    """The hand-in of every student of a course for one exercise, and the groups that share one.

    Who was `removed` from the gradebook after being graded is not among them, until somebody adds
    the student again.
    """

    every: tuple[HandIn, ...]
    groups: tuple[GroupHandIn, ...]
    removed: tuple[str, ...] = ()

    @classmethod
    def of(cls, course: Course, exercise: str) -> CourseHandIns:
        """Return them as they lie in `submitted/`; raise `KitError` when the groups are wrong."""
        groups = read_groups(course.directory)

        def moment(each: HandIn) -> datetime | None:
            found: datetime | None = timestamp(each.paths[0], course.hand_ins)
            return found

        own = course_roster(own_folders(course, exercise).items())
        every, shared = shared_hand_ins(own, groups, moment)
        removed = _removed(course, [each.student for each in every])
        kept = tuple(each for each in every if each.student not in removed)
        return cls(kept, shared, removed)

    @cached_property
    def folders(self) -> Mapping[str, Path]:
        """The folder that counts for each student."""
        return {each.student: each.paths[0] for each in self.every}

    def has(self, student: str) -> bool:
        """Whether what counts for a student is there; what nobody may read is."""
        folder = self.folders.get(student)
        if folder is None:
            return False
        return looks_handed_in(folder) or not os.access(folder, os.R_OK | os.X_OK)


def _removed(course: Course, students: Sequence[str]) -> tuple[str, ...]:
    """Return who was graded, and is not in the gradebook now; an empty gradebook is a new one."""
    graded = {each: course.autograded("", each) for each in students}
    # A killed run may leave an empty folder of somebody new.
    before = [each for each, there in graded.items() if there.is_dir() and any(there.iterdir())]
    listed = in_gradebook(course, read_settings(course))[1] if before else frozenset()
    return tuple(each for each in before if each not in listed) if listed else ()


def own_folders(course: Course, exercise: str) -> Mapping[str, Path]:
    """Return the folder of each student who has handed in."""
    return {each: course.submitted(exercise, each) for each in course.students(exercise)}


def counting_folder(course: Course, exercise: str, student: str) -> Path:
    """Return the folder that counts for one student, who or whose group has handed in."""
    groups = read_groups(course.directory).values()
    if not any(student in members for members in groups):
        return course.submitted(exercise, student)
    return CourseHandIns.of(course, exercise).folders[student]


# More time for single students, as nbgrader's own extensions: its late penalties follow them.

_DAY = re.compile(r"\s*\d{4}-\d{2}-\d{2}\s*")


@dataclass(frozen=True)
class Extension:
    """The time (UTC) until which a student may hand in."""

    student: str
    until: datetime


def read_moment(text: str) -> datetime:
    """Return a time in UTC; a day alone means its end. Raise `KitError` when it is no time."""
    whole = f"{text.strip()} 23:59" if _DAY.fullmatch(text) else text.strip()
    try:
        found: datetime = parse_utc(whole)
    except Exception as error:  # the parser does not document what it raises
        raise KitError(
            f"{terminal_line(text, 60)!r} is not a time",
            place="--until",
            cure='write it as "2026-03-05 18:00 UTC", or a day alone for all of that day',
        ) from error
    return found


def extensions(course: Course, exercise: str) -> tuple[Extension, ...]:
    """Return the extensions that the gradebook has, by student; raise `KitError`."""
    with open_gradebook(course, read_settings(course), exercise) as (gradebook, notebook):
        if notebook.assignment.duedate is None:
            return ()
        rows = gradebook.db.scalars(
            select(api.SubmittedAssignment)
            .where(api.SubmittedAssignment.assignment_id == notebook.assignment_id)
            .where(api.SubmittedAssignment.extension.is_not(None))
            .order_by(api.SubmittedAssignment.student_id)
        )
        return tuple(Extension(row.student_id, row.duedate) for row in rows)


def extend(course: Course, exercise: str, students: Sequence[str], until: datetime | None) -> None:
    """Give `students` time until then, or (None) no more than everybody has.

    Who has not handed in yet gets an empty submission, as nbgrader keeps an extension there. Raise
    `KitError` when a student is not in the gradebook or the exercise has no deadline.
    """
    with open_gradebook(course, read_settings(course), exercise) as (gradebook, notebook):
        extension = _extension(exercise, notebook.assignment.duedate, until)
        for student in students:
            try:
                gradebook.find_student(student)
            except api.MissingEntry:
                raise unknown_student(course, student) from None
        handed_in = CourseHandIns.of(course, exercise).folders
        for student in students:
            with gradebook.db.no_autoflush:  # nbgrader's new rows are whole only at the end
                row = gradebook.update_or_create_submission(exercise, student, extension=extension)
            grades = [grade for book in row.notebooks for grade in book.grades]
            empty = all(each.auto_score is None and each.manual_score is None for each in grades)
            if extension is None and row.timestamp is None and empty and student not in handed_in:
                gradebook.remove_submission(exercise, student)


def _extension(exercise: str, due: datetime | None, until: datetime | None) -> timedelta | None:
    if until is None:
        return None
    if due is None:
        raise KitError(
            f"{exercise} has no deadline, so nobody is late",
            place="the gradebook",
            cure="set one in formgrader, or with `nbgrader db assignment add NAME --duedate TIME`",
        )
    if until <= due:
        raise KitError(
            f"{time_words(until)} is not after the deadline, which is {time_words(due)}",
            place="--until",
            cure="name a later time; without a zone, it is in UTC",
        )
    return until - due


def unknown_student(course: Course, student: str) -> KitError:
    """Return the error that somebody is not in the gradebook."""
    return KitError(
        f"{terminal_line(student, 60)} is not in the gradebook's list of students",
        place=str(course.directory),
        cure="check the id, which the class page shows before the name; nbgrader adds a student "
        "with `nbgrader db student add ID`",
    )


# What an instructor decides about single students: marks that are held back, questions about
# them.
#
# It lies beside the results of the exercise, since nbgrader's gradebook has no place for it. No
# mark follows from it. A student asks by handing in a file beside the work.

FILE = "decisions.json"
REQUESTS = ("regrade-request.txt", "regrade-request.md")
LONGEST = 2_000  # characters of a question, an answer or a reason
_MOST_BYTES = 64_000_000


@dataclass(frozen=True)
class Decisions:
    """Why marks are `held` back, and the `questions` about marks, by student."""

    held: Mapping[str, str] = field(default_factory=dict)
    questions: Mapping[str, tuple[MarkQuestion, ...]] = field(default_factory=dict)

    @classmethod
    def read(cls, course: Course, exercise: str) -> Decisions:
        """Return those on an exercise; raise `KitError` when the file is not one of the kit's."""
        fault = "this file is damaged: it should hold which marks are held back, and questions"
        cure = "put back a copy of it, or correct it; without it, all marks are given out"
        file = course.graded(exercise) / FILE
        return read_noted(file, _MOST_BYTES, _decisions, fault, cure) or cls()

    def write(self, course: Course, exercise: str) -> None:
        """Keep them; raise `KitError` when that is not possible."""
        held, questions = (dict(sorted(each.items())) for each in (self.held, self.questions))
        text = indented_json({"held": held, "questions": questions}, indent=1)
        write_whole(course.graded(exercise) / FILE, text + "\n")

    def holding(self, student: str, why: str | None) -> Decisions:
        """Return them with a mark held back, for a reason, or given out (None)."""
        others = {each: reason for each, reason in self.held.items() if each != student}
        return replace(self, held=others if why is None else {**others, student: why})

    def asking(self, student: str, question: MarkQuestion) -> Decisions:
        """Return them with one more question; one that is there already is not asked again."""
        there = self.questions.get(student, ())
        if any((each.text, each.file) == (question.text, question.file) for each in there):
            return self
        return replace(self, questions={**self.questions, student: (*there, question)})

    def answering(self, student: str, answer: str) -> Decisions:
        """Return them with the first open question of a student answered, else the last one anew.

        Raise `KitError` when the student has asked nothing.
        """
        asked = self.questions.get(student, ())
        if not asked:
            raise KitError(
                f"{student} has asked nothing",
                place="--answer",
                cure="note the question first: attn course question STUDENT EXERCISE WORDS",
            )
        waiting = [number for number, each in enumerate(asked) if not each.answer]
        place = waiting[0] if waiting else len(asked) - 1
        answered = replace(asked[place], answer=answer, answered=time_now())
        settled = (*asked[:place], answered, *asked[place + 1 :])
        return replace(self, questions={**self.questions, student: settled})

    def without_noted(self, student: str) -> Decisions:
        """Return them without the questions of a student that were noted and not handed in."""
        kept = tuple(each for each in self.questions.get(student, ()) if each.file)
        others = {each: asked for each, asked in self.questions.items() if each != student}
        return replace(self, questions={**others, student: kept} if kept else others)


def decisions_now(course: Course, exercise: str, folders: Mapping[str, Path]) -> Decisions:
    """Return the decisions, with the questions that lie in the hand-ins in `folders`.

    They are kept then: a new hand-in takes the place of the file. Raises what `read` raises.
    """
    known = Decisions.read(course, exercise)
    now = known
    for student, question in _requests(course, folders):
        now = now.asking(student, question)
    if now != known:
        now.write(course, exercise)
    return now


def time_now() -> str:
    """Return the time as it stands on a page."""
    return time_words(datetime.now(UTC))


def _requests(course: Course, folders: Mapping[str, Path]) -> Iterable[tuple[str, MarkQuestion]]:
    for student, folder in folders.items():
        for name in REQUESTS:
            if not os.path.lexists(folder / name):
                continue
            with suppress(OSError), opened(folder / name, course.hand_ins) as found:
                # One character takes four bytes at most.
                text = found.content(4 * LONGEST + 4).decode("utf-8", "replace")
                if words := clean(text, LONGEST).strip():
                    yield student, MarkQuestion(words, time_now(), name)


def _decisions(facts: Mapping[str, Mapping[str, Any]]) -> Decisions:
    held = {student: str(why) for student, why in facts["held"].items()}
    asked = facts["questions"].items()
    return Decisions(held, {student: tuple(map(_question, each)) for student, each in asked})


def _question(facts: Mapping[str, Any]) -> MarkQuestion:
    if not all(isinstance(value, str) for value in facts.values()):
        raise ValueError("a question is made of words")
    return MarkQuestion(**facts)


# A course to be graded: who has handed in, and where results go.
#
# Imports little: the gradebook is opened when grader processes have started (`course_records`).


def course_task(
    path: Path, exercise: str | None, solutions: Path | None, output: Path | None
) -> tuple[Course, ClassTask]:
    """Return the course at `path`, and what there is to grade; raise `KitError` on bad input."""
    course = read_course(path)
    if solutions and solutions.resolve() != course.solutions:
        raise KitError(
            "the course already says where its solutions are, and --solutions names another place",
            place=str(path),
            cure=f"leave out --solutions; this course uses {course.solutions}",
        )
    facts = course.only_exercise(exercise)
    found = CourseHandIns.of(course, facts.name)
    if not found.every:
        raise KitError(
            f"nobody has handed in {facts.name}",
            place=str(path / "submitted"),
            cure=f"collect the submissions first: each goes into submitted/STUDENT/{facts.name}/",
        )
    target = output or course.graded(facts.name)
    named = target.resolve() != course.graded(facts.name).resolve()
    secret, rules = course.secret_folder, course.rules
    return course, ClassTask(
        facts, found.every, path, target, named, secret, rules, groups=found.groups
    )
