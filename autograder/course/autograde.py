"""nbgrader's Autograde, run over a folder in which every submission is well formed.

nbgrader has no hook that runs before it looks for notebooks. So in a course of
ours (a directory with `attn.toml`), `CourseAutograde` replaces nbgrader's own
class. It changes which files are read and what "already graded" means; the rest
of the pipeline stays as it is. A course without `attn.toml` is graded as usual.
"""

from __future__ import annotations

import logging
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

import nbgrader.apps.api
import nbgrader.apps.autogradeapp
import nbgrader.apps.generateassignmentapp
import nbgrader.apps.generatefeedbackapp
import nbgrader.preprocessors
from nbformat import NotebookNode
from nbgrader.converters import Autograde, NbGraderException
from nbgrader.utils import rmtree

from autograder.course.any_name import AnyName, HarmlessRecord
from autograder.course.beside import (
    CourseExporter,
    CourseRelease,
    adopted_course,
    left_to_nbgrader,
)
from autograder.course.course_feedback import CourseFeedback
from autograder.course.creation import Course, notebook_name, read_course
from autograder.course.hand_ins import CourseHandIns
from autograder.course.intake import lay_out, nothing_of, release_notebook, write_submission
from autograder.course.judge import grader
from autograder.course.late_penalty import AttemptLatePenalties
from autograder.course.preprocessors import SaveGrades
from autograder.course.settings import open_gradebook, read_settings
from autograder.course.stale_release import refuse_stale_release
from autograder.course.verdict_cells import finished
from autograder.errors import KitError
from autograder.grading.classroom import HANDLING
from autograder.grading.graded_folder import FACTS
from autograder.grading.grader_pool import Loss
from autograder.grading.lock import WAITS, class_lock, ended_by_signals
from autograder.grading.watched_process import WorkProgress
from autograder.model.group_shared import follow, share
from autograder.submission.reading import read_submission

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
        for exercise in sorted({exercise for exercise, _ in matched}):
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
        self.log.info(
            "For the pages, the table of the class and what needs you: attn grade %s",
            course.directory,
        )

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
    with _folder_for_a_while(course) as directory:
        for exercise in sorted({exercise for exercise, _ in matched}):
            release = release_notebook(course, exercise)
            students = [name for listed, name in matched if listed == exercise]
            targets = [directory / student / exercise for student in students]
            grader().run(
                partial(_lay_out_batch, course, exercise),
                list(zip(students, targets)),
                HANDLING,
                result=lambda place, result: None,
                lost=partial(_lay_out_release, release, exercise, targets),
                batch=len(students),
            )
        yield directory.name


@contextmanager
def _folder_for_a_while(course: Course) -> Iterator[Path]:
    try:
        for left_by_a_killed_run in course.directory.glob(f"{PREFIX}*"):
            shutil.rmtree(left_by_a_killed_run)
        folder = tempfile.TemporaryDirectory(prefix=PREFIX, dir=course.directory)
        share(Path(folder.name))
    except OSError as error:
        raise KitError(
            f"the submissions cannot be laid out: {error.strerror}",
            place=error.filename or str(course.directory),
            cure="free disk space, or get permission to write there; then run the command again",
        ) from error
    with folder as name:
        yield Path(name)


def _lay_out_release(
    release: NotebookNode, exercise: str, targets: list[Path], place: int, loss: Loss
) -> None:
    write_submission(release, nothing_of("", exercise), targets[place])


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
