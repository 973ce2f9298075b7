"""nbgrader's converters for students whose folder has any name at all.

nbgrader takes a folder's name for a pattern: of `x[1]` it finds no notebook, of `*` those of the
whole class, and a line break in one name stops the run for everybody.
"""

from __future__ import annotations

import glob
import os

from nbgrader.converters import BaseConverter, GenerateFeedback


class AnyName(BaseConverter):
    """What a converter needs, put before its class, to find every folder by its own name."""

    def init_notebooks(self) -> None:
        """Find the notebooks of the students who are asked for, each below their own folder."""
        folders = glob.glob(
            self._format_source(self.coursedir.assignment_id, self.coursedir.student_id)
        )
        pattern = f"{self.coursedir.notebook_id}.ipynb"
        found = {
            folder: glob.glob(os.path.join(glob.escape(folder), pattern)) for folder in folders
        }
        self.notebooks: list[str] = []
        self.assignments = {folder: notebooks for folder, notebooks in found.items() if notebooks}
        if not self.assignments:  # nbgrader says so in its own words
            super().init_notebooks()

    def _format_source(self, assignment_id: str, student_id: str, escape: bool = False) -> str:
        path: str = super()._format_source(assignment_id, student_id, escape)
        return f"(?s:{path})" if escape else path  # a name may hold a line break


class FeedbackForAnyName(AnyName, GenerateFeedback):
    """`nbgrader generate_feedback`, also for names that are patterns."""
