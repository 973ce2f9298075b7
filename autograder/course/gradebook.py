"""Writing verdicts into nbgrader's own gradebook, in bulk; late penalties of the attempt.

Each batch of students is one transaction. The scores are those that nbgrader would
read: its own scorer runs on the notebook that goes into `autograded/`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode, from_dict
from nbgrader import api, utils
from nbgrader.plugins import BasePlugin
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy import bindparam, delete, insert, or_, select, update
from sqlalchemy.exc import DBAPIError
from traitlets.config import Config

from autograder.course.creation import Course, notebook_name, temporary_folder
from autograder.course.graded_attempts import CountedAttempt
from autograder.course.graded_notebook import (
    GradedNotebook,
    JudgedSubmission,
    check_cells,
    graded_notebooks,
    put_in_place,
)
from autograder.course.intake import release_notebook
from autograder.course.settings import open_gradebook, read_settings
from autograder.errors import KitError
from autograder.grading.class_task import CONFIG, FACTS
from autograder.grading.classroom import JudgedClass
from autograder.grading.grader_pool import GraderPool
from autograder.reports.roll import roll_places
from autograder.submission.reading import Submission
from autograder.values.exercise import CHECK_PREFIX, MANIFEST, Exercise
from autograder.values.symbols import number
from autograder.values.value_file import LazySequence, to_send
from autograder.values.verdict import Verdict

# nbgrader's own late penalties, worked out from the attempt that counts.

SECONDS_BEFORE = "seconds_before"  # in nbgrader's resources: how long before the last it came
_LAST = CountedAttempt({})
_OBJECT = re.compile(r"(?:an? )?<[^<>]* object at 0x[0-9a-f]+>(?: instance)?")


class AttemptPolicy(BasePlugin):
    """Asks another policy what an attempt costs that came before the last hand-in."""

    def __init__(self, policy: BasePlugin, seconds_before: float) -> None:
        super().__init__(parent=policy.parent)
        self.policy, self.seconds_before = policy, seconds_before

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        """Return the points that it loses, None for nothing; `score` is what it has earned."""
        late = total_seconds_late - self.seconds_before
        if late <= 0:
            return None
        penalty: float | None = self.policy.late_submission_penalty(student_id, score, late)
        return penalty


class AttemptLatePenalties(AssignLatePenalties):
    """nbgrader's AssignLatePenalties, for the time of the attempt that counts."""

    def preprocess(
        self, nb: NotebookNode, resources: ResourcesDict
    ) -> tuple[NotebookNode, ResourcesDict]:
        """Write the penalty of one student into the gradebook."""
        self.seconds_before = float(resources["nbgrader"].get(SECONDS_BEFORE, 0.0))
        result: tuple[NotebookNode, ResourcesDict] = super().preprocess(nb, resources)
        return result

    def init_plugin(self) -> None:
        """Make the instructor's policy, and ask it about the attempt that counts."""
        self.plugin_inst = AttemptPolicy(self.plugin_class(parent=self), self.seconds_before)


def submissions_of(notebook: api.Notebook, students: list[str]) -> Any:
    """Select the submissions of `students` for the assignment of `notebook`."""
    return select(api.SubmittedAssignment).where(
        api.SubmittedAssignment.assignment_id == notebook.assignment_id,
        api.SubmittedAssignment.student_id.in_(students),
    )


