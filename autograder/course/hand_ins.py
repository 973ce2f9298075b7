"""Whose hand-in counts for whom in a course: what one member of a group hands in is that of all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

from autograder.course.creation import Course
from autograder.course.intake import timestamp
from autograder.grading.class_task import (
    GroupHandIn,
    HandIn,
    course_roster,
    looks_handed_in,
    read_groups,
    shared_hand_ins,
)


@dataclass(frozen=True)
class CourseHandIns:
    """The hand-in of every student of a course for one exercise, and the groups that share one."""

    every: tuple[HandIn, ...]
    groups: tuple[GroupHandIn, ...]

    @classmethod
    def of(cls, course: Course, exercise: str) -> CourseHandIns:
        """Return them as they lie in `submitted/`; raise `KitError` when the groups are wrong."""
        groups = read_groups(course.directory)

        def moment(each: HandIn) -> datetime | None:
            found: datetime | None = timestamp(each.paths[0], course.hand_ins)
            return found

        own = course_roster(own_folders(course, exercise).items())
        return cls(*shared_hand_ins(own, groups, moment))

    @cached_property
    def folders(self) -> Mapping[str, Path]:
        """The folder that counts for each student."""
        return {each.student: each.paths[0] for each in self.every}

    def has(self, student: str) -> bool:
        """Whether what counts for a student is there; what nobody may read is."""
        folder = self.folders.get(student)
        if folder is None:
            return False
        return looks_handed_in(folder) or not os.access(folder, os.R_OK | os.X_OK)


def own_folders(course: Course, exercise: str) -> Mapping[str, Path]:
    """Return the folder of each student who has handed in."""
    return {each: course.submitted(exercise, each) for each in course.students(exercise)}


def counting_folder(course: Course, exercise: str, student: str) -> Path:
    """Return the folder that counts for one student, who or whose group has handed in."""
    groups = read_groups(course.directory).values()
    if not any(student in members for members in groups):
        return course.submitted(exercise, student)
    return CourseHandIns.of(course, exercise).folders[student]
