"""nbgrader's own late penalties, worked out from the attempt that counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode, from_dict
from nbgrader import api
from nbgrader.plugins import BasePlugin
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy import select
from traitlets.config import Config

from autograder.course.graded_attempts import CountedAttempt
from autograder.errors import KitError
from autograder.grading.class_task import CONFIG

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
