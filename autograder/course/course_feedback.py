"""nbgrader's GenerateFeedback, which hands out our pages in a course of ours."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import nbformat
from nbgrader.converters import GenerateFeedback
from traitlets import Bool

from autograder.course.any_name import AnyName
from autograder.course.creation import Course, notebook_name, read_course
from autograder.course.delivered_page import deliver_pages
from autograder.course.gradebook_entries import read_gradebook
from autograder.course.verdict_cells import shows
from autograder.errors import KitError
from autograder.grading.graded_folder import FACTS
from autograder.model.group_shared import following
from autograder.reports.feedback import write_page
from autograder.reports.gradebook_entry import GradebookEntries
from autograder.reports.paragraphs import read_paragraphs
from autograder.reports.verdict_files import find_verdict


class CourseFeedback(AnyName, GenerateFeedback):
    """`nbgrader generate_feedback` with our pages, and with any name of a student.

    A page is written anew, with the marks and comments that the gradebook has now. Where there is
    no verdict that belongs to the graded notebook, as before the first `attn grade`, it is
    nbgrader's own page.
    """

    kit_pages = Bool(True, help="Hand out the kit's pages; False: nbgrader's own.").tag(config=True)

    def start(self) -> None:
        """Make the pages; in a shared course, the other instructors can use them too."""
        with following(Path(self.coursedir.root)):
            super().start()

    def init_destination(self, assignment_id: str, student_id: str) -> bool:
        """Return whether nbgrader has to make a page of its own."""
        excluded = student_id in self.coursedir.student_id_exclude.split(",")
        if self._course is None or not self.kit_pages or excluded:
            return bool(super().init_destination(assignment_id, student_id))
        try:
            made = self._made(self._course, assignment_id, student_id)
        except KitError as error:
            self.log.error("%s", error)
            made = False
        if not made:
            self.log.warning("This page is nbgrader's own; for the kit's: attn grade")
            return bool(super().init_destination(assignment_id, student_id))
        deliver_pages(self._course, assignment_id, [student_id])
        return False

    def _made(self, course: Course, exercise: str, student: str) -> bool:
        """Write a student's page anew, if the verdict is the one that the graded notebook shows."""
        graded, facts = course.graded(exercise), course.exercise(exercise)
        verdict = find_verdict(graded / "verdicts", student)
        if verdict is None:
            return False
        notebook = course.autograded(exercise, student) / notebook_name(exercise)
        if not shows(nbformat.read(notebook, as_version=4), verdict, facts):
            return False
        entries = self._entries(course, exercise)
        paragraphs = read_paragraphs(graded)
        write_page(graded / "feedback", facts, verdict, entries.get(student), paragraphs)
        return True

    def _entries(self, course: Course, exercise: str) -> GradebookEntries:
        if exercise not in self._read:
            self._read[exercise] = read_gradebook(course, exercise).entries
        return self._read[exercise]

    @cached_property
    def _read(self) -> dict[str, GradebookEntries]:
        return {}

    @cached_property
    def _course(self) -> Course | None:
        """The course, None in one that is not ours."""
        root = Path(self.coursedir.root)
        return read_course(root) if (root / FACTS).is_file() else None
