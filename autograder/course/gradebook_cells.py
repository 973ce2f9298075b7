"""The cells that nbgrader's gradebook has for a notebook, made to fit another notebook.

Once somebody has handed in, `nbgrader generate_assignment` adds and removes no cells: it stops. So
cells are added and removed here, in one transaction, with an open grade for each student. Grades of
cells that stay are not touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nbformat import NotebookNode
from nbgrader import api, utils
from sqlalchemy import delete, insert, select

from autograder.model.symbols import number


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
        mine, theirs = self._names, other._names
        return mine == theirs

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
    _add(db, book, notebook, there)
    db.commit()


def removed_grades(db: Any, book: api.Notebook, notebook: NotebookNode) -> list[dict[str, Any]]:
    """Return every grade that `fit_cells` would remove: student, cell, points."""
    wanted = notebook_cells(notebook)
    names = {*wanted.graded, *wanted.tasks}
    columns = ("auto_score", "manual_score", "extra_credit")
    query = (
        select(
            api.SubmittedAssignment.student_id,
            api.BaseCell.name,
            *(getattr(api.Grade, column) for column in columns),
        )
        .select_from(api.Grade)
        .join(api.BaseCell, api.Grade.cell_id == api.BaseCell.id)
        .join(api.SubmittedNotebook, api.Grade.notebook_id == api.SubmittedNotebook.id)
        .join(
            api.SubmittedAssignment,
            api.SubmittedNotebook.assignment_id == api.SubmittedAssignment.id,
        )
        .where(api.SubmittedNotebook.notebook_id == book.id)
    )
    return [
        {"student": row.student_id, "cell": row.name}
        | {column: getattr(row, column) for column in columns}
        for row in db.execute(query)
        if row.name not in names
    ]


def _add(db: Any, book: api.Notebook, notebook: NotebookNode, there: NotebookCells) -> None:
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
    _add_rows(db, api.Grade, graded, books)
    _add_rows(db, api.Comment, commented, books)


def _add_rows(db: Any, model: Any, cells: Sequence[Any], books: Sequence[str]) -> None:
    rows = [{"cell_id": cell.id, "notebook_id": book} for book in books for cell in cells]
    if rows:
        db.execute(insert(model), rows)


def _of(book: api.Notebook) -> Any:
    return api.SubmittedNotebook.notebook_id == book.id


def _is_source(cell: NotebookNode) -> bool:
    kinds = (utils.is_grade, utils.is_solution, utils.is_locked, utils.is_task)
    return any(kind(cell) for kind in kinds)
