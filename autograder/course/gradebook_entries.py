"""Marks read back from nbgrader's gradebook, with what people changed, and which ones will move."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from nbgrader import api
from sqlalchemy import select

from autograder.course.creation import Course
from autograder.course.exercise_update import ExerciseUpdate
from autograder.course.gradebook import entered, notebook_cells
from autograder.course.graded_attempts import AttemptNotes, noted_attempts
from autograder.course.graded_notebook import NOT_THERE
from autograder.course.settings import open_gradebook, read_settings
from autograder.course.students import CourseHandIns, Decisions
from autograder.errors import KitError
from autograder.grading.classroom import read_class
from autograder.grading.grader_pool import GraderPool
from autograder.grading.journal import judging_hash
from autograder.reports.grades_csv import find_verdict
from autograder.reports.roll import (
    CellComment,
    ClassGradebook,
    EnteredCell,
    GradebookEntry,
    StudentRecord,
    StudentRecords,
)
from autograder.values.exercise import CHECK_PREFIX, Exercise
from autograder.values.sanitize import terminal_line
from autograder.values.symbols import is_partly_marked, number, part_of
from autograder.values.value_file import ValueFile
from autograder.values.verdict import Verdict


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
        handed_in = CourseHandIns.of(course, exercise).folders
        for student in {*known.entries, *handed_in, *known.removed}:
            if why := known.no_mark(student):
                found[exercise, student] = why
    return found


def _class_gradebook(
    course: Course, exercise: str, gradebook: Any, notebook: api.Notebook
) -> ClassGradebook:
    steps = [step.name for step in course.exercise(exercise).steps]
    cells = _graded_cells(notebook, steps)
    points = _entered_cells(gradebook.db, notebook.assignment_id, cells)
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
            points.get(student, nothing),
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
    return ClassGradebook(entries, tuple(sorted(names)), records, there.removed)


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
    for student in {*names, *times, *known.held}:  # a hold holds whatever else is true
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
    columns = (
        *(api.Grade.cell_id, api.Grade.auto_score, api.Grade.manual_score),
        *(api.Grade.extra_credit, api.Grade.needs_manual_grade),
    )
    query = entered(api.Grade, *columns).where(_of(assignment))
    place = {number: at for at, number in enumerate(cells)}
    found: dict[str, list[EnteredCell]] = defaultdict(lambda: list(cells.values()))
    known: dict[EnteredCell, EnteredCell] = {}
    for row in db.execute(query):
        if row.cell_id in cells:
            cell = _entered(cells[row.cell_id], row)
            found[row.student_id][place[row.cell_id]] = known.setdefault(cell, cell)
    # Who has this comment had a release without the question.
    not_asked = entered(api.Comment).where(_of(assignment), api.Comment.auto_comment == NOT_THERE)
    for student, name in db.execute(not_asked):
        found[student] = [
            replace(cell, asked=False) if cell.name == name and cell.open else cell
            for cell in found[student]
        ]
    return {student: tuple(theirs) for student, theirs in found.items()}


def _of(assignment: str) -> Any:
    return api.SubmittedAssignment.assignment_id == assignment


def _comments(db: Any, notebook: api.Notebook, steps: list[str]) -> dict[str, list[CellComment]]:
    """Return what people wrote about cells, by student; of the automatic comments, none."""
    query = entered(api.Comment, api.BaseCell.notebook_id, api.Comment.manual_comment)
    query = query.where(_of(notebook.assignment_id)).order_by(api.BaseCell.name)
    found: dict[str, list[CellComment]] = defaultdict(list)
    for student, name, book, text in db.execute(query):
        step = name if book == notebook.id and name in steps else ""
        if text and text.strip():
            found[student].append(CellComment(name, step, text.strip()))
    return found


def _entered(cell: EnteredCell, row: Any) -> EnteredCell:
    points = {"automatic": row.auto_score, "by_hand": row.manual_score}
    given = row.manual_score is not None or bool(row.extra_credit)
    again = bool(row.needs_manual_grade) and given
    return replace(cell, **points, extra=row.extra_credit or 0.0, look_again=again)


# Which marks move when the points or the steps of an exercise change, before anybody is graded.
#
# A mark is known beforehand where the hand-in, the checks and everything else that judges are the
# same as when it was graded: then only points move. Otherwise the work has to be graded again,
# and only an estimate is given: what comes out if every step that stays is judged as before.


@dataclass(frozen=True)
class MarkForecast:
    """A student's mark before and after; `again` says why it is only an estimate, "" if it is not.

    by_hand: the cells whose points somebody gave by hand and which are gone. penalty: the points
    that are off for being late; how many will be, the instructor's own rule says then.
    """

    student: str
    before: float
    after: float
    again: str = ""
    by_hand: tuple[str, ...] = ()
    penalty: float = 0.0

    @property
    def words(self) -> str:
        """The sentence for the instructor."""
        name, moved = terminal_line(self.student, 60), f"{number(self.before)} -> "
        if self.again:
            same = f"{number(self.after)} if the steps that stay are judged as before"
            words = f"{name}: {moved}to be graded again ({self.again}); {same}"
        else:
            words = f"{name}: {moved}{number(self.after)}"
        if self.penalty:
            words += f", with {number(self.penalty)} off for being late, which is worked out anew"
        lost = ", ".join(f"`{terminal_line(cell, 60)}`" for cell in self.by_hand)
        return f"{words}; points by hand for {lost} go" if lost else words


def mark_forecasts(course: Course, update: ExerciseUpdate) -> tuple[MarkForecast, ...]:
    """Return the students with a mark that moves, or may move, in the order of their names.

    Hand-ins are read, in grader processes, and nobody is judged. Raise `KitError` when the
    gradebook cannot be used.
    """
    exercise = course.exercise(update.name)
    entries = read_gradebook(course, update.name).entries
    points = notebook_cells(update.notebook)
    wanted = {**points.graded, **points.tasks}
    graded = {name: entry for name, entry in entries.items() if entry.has_marks}
    if not any(_moves(entry, wanted) for entry in graded.values()):
        return ()
    hashes = _code_hashes(course, exercise)
    same_checks = _unchanged_judging(update, exercise)
    notes = noted_attempts(course.graded(update.name), (), {})
    found = (
        _forecast(course, exercise, entry, wanted, hashes.get(name), same_checks, notes)
        for name, entry in sorted(graded.items())
    )
    return tuple(each for each in found if each.again or each.before != each.after)


def judged_again(course: Course, update: ExerciseUpdate) -> bool:
    """Whether the next run judges everybody anew, since the checks or the kit have changed."""
    exercise = course.exercise(update.name)
    return update.made is not None and not _unchanged_judging(update, exercise)


def _moves(entry: GradebookEntry, wanted: Mapping[str, float]) -> bool:
    there = {name: cell.max_points for cell in entry.cells if (name := _name(cell))}
    return there != {name: most for name, most in wanted.items() if name in there} or any(
        name not in there for name in wanted
    )


def _forecast(
    course: Course,
    exercise: Exercise,
    entry: GradebookEntry,
    wanted: Mapping[str, float],
    code: str | None,
    same_checks: str,
    notes: AttemptNotes,
) -> MarkForecast:
    verdict = _verdict(course, exercise.name, entry.student)
    # With other points, another attempt may be the best one.
    judged = [verdict] if verdict else []
    counted = notes.counted(exercise, judged, course.attempts, course.rules)
    attempt = counted.get(entry.student)
    after, by_hand = 0.0, []
    for cell in entry.cells:
        name = _name(cell)
        if name and name not in wanted:
            by_hand += [cell.shown_name] if cell.by_hand is not None or cell.extra else []
        elif attempt is not None and cell.by_hand is None and cell.step:
            after += attempt.points.get(cell.step, 0.0) + cell.extra
        elif cell.by_hand is not None or not cell.step or not cell.automatic:
            after += cell.points
        else:
            after += _earned(cell, wanted[name], verdict) + cell.extra
    again = _why_again(course, verdict, code, same_checks)
    several = len(notes.attempts.get(entry.student, ())) > 1 and attempt is None
    if several and verdict and not math.isclose(entry.automatic, verdict.points):
        again = again or "[attempts] has changed"
    if any(name not in map(_name, entry.cells) for name in wanted):
        again = again or "there are new questions"
    return MarkForecast(
        entry.student,
        entry.points,
        max(0.0, after - entry.penalty),
        again,
        tuple(by_hand),
        entry.penalty,
    )


def _earned(cell: EnteredCell, points: float, verdict: Verdict | None) -> float:
    """Return what a step earns that had automatic points, if it is worth `points` now."""
    steps = verdict.steps if verdict else ()
    found = next((step for step in steps if step.name == cell.step), None)
    return part_of(points, found) if found and is_partly_marked(found) else points


def _why_again(course: Course, verdict: Verdict | None, code: str | None, same_checks: str) -> str:
    """Return why a mark cannot be known before it is graded, "" when it can."""
    if verdict is None:
        return "there is no verdict of an earlier run"
    if code != verdict.code_hash:
        return "the hand-in has changed" if code else "there is no hand-in"
    if not same_checks or verdict.exercise_hash != same_checks:
        return "the checks, or the kit, have changed"
    if not course.rules.layer_earns_steps and any(step.by_layer for step in verdict.steps):
        return "layer_earns_steps has changed"
    partly = any(map(is_partly_marked, verdict.steps))
    if course.rules.marked(verdict) != verdict or (partly and not course.rules.partial_points):
        return "partial_points has changed"
    return ""


def _unchanged_judging(update: ExerciseUpdate, exercise: Exercise) -> str:
    """Return the hash of the exercise on verdicts that would come out the same now, "" if none."""
    made = update.made
    if made and made.judging_hash == judging_hash(exercise.folder):
        return made.exercise_hash
    return ""


def _code_hashes(course: Course, exercise: Exercise) -> dict[str, str]:
    hand_ins = CourseHandIns.of(course, exercise.name).every
    if not hand_ins:
        return {}
    with GraderPool() as pool, ValueFile() as file:
        read = read_class(pool, exercise, hand_ins, file=file)
        return {each.student: each.code_hash for each in read}


def _verdict(course: Course, exercise: str, student: str) -> Verdict | None:
    with suppress(KitError, OSError):
        return find_verdict(course.graded(exercise) / "verdicts", student)
    return None  # then nothing is promised


def _name(cell: EnteredCell) -> str:
    """Return the grade_id of a cell of the exercise's notebook; "" for one of another notebook."""
    return f"{CHECK_PREFIX}{cell.step}" if cell.step else ("" if ": " in cell.name else cell.name)
