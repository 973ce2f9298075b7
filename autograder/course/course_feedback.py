"""nbgrader's GenerateFeedback, which hands out our pages in a course of ours."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import nbformat
from nbgrader.converters import GenerateFeedback, NbGraderException
from traitlets import Bool

from autograder.course.any_name import AnyName
from autograder.course.beside import left_to_nbgrader
from autograder.course.creation import Course, notebook_name, read_course
from autograder.course.decisions import Decisions
from autograder.course.delivered_page import add_missing_files, deliver_pages
from autograder.course.gradebook_entries import read_gradebook
from autograder.course.hand_ins import CourseHandIns
from autograder.course.verdict_cells import check_cells, shows
from autograder.errors import KitError
from autograder.grading.graded_folder import FACTS
from autograder.model.group_shared import following
from autograder.model.sanitize import terminal_line
from autograder.model.student_folders import found_in
from autograder.reports.feedback import page_name, write_page
from autograder.reports.gradebook_entry import ClassGradebook
from autograder.reports.paragraphs import read_paragraphs
from autograder.reports.student_record import NO_RECORD
from autograder.reports.verdict_files import find_verdict, read_code

_MOST_NAMED = 10


class CourseFeedback(AnyName, GenerateFeedback):
    """`nbgrader generate_feedback` with our pages, and with any name of a student.

    A page is written anew, with the marks and comments that the gradebook has now. Where there is
    no verdict that belongs to the graded notebook, as before the first `attn grade`, it is
    nbgrader's own page.
    """

    kit_pages = Bool(True, help="Hand out the kit's pages; False: nbgrader's own.").tag(config=True)

    def start(self) -> None:
        """Make the pages; in a shared course, the other instructors can use them too."""
        if left_to_nbgrader(self, GenerateFeedback):
            return
        with following(Path(self.coursedir.root)):
            super().start()
        if self._outdated:
            who = ", ".join(terminal_line(name, 60) for name in self._outdated[:_MOST_NAMED])
            more = len(self._outdated) - _MOST_NAMED
            fact = (
                "the steps have changed since these students were graded, and their pages stay as "
                f"they were: {who}{f' and {more} more' if more > 0 else ''}; run `attn grade` first"
            )
            self.log.error("%s", fact)
            raise NbGraderException(fact)  # only for this exception do its apps exit with an error

    def init_destination(self, assignment_id: str, student_id: str) -> bool:
        """Return whether nbgrader has to make a page of its own."""
        excluded = student_id in self.coursedir.student_id_exclude.split(",")
        course = None if excluded else self._course
        if course and self._has_other_steps(course, assignment_id, student_id):
            # Else the hand-in has gone.
            if student_id in CourseHandIns.of(course, assignment_id).folders:
                self._outdated.append(student_id)
            return False
        if course and student_id in self._held(course, assignment_id):
            deliver_pages(course, assignment_id, [student_id])  # which takes it back
            self.log.warning("The mark of %s is held back, and so is the page", student_id)
            return False
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

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """Put beside a page of nbgrader's own what hands it out, also for who was collected."""
        super().init_assignment(assignment_id, student_id)
        if self._course is not None:
            add_missing_files(self._course, assignment_id, student_id)

    def _has_other_steps(self, course: Course, exercise: str, student: str) -> bool:
        """Whether a graded notebook is of other steps: then nobody can make a page of it."""
        notebook = course.autograded(exercise, student) / notebook_name(exercise)
        if exercise not in course.exercises or not notebook.is_file():
            return False
        steps = {step.name for step in course.exercise(exercise).steps}
        return set(check_cells(nbformat.read(notebook, as_version=4))) != steps

    def _made(self, course: Course, exercise: str, student: str) -> bool:
        """Write a student's page anew, if the verdict is the one that the graded notebook shows."""
        graded, facts = course.graded(exercise), course.exercise(exercise)
        verdict = find_verdict(graded / "verdicts", student)
        if verdict is None:
            return False
        notebook = course.autograded(exercise, student) / notebook_name(exercise)
        if not shows(nbformat.read(notebook, as_version=4), verdict, facts):
            return False
        known = self._gradebook(course, exercise)
        paragraphs = read_paragraphs(graded)
        page = found_in(graded / "feedback", page_name(student))
        file, code = read_code(graded, student)
        record = replace(known.records.get(student, NO_RECORD), file=file, code=code)
        write_page(page.parent, facts, verdict, known.entries.get(student), paragraphs, record)
        return True

    def _held(self, course: Course, exercise: str) -> Container[str]:
        return Decisions.read(course, exercise).held if exercise in course.exercises else ()

    def _gradebook(self, course: Course, exercise: str) -> ClassGradebook:
        if exercise not in self._read:
            self._read[exercise] = read_gradebook(course, exercise)
        return self._read[exercise]

    @cached_property
    def _read(self) -> dict[str, ClassGradebook]:
        return {}

    @cached_property
    def _outdated(self) -> list[str]:
        return []

    @cached_property
    def _course(self) -> Course | None:
        """The course, None in one that is not ours."""
        root = Path(self.coursedir.root)
        return read_course(root) if (root / FACTS).is_file() else None
