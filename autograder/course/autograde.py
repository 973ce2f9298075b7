"""nbgrader's Autograde, run over a folder in which every submission is well formed.

nbgrader has no hook that runs before it looks for notebooks. So in a course of
ours (a directory with `attn.toml`), `CourseAutograde` replaces nbgrader's own
class. It changes which files are read and what "already graded" means; the rest
of the pipeline stays as it is. A course without `attn.toml` is graded as usual.
"""

from __future__ import annotations

import atexit
import glob
import logging
import os
import sys
import traceback
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import nbformat
import nbgrader.apps.api
import nbgrader.apps.autogradeapp
import nbgrader.apps.generateassignmentapp
import nbgrader.apps.generatefeedbackapp
import nbgrader.preprocessors
from nbgrader.converters import Autograde, BaseConverter, GenerateFeedback, NbGraderException
from nbgrader.utils import rmtree
from traitlets import Bool

from autograder.course.adoption import (
    CourseExporter,
    CourseRelease,
    adopted_course,
    left_to_nbgrader,
)
from autograder.course.course_records import add_missing_files, deliver_pages
from autograder.course.creation import (
    Course,
    grade_command,
    notebook_name,
    read_course,
    temporary_folder,
)
from autograder.course.gradebook import AttemptLatePenalties, refuse_stale_release
from autograder.course.gradebook_entries import read_gradebook
from autograder.course.graded_notebook import check_cells, finished, shows
from autograder.course.intake import lay_out, nothing_of, release_notebook, write_submission
from autograder.course.preprocessors import SaveGrades
from autograder.course.settings import open_gradebook, read_settings
from autograder.course.students import CourseHandIns, Decisions
from autograder.errors import KitError
from autograder.grading.class_task import (
    FACTS,
    WAITS,
    class_lock,
    course_roster,
    ended_by_signals,
    input_secret,
)
from autograder.grading.classroom import HANDLING, grade_class, read_class
from autograder.grading.grader_pool import GraderPool, Loss
from autograder.grading.journal import JOURNAL, GradingRun, Journal
from autograder.grading.watched_process import WorkProgress
from autograder.reports.feedback import page_name, write_page
from autograder.reports.grades_csv import find_verdict, read_code
from autograder.reports.misunderstandings import read_paragraphs
from autograder.reports.roll import NO_RECORD, ClassGradebook
from autograder.submission.reading import read_submission
from autograder.values.exercise import Exercise
from autograder.values.files import follow, following, found_in
from autograder.values.sanitize import ORDERS, clean, terminal_line
from autograder.values.verdict import Verdict

# nbgrader's converters, made to work with any folder name.
#
# nbgrader treats a folder's name as a pattern. It finds no notebook for `x[1]`, finds the whole
# class for `*`, and stops the run for everybody when one name has a line break. Its log prints
# names and errors of students as they are, so a terminal or a CI job would obey what is in them.

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


# nbgrader's GenerateFeedback, which hands out our pages in a course of ours.

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


# The judge: the one place where the course calls the grading engine.
#
# `nbgrader autograde` grades one student at a time, so one grader process is kept for all of
# them; `attn grade` judges a class in parallel. Both use the same journal, so neither judges
# again what the other has already judged.


def judge(
    course: Course, exercise: Exercise, student: str, folder: Path, *, allow_process: bool = False
) -> Verdict:
    """Return the verdict on what `student` handed in, in `folder`.

    `allow_process` accepts a machine that protects less than is required by default. Raise
    `KitError` when the exercise or the sandbox cannot be used.
    """
    submissions = read_class(grader(), exercise, course_roster([(student, folder)]))
    journal = _prepared(course.graded(exercise.name) / JOURNAL)
    secret, rules = input_secret(course.secret_folder), course.rules
    run = GradingRun(journal, secret, allow_process, course.directory, rules.layer_earns_steps)
    return rules.marked(grade_class(exercise, submissions, run=run, pool=grader())[0])


@cache
def grader() -> GraderPool:
    """Return the one grader process that `nbgrader autograde` uses until it ends."""
    pool = GraderPool(1)
    atexit.register(pool.close)
    return pool


def _prepared(path: Path) -> Path:
    broken = Journal(path).prepare()
    if broken:
        logging.getLogger(__name__).warning("%s", broken)
    return path


PREFIX = ".submissions-"
_FORMGRADER = "nbgrader.server_extensions.formgrader.formgrader"


