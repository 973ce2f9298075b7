"""What a course keeps of a class that is graded: its gradebook, its attempts, and its pages."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nbgrader.utils import notebook_hash

from autograder.course.creation import Course, notebook_name
from autograder.course.gradebook import refuse_stale_release, write_gradebook
from autograder.course.gradebook_entries import read_gradebook
from autograder.course.graded_attempts import noted_attempts
from autograder.course.intake import SECRET, TIMESTAMP, handed_in_at, own_secret
from autograder.course.settings import open_gradebook, read_settings
from autograder.course.students import Decisions, decisions_now, own_folders
from autograder.errors import KitError
from autograder.grading.class_task import input_secret, read_groups
from autograder.grading.classroom import HANDLING, JudgedClass
from autograder.grading.grader_pool import GraderPool, Loss
from autograder.grading.watched_process import one_by_one
from autograder.reports.feedback import page_name
from autograder.reports.roll import ClassGradebook
from autograder.values.exercise import Exercise
from autograder.values.files import found_in, read_small, replace_file

# Our page where nbgrader looks for its own: `nbgrader release_feedback` hands it out then.
#
# A student's nbgrader asks for a page by the name of each notebook that the student handed in, so
# a renamed notebook needs a page of that name. Who handed in no notebook has nothing to ask with,
# and gets the single page from the instructor.

_BATCH = 16
_MOST_NOTEBOOKS = 20
_MOST_BYTES, _MOST_PAGE_BYTES = 10_000, 20_000_000
_READABLE = 0o644  # as nbgrader's own: the exchange is another user's


@dataclass(frozen=True)
class PageDelivery:
    """Puts a student's page where nbgrader looks for it, in whichever process has just made it.

    The page of a mark that is `held` back goes nowhere, and one that was there is removed, also
    from the folder of the `exchange` where it can be fetched. Who is `grouped` may be graded by
    another's hand-in, and gets the page by the secret of the own one.
    """

    course: Course
    exercise: str
    secret: bytes
    held: frozenset[str] = frozenset()
    grouped: frozenset[str] = frozenset()
    exchange: Path | None = None

    @classmethod
    def into(cls, course: Course, exercise: str) -> PageDelivery:
        """Return how pages of an exercise are delivered; raise `KitError`."""
        held = frozenset(Decisions.read(course, exercise).held)
        grouped = frozenset(
            each for group in read_groups(course.directory).values() for each in group
        )
        from autograder.course.course_update import handed_out  # in the starter only

        outbound = handed_out(course, read_settings(course)) if held else None
        exchange = outbound.with_name("feedback") if outbound else None
        return cls(course, exercise, input_secret(course.secret_folder), held, grouped, exchange)

    def __call__(self, student: str, page: bytes) -> bool:
        """Deliver it; return whether it is there. Raises `KitError` as `deliver_pages`."""
        if student in self.held:
            self._take_back(student)
            return True  # that is all there is to do
        if len(page) > _MOST_PAGE_BYTES:
            return False
        self._put(student, page)
        return True

    def of(self, student: str) -> bool:
        """Deliver the page that lies among the results; return whether there is one."""
        pages = self.course.graded(self.exercise) / "feedback"
        held = student in self.held
        page = b"" if held else _content(found_in(pages, page_name(student)), _MOST_PAGE_BYTES)
        return page is not None and self(student, page)

    def released(self, student: str) -> tuple[Path, ...]:
        """Return the pages in the exchange that can be fetched with the last secrets."""
        folder, hand_in = (
            place(self.exercise, student) for place in (self.course.feedback, self.course.submitted)
        )
        secrets = {_content(folder / SECRET, _MOST_BYTES), self.beside(student)[SECRET]}
        hashes = {
            notebook_hash(secret=secret.decode("utf-8", "replace"), notebook_id=name[:-5])
            for secret in secrets
            for name in {*_names(hand_in, self.exercise), *_pages(folder)}
            if secret
        }
        found = [self.exchange / f"{each}.html" for each in hashes] if self.exchange else []
        return tuple(filter(os.path.isfile, sorted(found)))

    def _take_back(self, student: str) -> None:
        folder = self.course.feedback(self.exercise, student)
        for page in self.released(student):
            with suppress(OSError):  # `attn course hold` tells of what is left
                page.unlink()
        for name in _pages(folder):
            (folder / name).unlink()

    def _put(self, student: str, page: bytes) -> None:
        folder = self.course.feedback(self.exercise, student)
        files = self.beside(student)
        names = _names(self.course.submitted(self.exercise, student), self.exercise)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, content in {**files, **dict.fromkeys(names, page)}.items():
                replace_file(folder / name, content, _READABLE)
        except OSError as error:
            raise KitError(
                "the page of a student cannot be put where nbgrader looks for it: "
                f"{error.strerror}",
                place=str(folder),
                cure="give yourself the right to write there, and run the same command again",
            ) from error

    def beside(self, student: str) -> dict[str, bytes]:
        """Return the files that nbgrader has beside a page.

        Where one of them is missing, release_feedback ends for the whole class. Who handed in
        without nbgrader, or nothing, cannot fetch the page: it gets a name that nobody can guess.
        """
        graded = self.course.autograded(self.exercise, student)
        if student in self.grouped:
            secret = own_secret(self.course, self.exercise, student)
        else:
            secret = _content(graded / SECRET, _MOST_BYTES)
        return {
            TIMESTAMP: _content(graded / TIMESTAMP, _MOST_BYTES) or b"",
            SECRET: secret or _unguessable(self.secret, self.exercise, student),
        }


def deliver_pages(course: Course, exercise: str, students: Iterable[str]) -> tuple[str, ...]:
    """Put the pages of `students` into nbgrader's feedback folder; return whose pages are there.

    Left out is whose page could not be made. Raises `KitError` when the folder cannot be written.
    """
    return tuple(filter(PageDelivery.into(course, exercise).of, students))


def add_missing_files(course: Course, exercise: str, student: str) -> None:
    """Write what `release_feedback` needs beside a page of nbgrader's own."""
    folder = course.feedback(exercise, student)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in PageDelivery.into(course, exercise).beside(student).items():
        replace_file(folder / name, content, _READABLE)


