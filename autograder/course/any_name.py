"""nbgrader's converters, made to work with any folder name.

nbgrader treats a folder's name as a pattern. It finds no notebook for `x[1]`, finds the whole
class for `*`, and stops the run for everybody when one name has a line break. Its log prints
names and errors of students as they are, so a terminal or a CI job would obey what is in them.
"""

from __future__ import annotations

import glob
import logging
import os
import traceback
from typing import Any

from nbgrader.converters import BaseConverter

from autograder.model.sanitize import ORDERS, clean

_LONGEST = 20_000  # characters of one message


class HarmlessRecord(logging.LogRecord):
    """A record of the log whose text a terminal and a CI job only display."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        if self.exc_info and self.exc_info[0]:
            self.exc_text = _harmless("".join(traceback.format_exception(*self.exc_info)))

    def getMessage(self) -> str:
        """Return the message with its arguments."""
        return _harmless(super().getMessage())


def _harmless(text: str) -> str:
    return ORDERS.sub(r"\g<0> ", clean(text, _LONGEST))


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
