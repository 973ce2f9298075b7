"""nbgrader's converters, made to work with any folder name.

nbgrader treats a folder's name as a pattern. It finds no notebook for `x[1]`, finds the whole
class for `*`, and stops the run for everybody when one name has a line break.
"""

from __future__ import annotations

import glob
import os

from nbgrader.converters import BaseConverter


class AnyName(BaseConverter):
    """A mixin with which a converter finds every folder by its exact name."""

    def init_notebooks(self) -> None:
        """Find the notebooks of the selected students, each below the student's own folder."""
        folders = glob.glob(
            self._format_source(self.coursedir.assignment_id, self.coursedir.student_id)
        )
        pattern = f"{self.coursedir.notebook_id}.ipynb"
        found = {
            folder: glob.glob(os.path.join(glob.escape(folder), pattern)) for folder in folders
        }
        self.notebooks: list[str] = []
        self.assignments = {folder: notebooks for folder, notebooks in found.items() if notebooks}
        if not self.assignments:  # nbgrader reports it in its own words
            super().init_notebooks()

    def _format_source(self, assignment_id: str, student_id: str, escape: bool = False) -> str:
        path: str = super()._format_source(assignment_id, student_id, escape)
        return f"(?s:{path})" if escape else path  # a name may hold a line break
