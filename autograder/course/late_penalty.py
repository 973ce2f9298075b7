"""nbgrader's own late penalties, for the students of a batch."""

from __future__ import annotations

from typing import Any

from nbformat import from_dict
from nbgrader import api
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy import select
from traitlets.config import Config

from autograder.errors import KitError


def submissions_of(notebook: api.Notebook, students: list[str]) -> Any:
    """Select the submissions of `students` for the assignment of `notebook`."""
    return select(api.SubmittedAssignment).where(
        api.SubmittedAssignment.assignment_id == notebook.assignment_id,
        api.SubmittedAssignment.student_id.in_(students),
    )


def penalize_late(
    gradebook: api.Gradebook, settings: Config, notebook: api.Notebook, students: list[str]
) -> None:
    """Run nbgrader's own late penalties for all who are late, or were before the date changed.

    Raise `KitError` when the plugin stops, which may be the instructor's own program.
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
            }
            try:
                AssignLatePenalties(config=settings).preprocess(
                    from_dict({"cells": []}), {"nbgrader": facts}
                )
            except Exception as error:
                raise KitError(
                    f"the late penalty stops with {type(error).__name__}: {error}",
                    place=f"{notebook.assignment.name}, {row.student_id}",
                    cure="correct the plugin that nbgrader_config.py names, then grade again; "
                    "nothing is judged twice",
                ) from error
