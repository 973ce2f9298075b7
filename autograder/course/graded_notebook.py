"""A student's graded notebook: the release with the student's code and the verdict in its cells.

It contains what the student handed in, so a watched grader process makes it. It stays in a
separate folder until its grades are in the gradebook.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import determine_grade, is_grade, is_solution

from autograder.course.creation import WRITABLE, Course, notebook_name
from autograder.course.graded_attempts import CountedAttempt
from autograder.course.intake import (
    CHANGED,
    EXTRA,
    ChangedFile,
    Skeleton,
    handed_in_at,
    is_untouched,
    not_asked,
    notebook_of,
    nothing_of,
    release_skeleton,
    without_code,
    write_submission,
)
from autograder.course.verdict_cells import has_no_mark, with_verdict
from autograder.errors import KitError
from autograder.grading.classroom import HANDLING
from autograder.grading.grader_pool import GraderPool, Loss
from autograder.grading.watched_process import WorkProgress
from autograder.submission.reading import Submission
from autograder.values.exercise import Exercise
from autograder.values.value_file import LazySequence, to_send
from autograder.values.verdict import Verdict

NO_RESPONSE = "No response."  # nbgrader's words for a solution cell that was not changed
NOT_THERE = "This question is not in the release that was handed in."
READ_ONLY = 0o444
_BATCH = 8


@dataclass(frozen=True)
class JudgedSubmission:
    """A submission and the verdict on it.

    `by_hand` says whether a person has given some of its points, `shown` whether its notebook has
    what the student wrote. `counted` is the attempt that counts, where that may be another one.
    """

    submission: Submission
    verdict: Verdict
    by_hand: bool = False
    shown: bool = True
    counted: CountedAttempt | None = None


@dataclass(frozen=True)
class GradedNotebook:
    """One student's graded notebook in `folder`, and its entries for the gradebook.

    scores, comments: by the name of the cell. handed_in_at: a UTC datetime, or None if unknown.
    changed: whether the work is other than that in `autograded/`, and other_points: the cells that
    had other points there. Both are only looked at where points were given by hand.
    """

    student: str
    scores: Mapping[str, float | None]
    comments: Mapping[str, str | None]
    handed_in_at: Any
    folder: Path
    changed: bool = False
    other_points: frozenset[str] = frozenset()


def graded_notebooks(
    course: Course,
    exercise: Exercise,
    judged: Sequence[JudgedSubmission],
    staging: Path,
    pool: GraderPool,
) -> tuple[GradedNotebook, ...]:
    """Make the graded notebooks of a class below `staging`; return them in the same order.

    If making one exceeds the limits for one hand-in, that notebook has the verdict without the
    student's code, and says so. Raise `KitError` when the notebooks cannot be written.
    """
    work, made = partial(_make_batch, course, exercise), dict[int, GradedNotebook]()
    jobs = LazySequence(len(judged), lambda place: (to_send(judged, place), staging / str(place)))
    for place, found in pool.results(work, jobs, HANDLING, _BATCH):
        if isinstance(found, Loss):
            folder = staging / f"{place}-alone"
            found = _without_code(course, exercise, judged[place], folder, found)
        made[place] = found
    return tuple(made[place] for place in range(len(judged)))


def put_in_place(course: Course, exercise: str, graded: GradedNotebook) -> None:
    """Move a graded notebook into `autograded/`, and make it read-only as nbgrader does."""
    target = course.autograded(exercise, graded.student)
    try:
        if target.exists():
            shutil.rmtree(target)
        for file in graded.folder.iterdir():
            file.chmod(READ_ONLY)
        graded.folder.rename(target)
    except OSError as error:
        raise _not_written(target, error) from error


def _make_batch(
    course: Course,
    exercise: Exercise,
    jobs: Sequence[tuple[JudgedSubmission, Path]],
    progress: WorkProgress,
) -> None:
    skeleton = release_skeleton(course, exercise.name)
    for number, (judged, folder) in enumerate(jobs):
        progress.begin(number)
        try:
            notebook = notebook_of(skeleton, judged.submission)
        except ChangedFile:
            notebook = skeleton.release
            judged = _with_remark(judged, without_code(judged.submission), CHANGED)
        progress.done(_graded(course, exercise, judged, notebook, folder, skeleton))


def _without_code(
    course: Course, exercise: Exercise, judged: JudgedSubmission, folder: Path, loss: Loss
) -> GradedNotebook:
    remark = f"Your code is not in this notebook: copying it was stopped ({loss.detail})."
    # The hand-in itself is not read again.
    nothing = nothing_of(judged.submission.student, exercise.name)
    skeleton = release_skeleton(course, exercise.name)
    told = _with_remark(judged, nothing, remark)
    return _graded(course, exercise, told, skeleton.release, folder, skeleton)


def _with_remark(judged: JudgedSubmission, submission: Submission, remark: str) -> JudgedSubmission:
    verdict = replace(judged.verdict, remarks=(*judged.verdict.remarks, remark))
    return replace(judged, submission=submission, verdict=verdict, shown=False)


def _graded(
    course: Course,
    exercise: Exercise,
    judged: JudgedSubmission,
    notebook: NotebookNode,
    folder: Path,
    skeleton: Skeleton,
) -> GradedNotebook:
    """Fill in the verdict; read scores and comments as nbgrader's SaveAutoGrades does."""
    filled = with_verdict(notebook, judged.verdict, exercise, judged.counted)
    without_mark = has_no_mark(judged.verdict, judged.counted)
    unseen = not_asked(skeleton.release, judged.submission.asked)
    scores: dict[str, float | None] = {}
    comments: dict[str, str | None] = {}
    for cell in filled.cells:
        facts = cell["metadata"].get("nbgrader")
        if not facts:
            continue
        # An answer that is not shown is not an answer that was not given.
        blank = is_solution(cell) and (not judged.shown or facts["grade_id"] in unseen)
        if is_grade(cell):
            unknown = blank or (without_mark and not is_solution(cell))
            scores[facts["grade_id"]] = None if unknown else determine_grade(cell)[0]
        if is_solution(cell):
            untouched = is_untouched(cell) and not blank
            comments[facts["grade_id"]] = NO_RESPONSE if untouched else None
            if facts["grade_id"] in unseen:
                comments[facts["grade_id"]] = NOT_THERE
    target = course.autograded(exercise.name, judged.submission.student)
    try:
        write_submission(filled, judged.submission, folder)
        # Where it will be moved to. Who has no notebook there yet has no grade for nbgrader.
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_written(target, error) from error
    at = handed_in_at(judged.submission)
    graded = GradedNotebook(judged.submission.student, scores, comments, at, folder)
    if not judged.by_hand:
        return graded
    changed, others = _differences(filled.cells, target / notebook_name(exercise.name))
    return replace(graded, changed=changed or not judged.shown, other_points=others)


