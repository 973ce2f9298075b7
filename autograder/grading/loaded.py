"""A submission's code, with its own errors told where they matter.

A name is missing because it was never written, or because the cell that should
define it did not run. The student is told which.
"""

from __future__ import annotations

import re
from dataclasses import replace

from autograder.request import ExceptionReport, Failed, Reply, Request
from autograder.sandbox import SandboxedStudent
from autograder.verdict import Outcome


class Loaded:
    """A `Respondent` that explains a missing name by the cell that failed."""

    def __init__(self, student: SandboxedStudent, cells: tuple[str, ...]) -> None:
        self._student = student
        self._cells = cells

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer `request`; see `Respondent`."""
        reply = self._student.ask(request, leaning_on)
        if not isinstance(reply, Failed) or reply.outcome is not Outcome.NOT_WRITTEN:
            return reply
        report = self._failed_definition(request.target)
        if report is None:
            return reply
        return replace(reply, outcome=Outcome.RAISED, exception=report)

    def _failed_definition(self, name: str) -> ExceptionReport | None:
        """Return the exception of the cell that defines `name`, when it did not run."""
        definition = re.compile(rf"^\s*(def|class)\s+{re.escape(name)}\b", re.MULTILINE)
        for cell, report in zip(self._cells, self._student.load_failures):
            if report is not None and definition.search(cell):
                return report
        return None

    def remarks(self) -> tuple[str, ...]:
        """Say which cells raised while they were run."""
        return tuple(
            f"Cell {number} raises {report.type_name} where it is run: {report.message}. "
            "What the other cells define counts all the same."
            for number, report in enumerate(self._student.load_failures, start=1)
            if report is not None
        )
