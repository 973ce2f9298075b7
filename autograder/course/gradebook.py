"""Writing verdicts into nbgrader's own gradebook, in bulk.

Each batch of students is one transaction. The scores are those that nbgrader would
read: its own scorer runs on the notebook that goes into `autograded/`.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from nbgrader import api
from sqlalchemy.exc import DBAPIError

from autograder.course.creation import Course
from autograder.course.gradebook_rows import graded_by_hand, write_batch
from autograder.course.graded_attempts import CountedAttempt
from autograder.course.graded_notebook import (
    WRITABLE,
    JudgedSubmission,
    graded_notebooks,
    put_in_place,
)
from autograder.course.late_penalty import penalize_late
from autograder.course.settings import open_gradebook, read_settings
from autograder.errors import KitError
from autograder.grading.grader_pool import GraderPool
from autograder.grading.judged_class import JudgedClass
from autograder.model.group_shared import share
from autograder.model.lazy_sequence import LazySequence, to_send
from autograder.model.verdict import Verdict
from autograder.reports.roll import roll_places
from autograder.submission.reading import Submission

BATCH = 250  # students per transaction
STAGING = ".graded-"  # folder for notebooks whose grades are not yet in the gradebook


def write_gradebook(
    course: Course,
    exercise: str,
    judged: JudgedClass,
    pool: GraderPool | None = None,
    counted: Mapping[str, CountedAttempt] = {},
) -> tuple[str, ...]:
    """Write every verdict into the gradebook and its notebook into `autograded/`.

    The processes of `pool` make the notebooks; without a pool, one new process does. Where another
    attempt than the one that was judged counts, it is in `counted`, by student.

    Return the students who got no grade because a fault of ours kept them from being judged.
    Their entries in the gradebook and in `autograded/` stay as they are. Raise `KitError` when
    the exercise is not released, or a verdict is not about it.
    """
    facts = course.exercise(exercise)
    outlines = judged.outlines
    roll = roll_places(facts, outlines)
    graded = [place for place in roll if not outlines[place].infrastructure]
    settings = read_settings(course)
    with (
        open_gradebook(course, settings, exercise) as (gradebook, notebook),
        nullcontext(pool) if pool else GraderPool(1) as graders,
        _staging(course) as staging,
    ):
        by_hand = graded_by_hand(gradebook.db, notebook)
        every = _judged_submissions(judged, graded, by_hand, counted)
        for start in range(0, len(graded), BATCH):
            part = every[start : start + BATCH]
            batch = graded_notebooks(course, facts, part, staging / str(start), graders)
            with _explained_errors(course, gradebook):
                write_batch(gradebook.db, notebook, batch)
                students = [each.student for each in batch]
                penalize_late(gradebook, settings, notebook, students, counted)
            # After the grades: nbgrader takes a notebook in autograded/ as a sign of grades.
            for each in batch:
                put_in_place(course, exercise, each)
    return tuple(outlines[place].student for place in roll if outlines[place].infrastructure)


def _judged_submissions(
    judged: JudgedClass,
    places: Sequence[int],
    by_hand: Collection[str],
    counted: Mapping[str, CountedAttempt],
) -> LazySequence[JudgedSubmission]:
    """Return what a graded notebook is made from, of the hand-ins at `places`."""

    def made(submission: Submission, verdict: Verdict, number: int) -> JudgedSubmission:
        student = judged.outlines[places[number]].student
        return JudgedSubmission(
            submission, verdict, student in by_hand, counted=counted.get(student)
        )

    submissions, verdicts = judged.submissions, judged.verdicts
    return LazySequence(
        len(places),
        lambda number: made(submissions[places[number]], verdicts[places[number]], number),
        lambda number: made(
            to_send(submissions, places[number]), to_send(verdicts, places[number]), number
        ),
    )


@contextmanager
def _staging(course: Course) -> Iterator[Path]:
    """A folder on the same disk as the course, so that its files can be moved into place."""
    try:
        for left_by_a_killed_run in course.directory.glob(f"{STAGING}*"):
            shutil.rmtree(left_by_a_killed_run)
        with tempfile.TemporaryDirectory(prefix=STAGING, dir=course.directory) as folder:
            share(Path(folder))  # a killed run leaves it, and the next one has to remove it
            yield Path(folder)
    except OSError as error:
        raise KitError(
            f"graded notebooks cannot be written: {error.strerror}",
            place=str(course.directory),
            cure=WRITABLE,
        ) from error


@contextmanager
def _explained_errors(course: Course, gradebook: api.Gradebook) -> Iterator[None]:
    """Explain why the database does not take the grades, and undo the unfinished batch."""
    try:
        yield
    except DBAPIError as error:
        gradebook.db.rollback()
        raise KitError(
            f"the gradebook cannot be written: {error.orig}",
            place=str(course.directory),
            cure="make sure that nothing else has the gradebook open, that you may write to it, "
            "and that the disk has room; then run the same command again: nothing is graded twice",
        ) from error
