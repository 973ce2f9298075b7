"""What a newer kit, or a changed exercise, changes in a course; shown first, then done."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError

from autograder.building.build import Examples
from autograder.course.adjusted_exercise import remove_others
from autograder.course.configuration import BESIDE, BESIDE_OTHERS
from autograder.course.creation import LARGEST_FACTS, Course, course_configuration, notebook_name
from autograder.course.exercise_list import with_exercises
from autograder.course.exercise_update import ExerciseUpdate, exercise_update, new_exercise
from autograder.course.gradebook_address import within
from autograder.course.gradebook_cells import fit_cells, removed_grades
from autograder.course.kit_copy import (
    LARGEST_FILE,
    configuration_copy,
    read_configuration,
    read_notebook,
)
from autograder.course.merged_configuration import MergedConfiguration, merge_configuration
from autograder.course.pending_update import PendingUpdate, write_down
from autograder.course.release_state import ReleaseState, release_state
from autograder.course.settings import course_directory, open_gradebook, read_settings
from autograder.errors import KitError
from autograder.grading.graded_folder import CONFIG, FACTS
from autograder.model.files import read_small, write_whole


@dataclass(frozen=True)
class CourseUpdate:
    """All that an update changes in a course.

    states: of each exercise that is there, how its release differs from what will be its source.
    configuration_noted: whether the kit has noted which configuration it wrote.
    """

    course: Course
    exercises: tuple[ExerciseUpdate, ...]
    configuration: MergedConfiguration
    states: Mapping[str, ReleaseState]
    facts: str
    configuration_noted: bool

    @property
    def stale(self) -> bool:
        """Whether anything is to be written; a release that is behind does not count."""
        return (
            bool(self.configuration.changes or self.configuration.kept)
            or not self.configuration_noted
            or any(each.stale for each in self.exercises)
            or any(state.refused for state in self.states.values())
        )

    @property
    def release_again(self) -> tuple[str, ...]:
        """The exercises that have a release which then differs from the source."""
        return tuple(
            name
            for name, state in self.states.items()
            if state.released and (state.differences or state.gradebook)
        )

    def hand_out_again(self, name: str) -> bool:
        """Whether what students fetch differs, or will, from the release."""
        state = self.states.get(name)
        return bool(state and state.in_exchange and (state.exchange or name in self.release_again))

    @property
    def files(self) -> dict[Path, bytes]:
        """What is written, by the path relative to the course; the list of exercises comes last."""
        found: dict[Path, bytes] = {}
        for each in self.exercises:
            found |= each.files
        found[Path(CONFIG)] = self.configuration.text.encode("utf-8")
        for each in self.exercises:
            found |= each.notes
        names = tuple(each.name for each in self.exercises)
        found |= configuration_copy(course_configuration(self.course, names))
        found[Path(FACTS)] = self.facts.encode("utf-8")
        return {path: text for path, text in found.items() if not self._there(path, text)}

    def _there(self, path: Path, content: bytes) -> bool:
        try:
            return read_small(self.course.directory / path, LARGEST_FILE) == content
        except FileNotFoundError:
            return False


def plan_update(
    course: Course,
    assignments: Path,
    examples: Examples,
    added: Sequence[str] = (),
    *,
    replace: bool = False,
) -> CourseUpdate:
    """Find out what an update changes, and change nothing.

    examples: makes the worked examples of an exercise that the course changes. added: exercises
    that the course gets. replace: also give the instructor's words in the kit's cells and files up.
    Raise `KitError` when an exercise is not known or not built, or when the course is damaged.
    """
    new = tuple(dict.fromkeys(name for name in added if name not in course.exercises))
    there = [
        exercise_update(course, assignments, name, examples, replace=replace)
        for name in course.exercises
    ]
    states = {each.name: _state(course, each) for each in there}
    updates = (*there, *(new_exercise(course, assignments, name, examples) for name in new))
    names = (*course.exercises, *new)
    made = read_configuration(course.directory)
    text = _configuration(course)
    if course.adopted:  # without these lines, nbgrader itself would run what students wrote
        lines = ("the kit's lines are missing",) if BESIDE not in text else ()
        configuration = MergedConfiguration(text + BESIDE_OTHERS if lines else text, lines, ())
    else:
        configuration = merge_configuration(
            made, text, course_configuration(course, names), replace=replace
        )
    place = course.directory / FACTS
    facts = read_small(place, LARGEST_FACTS).decode("utf-8")
    if new:
        facts = with_exercises(facts, names, place)
    return CourseUpdate(course, updates, configuration, states, facts, made is not None)


def _configuration(course: Course) -> str:
    path = course.directory / CONFIG
    if course.adopted and not path.exists():
        return ""
    return read_small(path, LARGEST_FILE).decode("utf-8")  # nbgrader's own is 90 kB of comments


def note_what_the_kit_wrote(update: CourseUpdate) -> None:
    """Note it anew where nothing else changes: what judges may have changed since it was noted."""
    for path, content in update.files.items():
        write_whole(update.course.directory / path, content.decode("utf-8"))
    _tidy(update.course)


def do_update(update: CourseUpdate) -> Path | None:
    """Do what was planned; return the folder with what was there before, None without a change."""
    files = update.files
    refused = [name for name, state in update.states.items() if state.refused]
    if not files and not refused:
        return None
    course = update.course
    sources = {each.name: each for each in update.exercises}

    def save_more(folder: Path) -> None:
        for name in refused:
            _save_gradebook(course, sources[name], folder)

    pending = write_down(course.directory, files, refused, save_more)
    finish_update(course, pending)
    _tidy(course)
    return pending.backup


def finish_update(course: Course, pending: PendingUpdate) -> None:
    """Put an update in place that is written down, from wherever an earlier run was stopped."""
    pending.put_in_place()
    for name in pending.exercises:
        path = course.source(name) / notebook_name(name)
        notebook = read_notebook(read_small(path, LARGEST_FILE), path)
        with open_gradebook(course, read_settings(course), name) as (gradebook, book):
            try:
                fit_cells(gradebook.db, book, notebook)
            except DBAPIError as error:
                gradebook.db.rollback()
                raise KitError(
                    f"the gradebook's cells cannot be changed: {error.orig}",
                    place=str(course.directory),
                    cure="make sure that nothing else has the gradebook open and that you may "
                    "write to it; then run `attn course update` again: it goes on from here",
                ) from error
    pending.finish()


def _tidy(course: Course) -> None:
    """Remove exercises as the course gave them before."""
    remove_others(course.directory, [course.solution(name) for name in course.adjustments])


def _state(course: Course, update: ExerciseUpdate) -> ReleaseState:
    """Compare the release with what will be the source, files that will be written included."""
    state = release_state(course, update.name, update.notebook)
    if not state.released or state.differences or not update.files:
        return state
    return replace(state, differences=("files beside the notebook differ",))


def _save_gradebook(course: Course, update: ExerciseUpdate, folder: Path) -> None:
    """Copy the gradebook if it is a file, and in any case the grades that will be removed."""
    settings = read_settings(course)
    with open_gradebook(course, settings, update.name) as (gradebook, book):
        rows = removed_grades(gradebook.db, book, update.notebook)
    text = json.dumps(rows, indent=2, ensure_ascii=False)
    (folder / f"removed-grades-{update.name}.json").write_text(text, encoding="utf-8")
    address = make_url(within(course, course_directory(course, settings).db_url))
    if address.get_backend_name() == "sqlite" and not (folder / "gradebook.db").exists():
        try:
            with (
                closing(sqlite3.connect(str(address.database))) as there,
                closing(sqlite3.connect(folder / "gradebook.db")) as copy,
            ):
                there.backup(copy)
        except sqlite3.Error as error:
            raise KitError(
                f"the gradebook cannot be copied before it is changed: {error}",
                place=str(folder),
                cure="make sure that nothing else has the gradebook open and that the disk has "
                "room; then run the same command again",
            ) from error
