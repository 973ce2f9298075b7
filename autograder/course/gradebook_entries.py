"""Reading marks back from nbgrader's gradebook, with all that people changed there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from nbgrader import api
from sqlalchemy import select

from autograder.course.creation import Course
from autograder.course.decisions import Decisions
from autograder.course.graded_notebook import NOT_THERE
from autograder.course.hand_ins import CourseHandIns
from autograder.course.settings import open_gradebook, read_settings
from autograder.model.exercise import CHECK_PREFIX
from autograder.reports.gradebook_entry import (
    CellComment,
    ClassGradebook,
    EnteredCell,
    GradebookEntry,
)
from autograder.reports.student_record import StudentRecord, StudentRecords


def read_gradebook(course: Course, exercise: str) -> ClassGradebook:
    """Return what the gradebook has about the class and about each who has handed in `exercise`.

    Whatever the instructor has added to the assignment is in it, also in further notebooks. Raise
    `KitError` when the exercise is not released or the database cannot be used.
    """
    with open_gradebook(course, read_settings(course), exercise) as (gradebook, notebook):
        return _class_gradebook(course, exercise, gradebook, notebook)


def not_marks(course: Course, gradebook: Any) -> Mapping[tuple[str, str], str]:
    """Return by exercise and student where an open gradebook has no mark, each with the reason.

    Of the kit's exercises only, and those that are released; whatever takes marks out of a
    gradebook goes by it. Raise `KitError` as `read_gradebook`.
    """
    found = {}
    for exercise in {each.name for each in gradebook.assignments} & {*course.exercises}:
        notebook = gradebook.find_notebook(exercise, exercise)
        known = _class_gradebook(course, exercise, gradebook, notebook)
        for student in {*known.entries, *CourseHandIns.of(course, exercise).folders}:
            if why := known.no_mark(student):
                found[exercise, student] = why
    return found


def _class_gradebook(
    course: Course, exercise: str, gradebook: Any, notebook: api.Notebook
) -> ClassGradebook:
    steps = [step.name for step in course.exercise(exercise).steps]
    cells = _graded_cells(notebook, steps)
    entered = _entered_cells(gradebook.db, notebook.assignment_id, cells)
    comments = _comments(gradebook.db, notebook, steps)
    submissions = gradebook.db.execute(
        select(
            api.SubmittedAssignment.student_id,
            api.SubmittedAssignment.late_submission_penalty,
            api.SubmittedAssignment.timestamp,
            api.SubmittedAssignment.extension,
        ).where(api.SubmittedAssignment.assignment_id == notebook.assignment_id)
    ).all()
    people = gradebook.db.execute(
        select(api.Student.id, api.Student.first_name, api.Student.last_name)
    ).all()
    nothing = tuple(cells.values())
    entries = {
        student: GradebookEntry(
            student,
            entered.get(student, nothing),
            float(penalty or 0.0),
            tuple(comments.get(student, ())),
        )
        for student, penalty, _, _ in submissions
    }
    names = {student: " ".join(filter(None, name)) for student, *name in people}
    due, decided = notebook.assignment.duedate, Decisions.read(course, exercise)
    there = CourseHandIns.of(course, exercise)
    gone = {each for each in entries if entries[each].was_graded and not there.has(each)}
    records = _records(names, submissions, due, decided, gone)
    return ClassGradebook(entries, tuple(sorted(names)), records)


def _records(
    names: Mapping[str, str],
    submissions: Iterable[Any],
    due: datetime | None,
    known: Decisions,
    gone: Container[str],
) -> StudentRecords:
    """Return what is known of students; those without a hand-in have only a name."""
    times = {each.student_id: (each.timestamp, each.extension) for each in submissions}
    found = {}
    for student in {*names, *times}:
        at, extension = times.get(student, (None, None))
        own_due = due + extension if due and extension else due
        found[student] = StudentRecord(
            name=names.get(student, ""),
            handed_in=at,
            due=own_due,
            extended=bool(extension),
            held=known.held.get(student, ""),
            gone=student in gone,
            questions=known.questions.get(student, ()),
        )
    return found


def _graded_cells(notebook: api.Notebook, steps: list[str]) -> dict[str, EnteredCell]:
    """Return the cells of the assignment by their ids, nothing entered; the steps come first."""
    found: list[tuple[str, EnteredCell]] = []
    for book in notebook.assignment.notebooks:
        for cell in (*book.grade_cells, *book.task_cells):
            step = cell.name.removeprefix(CHECK_PREFIX) if book.id == notebook.id else ""
            step = step if step in steps and step != cell.name else ""
            own = cell.name if book.id == notebook.id else f"{book.name}: {cell.name}"
            own = f"{own}, by hand" if own in steps else own
            found.append((cell.id, EnteredCell(step or own, step, cell.max_score)))
    place = {name: number for number, name in enumerate(steps)}
    found.sort(key=lambda each: (place.get(each[1].step, len(steps)), each[1].name))
    return dict(found)


def _entered_cells(
    db: Any, assignment: str, cells: Mapping[str, EnteredCell]
) -> dict[str, tuple[EnteredCell, ...]]:
    """Return the `cells` with what is entered, by student; equal ones are held once."""
    query = (
        select(
            api.SubmittedAssignment.student_id,
            api.Grade.cell_id,
            api.Grade.auto_score,
            api.Grade.manual_score,
            api.Grade.extra_credit,
            api.Grade.needs_manual_grade,
        )
        .select_from(api.Grade)
        .join(api.SubmittedNotebook, api.Grade.notebook_id == api.SubmittedNotebook.id)
        .join(
            api.SubmittedAssignment,
            api.SubmittedNotebook.assignment_id == api.SubmittedAssignment.id,
        )
        .where(api.SubmittedAssignment.assignment_id == assignment)
    )
    place = {number: at for at, number in enumerate(cells)}
    found: dict[str, list[EnteredCell]] = defaultdict(lambda: list(cells.values()))
    known: dict[EnteredCell, EnteredCell] = {}
    for row in db.execute(query):
        if row.cell_id in cells:
            cell = _entered(cells[row.cell_id], row)
            found[row.student_id][place[row.cell_id]] = known.setdefault(cell, cell)
    for student, name in _not_asked(db, assignment):
        found[student] = [
            replace(cell, asked=False) if cell.name == name and cell.open else cell
            for cell in found[student]
        ]
    return {student: tuple(entered) for student, entered in found.items()}


def _not_asked(db: Any, assignment: str) -> Iterator[Any]:
    """Return each student and question that was not in the release that was handed in."""
    query = (
        select(api.SubmittedAssignment.student_id, api.BaseCell.name)
        .select_from(api.Comment)
        .join(api.BaseCell, api.Comment.cell_id == api.BaseCell.id)
        .join(api.SubmittedNotebook, api.Comment.notebook_id == api.SubmittedNotebook.id)
        .join(
            api.SubmittedAssignment,
            api.SubmittedNotebook.assignment_id == api.SubmittedAssignment.id,
        )
        .where(
            api.SubmittedAssignment.assignment_id == assignment,
            api.Comment.auto_comment == NOT_THERE,
        )
    )
    yield from db.execute(query)


def _comments(db: Any, notebook: api.Notebook, steps: list[str]) -> dict[str, list[CellComment]]:
    """Return what people wrote about cells, by student; of the automatic comments, none."""
    query = (
        select(
            api.SubmittedAssignment.student_id,
            api.BaseCell.name,
            api.BaseCell.notebook_id,
            api.Comment.manual_comment,
        )
        .select_from(api.Comment)
        .join(api.BaseCell, api.Comment.cell_id == api.BaseCell.id)
        .join(api.SubmittedNotebook, api.Comment.notebook_id == api.SubmittedNotebook.id)
        .join(
            api.SubmittedAssignment,
            api.SubmittedNotebook.assignment_id == api.SubmittedAssignment.id,
        )
        .where(api.SubmittedAssignment.assignment_id == notebook.assignment_id)
        .order_by(api.BaseCell.name)
    )
    found: dict[str, list[CellComment]] = defaultdict(list)
    for student, name, book, text in db.execute(query):
        step = name if book == notebook.id and name in steps else ""
        if text and text.strip():
            found[student].append(CellComment(name, step, text.strip()))
    return found


def _entered(cell: EnteredCell, row: Any) -> EnteredCell:
    return EnteredCell(
        cell.name,
        cell.step,
        cell.max_points,
        row.auto_score,
        row.manual_score,
        row.extra_credit or 0.0,
        bool(row.needs_manual_grade) and bool(row.manual_score is not None or row.extra_credit),
    )