def _differences(now: list[NotebookNode], graded: Path) -> tuple[bool, frozenset[str]]:
    """Return whether the notebook that was `graded` before has other answers, or other cells of
    their own, and the cells that had other points in it.

    A cell of the release is nobody's work: when the release has changed, the older one's cells are
    taken for the student's own, and stand beside it.
    """
    try:
        before = nbformat.read(graded, as_version=4).cells
        other_work = (
            _texts(filter(is_solution, now)) != _texts(filter(is_solution, before))
            or not _own_texts(now) <= {*_texts(before)}
            or not _own_texts(before) <= {*_texts(now)}
        )
        then, most = _points(before), _points(now)
        return other_work, frozenset(each for each in then if then[each] != most.get(each))
    except Exception:  # a damaged file fails in any way; then somebody has to look again
        return True, frozenset()


def _points(cells: Iterable[NotebookNode]) -> dict[str, float]:
    facts = [cell.metadata.get("nbgrader", {}) for cell in cells]
    return {each["grade_id"]: float(each["points"]) for each in facts if "points" in each}


def _own_texts(cells: Iterable[NotebookNode]) -> set[str]:
    return {*_texts(cell for cell in cells if cell.get("id", "").startswith(EXTRA))}


def _texts(cells: Iterable[NotebookNode]) -> list[str]:
    """Return what cells hold: text and pictures."""
    return [f"{cell.source}{cell.get('attachments', '')}" for cell in cells]


def _not_written(place: Path, error: OSError) -> KitError:
    return KitError(
        f"a graded notebook cannot be written: {error.strerror}",
        place=str(place),
        cure=WRITABLE,
    )