def install() -> None:
    """Make nbgrader's commands and formgrader use our classes; the config file calls this."""
    logging.setLogRecordFactory(HarmlessRecord)
    nbgrader.apps.generateassignmentapp.GenerateAssignment = CourseRelease
    nbgrader.apps.api.GenerateAssignment = CourseRelease
    nbgrader.apps.autogradeapp.Autograde = CourseAutograde
    nbgrader.apps.api.Autograde = CourseAutograde
    nbgrader.apps.generatefeedbackapp.GenerateFeedback = CourseFeedback
    nbgrader.apps.api.GenerateFeedback = CourseFeedback
    # A course's configuration lists them by these names.
    nbgrader.preprocessors.AssignLatePenalties = AttemptLatePenalties
    nbgrader.preprocessors.SaveAutoGrades = SaveGrades
    if _FORMGRADER in sys.modules:
        sys.modules[_FORMGRADER].HTMLExporter = CourseExporter  # type: ignore[attr-defined]
    if (Path.cwd() / FACTS).is_file() and not adopted_course(Path.cwd()):
        # What nbgrader collects and releases in a shared course is for each of its instructors.
        follow(Path.cwd())


class CourseAutograde(AnyName, Autograde):
    """Autograde that also accepts a plain .py, broken JSON and renamed notebooks."""

    def start(self) -> None:
        """Grade the selected submissions; the files that students handed in are never changed."""
        if left_to_nbgrader(self, Autograde):
            return
        root = Path(self.coursedir.root)
        if not (root / FACTS).is_file():
            super().start()
            return
        try:
            self._start(read_course(root))
        except KitError as error:
            # Only for this exception do nbgrader's apps show the log and exit with an error.
            self.log.error("%s", error)
            raise NbGraderException(str(error)) from error

    def _start(self, course: Course) -> None:
        if self.config.Execute.get("enabled", True) is False:
            raise KitError(
                "no verdict can be written without running the students' code",
                place="nbgrader autograde --no-execute",
                cure="leave out --no-execute; here nbgrader itself never runs students' code",
            )
        matched = [
            (exercise, student)
            for exercise in course.exercises
            if fnmatchcase(exercise, self.coursedir.assignment_id)
            for student in CourseHandIns.of(course, exercise).folders
            if fnmatchcase(student, self.coursedir.student_id)
        ]
        if not matched:  # nbgrader reports it in its own words
            super().start()
            return
        exercises = sorted({exercise for exercise, _ in matched})
        for exercise in exercises:
            with open_gradebook(course, read_settings(course), exercise) as (_, notebook):
                refuse_stale_release(course, course.exercise(exercise), notebook)
        with (
            ended_by_signals(),
            class_lock(course.directory, lambda: self.log.warning(WAITS)),
            _laid_out(course, matched) as step,
        ):
            own = self.coursedir.submitted_directory
            self.coursedir.submitted_directory = step
            try:
                super().start()
            finally:
                self.coursedir.submitted_directory = own
        commands = " && ".join(
            grade_command(course.directory, name, course.exercises) for name in exercises
        )
        self.log.info("For the pages, the table of the class and what needs you: %s", commands)

    def init_destination(self, assignment_id: str, student_id: str) -> bool:
        """Return whether to grade, which includes what an earlier run left half graded."""
        if super().init_destination(assignment_id, student_id):
            return True
        folder = Path(self._format_dest(assignment_id, student_id))
        excluded = student_id in self.coursedir.student_id_exclude.split(",")
        if excluded or not (Path(self.coursedir.root) / FACTS).is_file():
            return False
        if finished(folder / notebook_name(assignment_id)):
            return False
        self.log.warning("An earlier run left this half graded; grading it again: %s", folder)
        rmtree(str(folder))
        return True


@contextmanager
def _laid_out(course: Course, matched: list[tuple[str, str]]) -> Iterator[str]:
    """Lay the submissions out in a directory beside `submitted/`; yield that directory's name.

    They are read in a grader process. If reading one takes too long, the released notebook is
    laid out instead, and the verdict says why.
    """
    with temporary_folder(course, PREFIX, "the submissions cannot be laid out") as directory:
        for exercise in sorted({exercise for exercise, _ in matched}):
            release = release_notebook(course, exercise)
            students = [name for listed, name in matched if listed == exercise]
            targets = [directory / student / exercise for student in students]
            work, jobs = partial(_lay_out_batch, course, exercise), list(zip(students, targets))
            for place, found in grader().results(work, jobs, HANDLING, len(students)):
                if isinstance(found, Loss):
                    write_submission(release, nothing_of("", exercise), targets[place])
        yield directory.name


def _lay_out_batch(
    course: Course, exercise: str, jobs: Sequence[tuple[str, Path]], progress: WorkProgress
) -> None:
    """Lay out the submissions of some students; this runs in a grader process."""
    release, facts = release_notebook(course, exercise), course.exercise(exercise)
    folders = CourseHandIns.of(course, exercise).folders
    for number, (student, target) in enumerate(jobs):
        progress.begin(number)
        read = read_submission(folders[student], facts, student, course.hand_ins)
        lay_out(release, read, target)
        progress.done(student)
