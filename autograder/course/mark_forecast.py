"""Which marks move when the points or the steps of an exercise change, before anybody is graded.

A mark is known beforehand where the hand-in, the checks and everything else that judges are the
same as when it was graded: then only points move. Otherwise the work has to be graded again, and
only an estimate is given: what comes out if every step that stays is judged as before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from autograder.course.creation import Course
from autograder.course.exercise_update import ExerciseUpdate
from autograder.course.gradebook_cells import notebook_cells
from autograder.course.gradebook_entries import read_gradebook
from autograder.course.graded_attempts import AttemptNotes, noted_attempts
from autograder.course.hand_ins import CourseHandIns
from autograder.errors import KitError
from autograder.grading.classroom import read_class
from autograder.grading.digest import judging_hash
from autograder.grading.grader_pool import GraderPool
from autograder.model.exercise import CHECK_PREFIX, Exercise
from autograder.model.files import read_small
from autograder.model.marking import is_partly_marked, part_of
from autograder.model.sanitize import terminal_line
from autograder.model.symbols import number
from autograder.model.value_file import ValueFile
from autograder.model.verdict import Verdict
from autograder.reports.gradebook_entry import EnteredCell, GradebookEntry
from autograder.reports.verdict_files import verdict_file

LARGEST_VERDICT = 1 << 24  # bytes


@dataclass(frozen=True)
class MarkForecast:
    """A student's mark before and after; `again` says why it is only an estimate, "" if it is not.

    by_hand: the cells whose points somebody gave by hand and which are gone. penalty: the points
    that are off for being late; how many will be, the instructor's own rule says then.
    """

    student: str
    before: float
    after: float
    again: str = ""
    by_hand: tuple[str, ...] = ()
    penalty: float = 0.0

    @property
    def words(self) -> str:
        """The sentence for the instructor."""
        name, moved = terminal_line(self.student, 60), f"{number(self.before)} -> "
        if self.again:
            same = f"{number(self.after)} if the steps that stay are judged as before"
            words = f"{name}: {moved}to be graded again ({self.again}); {same}"
        else:
            words = f"{name}: {moved}{number(self.after)}"
        if self.penalty:
            words += f", with {number(self.penalty)} off for being late, which is worked out anew"
        lost = ", ".join(f"`{terminal_line(cell, 60)}`" for cell in self.by_hand)
        return f"{words}; points by hand for {lost} go" if lost else words


def mark_forecasts(
    course: Course, update: ExerciseUpdate, processes: int | None = None
) -> tuple[MarkForecast, ...]:
    """Return the students with a mark that moves, or may move, in the order of their names.

    Hand-ins are read, in grader processes, and nobody is judged. Raise `KitError` when the
    gradebook cannot be used.
    """
    exercise = course.exercise(update.name)
    entries = read_gradebook(course, update.name).entries
    points = notebook_cells(update.notebook)
    wanted = {**points.graded, **points.tasks}
    graded = {name: entry for name, entry in entries.items() if entry.has_marks}
    if not any(_moves(entry, wanted) for entry in graded.values()):
        return ()
    hashes = _code_hashes(course, exercise, processes)
    same_checks = _unchanged_judging(update, exercise)
    notes = noted_attempts(course.graded(update.name), (), {})
    found = (
        _forecast(course, exercise, entry, wanted, hashes.get(name), same_checks, notes)
        for name, entry in sorted(graded.items())
    )
    return tuple(each for each in found if each.again or each.before != each.after)


def judged_again(course: Course, update: ExerciseUpdate) -> bool:
    """Whether the next run judges everybody anew, since the checks or the kit have changed."""
    exercise = course.exercise(update.name)
    return update.made is not None and not _unchanged_judging(update, exercise)


def _moves(entry: GradebookEntry, wanted: Mapping[str, float]) -> bool:
    there = {name: cell.max_points for cell in entry.cells if (name := _name(cell))}
    return there != {name: most for name, most in wanted.items() if name in there} or any(
        name not in there for name in wanted
    )


def _forecast(
    course: Course,
    exercise: Exercise,
    entry: GradebookEntry,
    wanted: Mapping[str, float],
    code: str | None,
    same_checks: str,
    notes: AttemptNotes,
) -> MarkForecast:
    verdict = _verdict(course, exercise.name, entry.student)
    # With other points, another attempt may be the best one.
    judged = [verdict] if verdict else []
    counted = notes.counted(exercise, judged, course.attempts, course.rules)
    attempt = counted.get(entry.student)
    after, by_hand = 0.0, []
    for cell in entry.cells:
        name = _name(cell)
        if name and name not in wanted:
            by_hand += [cell.shown_name] if cell.by_hand is not None or cell.extra else []
        elif attempt is not None and cell.by_hand is None and cell.step:
            after += attempt.points.get(cell.step, 0.0) + cell.extra
        elif cell.by_hand is not None or not cell.step or not cell.automatic:
            after += cell.points
        else:
            after += _earned(cell, wanted[name], verdict) + cell.extra
    again = _why_again(course, verdict, code, same_checks)
    several = len(notes.attempts.get(entry.student, ())) > 1 and attempt is None
    if several and verdict and not math.isclose(entry.automatic, verdict.points):
        again = again or "[attempts] has changed"
    if any(name not in map(_name, entry.cells) for name in wanted):
        again = again or "there are new questions"
    return MarkForecast(
        entry.student,
        entry.points,
        max(0.0, after - entry.penalty),
        again,
        tuple(by_hand),
        entry.penalty,
    )


def _earned(cell: EnteredCell, points: float, verdict: Verdict | None) -> float:
    """Return what a step earns that had automatic points, if it is worth `points` now."""
    steps = verdict.steps if verdict else ()
    found = next((step for step in steps if step.name == cell.step), None)
    return part_of(points, found) if found and is_partly_marked(found) else points


def _why_again(course: Course, verdict: Verdict | None, code: str | None, same_checks: str) -> str:
    """Return why a mark cannot be known before it is graded, "" when it can."""
    if verdict is None:
        return "there is no verdict of an earlier run"
    if code != verdict.code_hash:
        return "the hand-in has changed" if code else "there is no hand-in"
    if not same_checks or verdict.exercise_hash != same_checks:
        return "the checks, or the kit, have changed"
    if not course.rules.layer_earns_steps and any(step.by_layer for step in verdict.steps):
        return "layer_earns_steps has changed"
    partly = any(map(is_partly_marked, verdict.steps))
    if course.rules.marked(verdict) != verdict or (partly and not course.rules.partial_points):
        return "partial_points has changed"
    return ""


def _unchanged_judging(update: ExerciseUpdate, exercise: Exercise) -> str:
    """Return the hash of the exercise on verdicts that would come out the same now, "" if none."""
    made = update.made
    if made and made.judging_hash == judging_hash(exercise.folder):
        return made.exercise_hash
    return ""


def _code_hashes(course: Course, exercise: Exercise, processes: int | None) -> dict[str, str]:
    hand_ins = CourseHandIns.of(course, exercise.name).every
    if not hand_ins:
        return {}
    with GraderPool(processes) as pool, ValueFile() as file:
        read = read_class(pool, exercise, hand_ins, file=file)
        return {each.student: each.code_hash for each in read}


def _verdict(course: Course, exercise: str, student: str) -> Verdict | None:
    path = verdict_file(course.graded(exercise) / "verdicts", student)
    try:
        return Verdict.from_json(read_small(path, LARGEST_VERDICT).decode("utf-8"))
    except (OSError, KitError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # then nothing is promised


def _name(cell: EnteredCell) -> str:
    """Return the grade_id of a cell of the exercise's notebook; "" for one of another notebook."""
    return f"{CHECK_PREFIX}{cell.step}" if cell.step else ("" if ": " in cell.name else cell.name)