def penalize_late(
    gradebook: api.Gradebook,
    settings: Config,
    notebook: api.Notebook,
    students: list[str],
    counted: Mapping[str, CountedAttempt],
) -> None:
    """Run nbgrader's own late penalties for all who are late, or were before the date changed.

    `counted` are the attempts that count where that may not be the last one, by student. Raise
    `KitError` when the plugin stops, which may be the instructor's own program.
    """
    query = submissions_of(notebook, students)
    if notebook.assignment.duedate is None:
        query = query.where(api.SubmittedAssignment.late_submission_penalty > 0)
    for row in gradebook.db.scalars(query).all():
        if row.total_seconds_late > 0 or row.late_submission_penalty:
            facts = {
                "notebook": notebook.name,
                "assignment": notebook.assignment.name,
                "student": row.student_id,
                "db_url": str(gradebook.engine.url.render_as_string(hide_password=False)),
                SECONDS_BEFORE: counted.get(row.student_id, _LAST).seconds_before,
            }
            try:
                AttemptLatePenalties(config=settings).preprocess(
                    from_dict({"cells": []}), ResourcesDict(nbgrader=facts)
                )
            except Exception as error:
                said = _OBJECT.sub("the plugin", str(error))
                raise KitError(
                    f"the late penalty stops with {type(error).__name__}: {said}",
                    place=f"{CONFIG}, for {row.student_id} in {notebook.assignment.name}",
                    cure="correct the settings there, or the plugin that they name, then grade "
                    "again; nothing is judged twice",
                ) from error


# The rows of a class in nbgrader's own gradebook: many students in one transaction.
#
# nbgrader commits once per cell and looks up each grade through four joins, which is slow for a
# large class. A score that somebody gave by hand stays.

_KEPT = (
    api.Grade.id,
    api.Grade.auto_score,
    api.Grade.manual_score,
    api.Grade.extra_credit,
    api.Grade.needs_manual_grade,
)
_COMMENT = (api.Comment.id, api.Comment.auto_comment)


def graded_by_hand(db: Any, notebook: api.Notebook) -> frozenset[str]:
    """Return the students to whom somebody has given points of `notebook` by hand."""
    given = or_(api.Grade.manual_score.is_not(None), api.Grade.extra_credit.is_not(None))
    rows = db.execute(entered(api.Grade).where(_of(notebook), given))
    return frozenset(row.student_id for row in rows)


def write_batch(db: Any, notebook: api.Notebook, batch: Sequence[GradedNotebook]) -> None:
    """Write the grades and comments of `batch` in one transaction."""
    new = _add_missing(db, notebook, batch)
    by_student = {graded.student: graded for graded in batch if graded.student not in new}
    if by_student:
        _change_entered(db, notebook, by_student)
    db.commit()


def _change_entered(
    db: Any, notebook: api.Notebook, by_student: Mapping[str, GradedNotebook]
) -> None:
    """Bring up to date what the gradebook has of students who had handed in before."""
    theirs = api.SubmittedAssignment.student_id.in_(list(by_student))
    rows = db.execute(entered(api.Grade, *_KEPT).where(_of(notebook), theirs)).all()
    grades = []
    for row in rows:
        score = by_student[row.student_id].scores.get(row.name)  # a task cell has none
        if row.manual_score is None and not row.extra_credit:
            look = score is None
        else:
            # It stays. Somebody has to look again if it is about other work, and not each time.
            graded = by_student[row.student_id]
            other = graded.changed or row.name in graded.other_points or row.auto_score != score
            look = row.needs_manual_grade or other
        if (row.auto_score, row.needs_manual_grade) != (score, look):
            grades.append({"row": row.id, "auto_score": score, "needs_manual_grade": look})
    rows = db.execute(entered(api.Comment, *_COMMENT).where(_of(notebook), theirs)).all()
    comments = [
        {"row": row.id, "auto_comment": comment}
        for row in rows
        if row.auto_comment != (comment := by_student[row.student_id].comments.get(row.name))
    ]
    _change(db, api.Grade, grades)
    _change(db, api.Comment, comments)


def _change(db: Any, model: Any, changes: list[dict[str, Any]]) -> None:
    """Write what `changes` about rows, each by its id; all change the same columns.

    Not as objects of the mapper, which takes most of the time.
    """
    if changes:
        table = model.__table__
        columns: dict[str, Any] = {name: bindparam(name) for name in changes[0] if name != "row"}
        db.execute(update(table).where(table.c.id == bindparam("row")).values(columns), changes)


