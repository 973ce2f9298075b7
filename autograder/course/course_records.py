"""What a course keeps of a class that is graded: its gradebook, its attempts, and its pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autograder.course.creation import Course
from autograder.course.decisions import decisions_now
from autograder.course.delivered_page import PageDelivery, deliver_class
from autograder.course.gradebook import write_gradebook
from autograder.course.gradebook_entries import read_gradebook
from autograder.course.graded_attempts import noted_attempts
from autograder.course.hand_ins import own_folders
from autograder.course.intake import handed_in_at
from autograder.course.settings import open_gradebook, read_settings
from autograder.course.stale_release import refuse_stale_release
from autograder.grading.grader_pool import GraderPool
from autograder.grading.judged_class import JudgedClass
from autograder.model.exercise import Exercise
from autograder.reports.gradebook_entry import ClassGradebook


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
        """Put there the pages of `students`, which lie among the results."""
        deliver_class(self.course, self.exercise.name, students, pool)
