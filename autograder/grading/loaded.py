"""A submission's code, with its own errors told where they matter.

A name is missing because it was never written, or because the cell that should
define it did not run. The student is told which.
"""

from __future__ import annotations

import ast
import difflib
import re
from dataclasses import replace

from autograder.request import ExceptionReport, Failed, Reply, Request
from autograder.sandbox import SandboxedStudent
from autograder.submission import parsed
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
        if report is not None:
            return replace(reply, outcome=Outcome.RAISED, exception=report)
        renamed = None if reply.exception else self._alike(request.target)
        if renamed is None:
            return reply
        return replace(reply, detail=f"{reply.detail} There is a `{renamed}`: did you rename it?")

    def _failed_definition(self, name: str) -> ExceptionReport | None:
        """Return the exception of the cell that defines `name`, when it did not run."""
        definition = re.compile(rf"^\s*(def|class)\s+{re.escape(name)}\b", re.MULTILINE)
        for cell, report in zip(self._cells, self._student.load_failures):
            if report is not None and definition.search(cell):
                return report
        return None

    def _alike(self, name: str) -> str | None:
        """Return the name of a definition that is nearly `name`."""
        trees = [parsed(cell) for cell in self._cells]
        defined = [
            node.name
            for tree in trees
            for node in (tree.body if tree else ())
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        ]
        if name in defined:
            return None
        return next(iter(difflib.get_close_matches(name, defined, n=1, cutoff=0.7)), None)

    def remarks(self) -> tuple[str, ...]:
        """Say which cells raised while they were run."""
        return tuple(
            f"Cell {number} raises {report.type_name} where it is run: {report.message}. "
            "What the other cells define counts all the same."
            for number, report in enumerate(self._student.load_failures, start=1)
            if report is not None
        )