def _add_missing(
    db: Any, notebook: api.Notebook, batch: Sequence[GradedNotebook]
) -> frozenset[str]:
    """Add new students and new submissions, and set all time stamps; return who is new.

    Their grades and comments are entered, those of other notebooks are empty.
    """
    names = [graded.student for graded in batch]
    known = set(db.scalars(select(api.Student.id).where(api.Student.id.in_(names))))
    db.add_all(api.Student(id=name) for name in names if name not in known)
    db.flush()
    rows = {row.student_id: row for row in db.scalars(submissions_of(notebook, names))}
    new: dict[str, Any] = {}
    for graded in batch:
        student, at = graded.student, graded.handed_in_at
        if student not in rows:
            new[student] = api.SubmittedAssignment(assignment_id=notebook.assignment_id)
            new[student].student_id, rows[student] = student, new[student]
        if at is not None:
            rows[student].timestamp = at
    db.add_all(new.values())
    db.flush()
    found = {new[each.student].id: each for each in batch if each.student in new}
    for book in notebook.assignment.notebooks:
        _add_cells(db, book, found, entered=book.id == notebook.id)
    return frozenset(new)


def _add_cells(
    db: Any, notebook: api.Notebook, submissions: Mapping[str, GradedNotebook], entered: bool
) -> None:
    """Add `notebook`, with a grade and a comment per cell, to the submissions with these ids.

    They are those of the graded notebooks if they are `entered`, and empty otherwise.
    """
    books = [
        {"id": api.new_uuid(), "notebook_id": notebook.id, "assignment_id": submission}
        for submission in submissions
    ]
    graded = [(cell.id, cell.name) for cell in (*notebook.grade_cells, *notebook.task_cells)]
    commented = [(cell.id, cell.name) for cell in (*notebook.solution_cells, *notebook.task_cells)]
    grades: list[dict[str, Any]] = []
    comments: list[dict[str, Any]] = []
    for book, made in zip(books, submissions.values(), strict=True):
        for cell, name in graded:
            row = {"cell_id": cell, "notebook_id": book["id"]}
            score = made.scores.get(name)  # a task cell has none
            points = {"auto_score": score, "needs_manual_grade": score is None}
            grades.append({**row, **points} if entered else row)
        for cell, name in commented:
            row = {"cell_id": cell, "notebook_id": book["id"]}
            comments.append({**row, "auto_comment": made.comments.get(name)} if entered else row)
    for model, rows in (
        (api.SubmittedNotebook, books),
        (api.Grade, grades),
        (api.Comment, comments),
    ):
        _add(db, model, rows)