def _unguessable(secret: bytes, exercise: str, student: str) -> bytes:
    name = f"page of {exercise} for {student}".encode("utf-8", "surrogatepass")
    return hmac.new(secret, name, hashlib.sha256).hexdigest().encode()


def _content(file: Path, most: int) -> bytes | None:
    with suppress(FileNotFoundError):
        return read_small(file, most)
    return None


def _pages(folder: Path) -> list[str]:
    there = os.listdir(folder) if folder.is_dir() else []
    return [name for name in there if name.endswith(".html")]


def _names(handed_in: Path, exercise: str) -> list[str]:
    """Return the names of the pages: of the released notebook, and of those that were handed in."""
    try:
        own = [entry.name for entry in os.scandir(handed_in) if entry.name.endswith(".ipynb")]
    except OSError:  # grading has told of it
        own = []
    known = (notebook_name(exercise), *sorted(own)[:_MOST_NOTEBOOKS])
    return [f"{name.removesuffix('.ipynb')}.html" for name in dict.fromkeys(known)]


@dataclass(frozen=True)
class CourseRecords:
    """The gradebook of a course for one exercise, and the pages that it hands out."""

    course: Course
    exercise: Exercise

    @classmethod
    def opened(cls, course: Course, exercise: Exercise) -> CourseRecords:
        """Return the records; raise `KitError` where the gradebook has no place for grades.

        It has none for an exercise that was not released, or was with other steps or points.
        """
        with open_gradebook(course, read_settings(course), exercise.name) as (_, notebook):
            refuse_stale_release(course, exercise, notebook)
        return cls(course, exercise)

    @property
    def last_counts(self) -> bool:
        """Whether the gradebook has the points of the verdicts, and not of other attempts."""
        return self.course.attempts.only_the_last

    def read(self) -> ClassGradebook:
        """Return what the gradebook has now, with what students have asked since."""
        name = self.exercise.name
        decisions_now(self.course, name, own_folders(self.course, name))
        return read_gradebook(self.course, self.exercise.name)

    def enter(self, judged: JudgedClass, pool: GraderPool) -> ClassGradebook:
        """Put the grades of a class into the gradebook, and return what is there then."""
        course, exercise = self.course, self.exercise
        times = {each.student: handed_in_at(each) for each in judged.submissions}
        notes = noted_attempts(course.graded(exercise.name), judged.outlines, times)
        counted = notes.counted(exercise, judged.outlines, course.attempts, course.rules)
        write_gradebook(course, exercise.name, judged, pool, counted)
        notes.save()
        return self.read()

    def delivery(self) -> PageDelivery:
        """Return what puts a page that was just made where it is handed out from."""
        return PageDelivery.into(self.course, self.exercise.name)

    def deliver(self, students: Sequence[str], pool: GraderPool) -> None:
        """Put there the pages of `students`, which lie among the results.

        Raises `KitError` as `deliver_pages`, and when a process ends before a page is there.
        """
        work = partial(one_by_one, self.delivery().of)
        for place, found in pool.results(work, students, HANDLING, _BATCH):
            if isinstance(found, Loss):
                raise KitError(
                    f"a page was not put where nbgrader looks for it ({found.detail})",
                    place=str(self.course.feedback(self.exercise.name, students[place])),
                    cure="run the same command again",
                )