def _add(db: Any, model: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add rows, with the defaults that nbgrader has declared for all else.

    They are filled in here: SQLAlchemy asks for each of them anew, row by row.
    """
    if not rows:
        return
    table = model.__table__
    declared = {column.name: column.default for column in table.columns if column.default}
    fixed = {name: each.arg for name, each in declared.items() if each.is_scalar}
    db.execute(insert(table), [{"id": api.new_uuid(), **fixed, **row} for row in rows])


def entered(model: Any, *columns: Any) -> Any:
    """Select grades or comments, whichever `model` is: student, name of the cell, and `columns`."""
    return (
        select(api.SubmittedAssignment.student_id, api.BaseCell.name, *columns)
        .select_from(model)
        .join(api.BaseCell, model.cell_id == api.BaseCell.id)
        .join(api.SubmittedNotebook, model.notebook_id == api.SubmittedNotebook.id)
        .join(
            api.SubmittedAssignment,
            api.SubmittedNotebook.assignment_id == api.SubmittedAssignment.id,
        )
    )


def _of(notebook: api.Notebook) -> Any:
    return api.SubmittedNotebook.notebook_id == notebook.id


BATCH = 250  # students per transaction
STAGING = ".graded-"  # folder for notebooks whose grades are not yet in the gradebook


def write_gradebook(
    course: Course,
    exercise: str,
    judged: JudgedClass,
    pool: GraderPool | None = None,
    counted: Mapping[str, CountedAttempt] = {},
) -> tuple[str, ...]:
    """Write every verdict into the gradebook and its notebook into `autograded/`.

    The processes of `pool` make the notebooks; without a pool, one new process does. Where another
    attempt than the one that was judged counts, it is in `counted`, by student.

    Return the students who got no grade because a fault of ours kept them from being judged.
    Their entries in the gradebook and in `autograded/` stay as they are. Raise `KitError` when
    the exercise is not released, or a verdict is not about it.
    """
    facts = course.exercise(exercise)
    outlines = judged.outlines
    roll = roll_places(facts, outlines)
    graded = [place for place in roll if not outlines[place].infrastructure]
    settings = read_settings(course)
    with (
        open_gradebook(course, settings, exercise) as (gradebook, notebook),
        nullcontext(pool) if pool else GraderPool(1) as graders,
        temporary_folder(course, STAGING, "graded notebooks cannot be written") as staging,
    ):
        by_hand = graded_by_hand(gradebook.db, notebook)
        every = _judged_submissions(judged, graded, by_hand, counted)
        for start in range(0, len(graded), BATCH):
            part = every[start : start + BATCH]
            batch = graded_notebooks(course, facts, part, staging / str(start), graders)
            with _explained_errors(course, gradebook):
                write_batch(gradebook.db, notebook, batch)
                students = [each.student for each in batch]
                penalize_late(gradebook, settings, notebook, students, counted)
            # After the grades: nbgrader takes a notebook in autograded/ as a sign of grades.
            for each in batch:
                put_in_place(course, exercise, each)
    return tuple(outlines[place].student for place in roll if outlines[place].infrastructure)


def _judged_submissions(
    judged: JudgedClass,
    places: Sequence[int],
    by_hand: Collection[str],
    counted: Mapping[str, CountedAttempt],
) -> LazySequence[JudgedSubmission]:
    """Return what a graded notebook is made from, of the hand-ins at `places`."""

    def made(submission: Submission, verdict: Verdict, number: int) -> JudgedSubmission:
        student = judged.outlines[places[number]].student
        return JudgedSubmission(
            submission, verdict, student in by_hand, counted=counted.get(student)
        )

    submissions, verdicts = judged.submissions, judged.verdicts
    return LazySequence(
        len(places),
        lambda number: made(submissions[places[number]], verdicts[places[number]], number),
        lambda number: made(
            to_send(submissions, places[number]), to_send(verdicts, places[number]), number
        ),
    )


@contextmanager
def _explained_errors(course: Course, gradebook: api.Gradebook) -> Iterator[None]:
    """Explain why the database does not take the grades, and undo the unfinished batch."""
    try:
        yield
    except DBAPIError as error:
        gradebook.db.rollback()
        raise KitError(
            f"the gradebook cannot be written: {error.orig}",
            place=str(course.directory),
            cure="make sure that nothing else has the gradebook open, that you may write to it, "
            "and that the disk has room; then run the same command again: nothing is graded twice",
        ) from error


# The cells that nbgrader's gradebook has for a notebook, made to fit another notebook.
#
# Once somebody has handed in, `nbgrader generate_assignment` adds and removes no cells: it stops.
# So cells are added and removed here, in one transaction, with an open grade for each student.
# Grades of cells that stay are not touched.


@dataclass(frozen=True)
class NotebookCells:
    """The names of a notebook's cells, by what nbgrader keeps of them; points of the graded."""

    graded: dict[str, float]
    solutions: frozenset[str]
    tasks: dict[str, float]
    sources: frozenset[str]

    def words(self, other: NotebookCells) -> tuple[str, ...]:
        """Return in words which cells and points `other` has in place of these."""
        mine, theirs = {**self.graded, **self.tasks}, {**other.graded, **other.tasks}
        found = [f"`{name}` is not in it" for name in theirs if name not in mine]
        found += [f"it still has `{name}`" for name in mine if name not in theirs]
        found += [
            f"`{name}` has {number(mine[name])} points in it, not {number(theirs[name])}"
            for name in theirs
            if name in mine and mine[name] != theirs[name]
        ]
        if not found and not self.same_names(other):
            found = ["its cells are others"]
        return tuple(found)

    def same_names(self, other: NotebookCells) -> bool:
        """Whether nbgrader releases a notebook with `other` cells without adding or removing."""
        return self._names == other._names

    @property
    def _names(self) -> tuple[frozenset[str], ...]:
        return frozenset(self.graded), self.solutions, frozenset(self.tasks), self.sources


def notebook_cells(notebook: NotebookNode) -> NotebookCells:
    """Return the cells of a notebook file, as nbgrader would enter them."""
    graded, tasks, solutions, sources = {}, {}, set(), set()
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if utils.is_grade(cell):
            graded[name] = float(cell.metadata.nbgrader["points"])
        if utils.is_task(cell):
            tasks[name] = float(cell.metadata.nbgrader["points"])
        if utils.is_solution(cell):
            solutions.add(name)
        if _is_source(cell):
            sources.add(name)
    return NotebookCells(graded, frozenset(solutions), tasks, frozenset(sources))


def entered_cells(book: api.Notebook) -> NotebookCells:
    """Return the cells that the gradebook has."""
    return NotebookCells(
        {cell.name: cell.max_score for cell in book.grade_cells},
        frozenset(cell.name for cell in book.solution_cells),
        {cell.name: cell.max_score for cell in book.task_cells},
        frozenset(cell.name for cell in book.source_cells),
    )


def fit_cells(db: Any, book: api.Notebook, notebook: NotebookNode) -> None:
    """Add to the gradebook the cells that `notebook` has, and remove those that it lacks.

    Points are left as they are: the next release enters them. Without any submission, nothing is
    done: then the release replaces all cells.
    """
    there, wanted = entered_cells(book), notebook_cells(notebook)
    if not book.submissions or there.same_names(wanted):
        return
    keeps = {
        "GradeCell": set(wanted.graded),
        "SolutionCell": set(wanted.solutions),
        "TaskCell": set(wanted.tasks),
    }
    gone = [cell for cell in book._base_cells if cell.name not in keeps[type(cell).__name__]]
    ids = [cell.id for cell in gone]
    for rows in (api.Grade, api.Comment):
        db.execute(delete(rows).where(rows.cell_id.in_(ids)))
    db.expire_all()
    for cell in gone:
        db.delete(cell)
    for cell in [cell for cell in book.source_cells if cell.name not in wanted.sources]:
        db.delete(cell)
    db.flush()
    _add_notebook_cells(db, book, notebook, there)
    db.commit()


def removed_grades(db: Any, book: api.Notebook, notebook: NotebookNode) -> list[dict[str, Any]]:
    """Return every grade that `fit_cells` would remove: student, cell, points."""
    wanted = notebook_cells(notebook)
    names = {*wanted.graded, *wanted.tasks}
    columns = (api.Grade.auto_score, api.Grade.manual_score, api.Grade.extra_credit)
    heads = ("student", "cell", "auto_score", "manual_score", "extra_credit")
    rows = db.execute(entered(api.Grade, *columns).where(_of(book)))
    return [dict(zip(heads, row, strict=True)) for row in rows if row.name not in names]


def _add_notebook_cells(
    db: Any, book: api.Notebook, notebook: NotebookNode, there: NotebookCells
) -> None:
    graded: list[Any] = []
    commented: list[Any] = []
    for cell in notebook.cells:
        facts = cell.metadata.get("nbgrader", {})
        name, own = facts.get("grade_id", ""), {"notebook_id": book.id}
        if utils.is_grade(cell) and name not in there.graded:
            points = {"max_score": float(facts["points"]), "cell_type": cell.cell_type}
            graded.append(api.GradeCell(name=name, **own, **points))
        if utils.is_solution(cell) and name not in there.solutions:
            commented.append(api.SolutionCell(name=name, **own))
        if utils.is_task(cell) and name not in there.tasks:
            points = {"max_score": float(facts["points"]), "cell_type": cell.cell_type}
            task = api.TaskCell(name=name, **own, **points)
            graded.append(task)
            commented.append(task)
        if _is_source(cell) and name not in there.sources:
            text = {"cell_type": cell.cell_type, "source": cell.source}
            db.add(api.SourceCell(name=name, **own, **text, locked=utils.is_locked(cell)))
    db.add_all([*graded, *commented])
    db.flush()
    books = list(db.scalars(select(api.SubmittedNotebook.id).where(_of(book))))
    for model, cells in ((api.Grade, graded), (api.Comment, commented)):
        _add(db, model, [{"cell_id": cell.id, "notebook_id": b} for b in books for cell in cells])


def _is_source(cell: NotebookNode) -> bool:
    kinds = (utils.is_grade, utils.is_solution, utils.is_locked, utils.is_task)
    return any(kind(cell) for kind in kinds)


# Refusing to grade a release that no longer fits the exercise.
#
# Students work on the release, and the gradebook counts its points. If the exercise has changed
# since, its verdicts would be entered as other points than they have.


def refuse_stale_release(course: Course, exercise: Exercise, notebook: api.Notebook) -> None:
    """Raise `KitError` when steps or points of the exercise are not those that were released.

    `notebook` is the gradebook's. The released notebook is compared too, since grades are read off
    a copy of it; without it, nobody is graded.
    """
    file = notebook_name(exercise.name)
    if not (course.release(exercise.name) / file).is_file():
        raise KitError(
            f"the released notebook of {exercise.name} is missing",
            place=str(course.release(exercise.name)),
            cure=f"in the course, run `nbgrader generate_assignment {exercise.name} --force`",
        )
    # A question of the instructor's own is graded and a solution at once, whatever its name.
    own = {cell.name for cell in notebook.solution_cells}
    entered = {
        cell.name.removeprefix(CHECK_PREFIX): cell.max_score
        for cell in notebook.grade_cells
        if cell.name.startswith(CHECK_PREFIX) and cell.name not in own
    }
    cells = check_cells(release_notebook(course, exercise.name))
    released = {step: float(cell.metadata.nbgrader["points"]) for step, cell in cells.items()}
    ours = exercise.name in course.adjustments
    where = course.directory / FACTS if ours else exercise.folder / MANIFEST
    build = "" if ours else "run `attn build`, and "
    again = (
        f"{build}in the course, run `attn course update` and "
        f"`nbgrader generate_assignment {exercise.name} --force`; then grade. `attn course check` "
        "says whether the exchange has what students get"
    )
    for place, points in (("the gradebook", entered), ("the released notebook", released)):
        if fact := _difference(exercise, points, place):
            raise KitError(
                fact,
                place=str(where),
                cure=f"take the change back; or {again}",
            )


def _difference(exercise: Exercise, points: Mapping[str, float], place: str) -> str:
    """Return in words how the steps differ from what is in `place`; "" when they do not."""
    steps = {step.name: step.points for step in exercise.steps}
    new = [name for name in steps if name not in points]
    gone = [name for name in points if name not in steps]
    if new or gone:
        words = [f"{place} lacks {', '.join(new)}"] if new else []
        words += [f"{place} still has {', '.join(gone)}"] if gone else []
        return f"the steps of {exercise.name} have changed since its release: {'; '.join(words)}"
    changed = [
        f"{name} is worth {number(steps[name])} now, and {number(points[name])} in {place}"
        for name in steps
        if steps[name] != points[name]
    ]
    if changed:
        more = f"; {len(changed) - 3} more have changed, too" if len(changed) > 3 else ""
        told = "; ".join(changed[:3])
        return f"points of {exercise.name} have changed since its release: {told}{more}"
    return ""
