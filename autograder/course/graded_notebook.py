"""A student's graded notebook: the release with the student's code and the verdict in its cells.

It contains what the student handed in, so a watched grader process makes it. It stays in a
separate folder until its grades are in the gradebook.
"""

from __future__ import annotations

import itertools
import math
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
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
    is_graded_by_hand,
    is_untouched,
    not_asked,
    notebook_of,
    nothing_of,
    release_skeleton,
    without_code,
    write_submission,
)
from autograder.errors import KitError
from autograder.grading.classroom import HANDLING
from autograder.grading.grader_pool import GraderPool, Loss
from autograder.grading.watched_process import WorkProgress
from autograder.reports.class_summary import chain_finding, chain_sentence, step_note
from autograder.reports.feedback import unprotected_words
from autograder.reports.finding import (
    FindingText,
    finding_text,
    folded_html,
    html,
    shown,
    step_finding,
)
from autograder.submission.reading import Submission
from autograder.values.exercise import CHECK_PREFIX, Exercise
from autograder.values.symbols import number, step_mark
from autograder.values.value_file import LazySequence, to_send
from autograder.values.verdict import NOT_JUDGED, Outcome, StepVerdict, Verdict

# Writes a verdict into the check cells, as outputs from which nbgrader reads the scores.
#
# nbgrader gives full marks for an empty cell, a negative number or text, and none for any word on
# stderr. So every check cell gets the words as `display_data`, which is not scored, and then
# exactly one `execute_result`: a plain number between 0 and the cell's points.


def is_check(cell: NotebookNode) -> bool:
    """Whether the cell is graded automatically: it checks a step."""
    facts = cell["metadata"].get("nbgrader", {})
    return bool(facts.get("grade")) and not facts.get("solution") and cell["cell_type"] == "code"


def check_cells(
    notebook: NotebookNode,
    place: str = "the released notebook",
    steps: Collection[str] | None = None,
) -> dict[str, NotebookNode]:
    """Return the check cells of a notebook of the course, `place`: step to cell.

    They may check only those `steps`, unless the exercise may have changed since (None).

    Raise `KitError` for an auto-graded cell that checks no step: nbgrader would give full marks.
    """
    found: dict[str, NotebookNode] = {}
    for cell in filter(is_check, notebook.cells):
        grade_id = cell["metadata"]["nbgrader"]["grade_id"]
        step = grade_id.removeprefix(CHECK_PREFIX)
        if not grade_id.startswith(CHECK_PREFIX) or (steps is not None and step not in steps):
            raise KitError(
                f"the graded cell {grade_id!r} checks no step",
                place=place,
                cure="the kit runs no test cells: make it a step of your own in own-steps/ "
                "(docs/instructors.md says how), or a cell that you grade by hand; then release "
                "the notebook again",
            )
        found[step] = cell
    return found


def with_verdict(
    notebook: NotebookNode,
    verdict: Verdict,
    exercise: Exercise,
    counted: CountedAttempt | None = None,
) -> NotebookNode:
    """Return `notebook` with `verdict` in its check cells.

    Of other outputs, those stay that `onto_skeleton` has left for who grades by hand.

    The scores are those of the verdict, or of the attempt that is `counted` in its place.
    Raise `KitError` when no grade may be written: a fault of ours kept a step from being judged,
    or the check cells do not belong to the verdict's steps.
    """
    if verdict.infrastructure:
        raise KitError(
            f"{verdict.student} is not graded: a fault of ours kept a step from being judged",
            place=f"{verdict.exercise}, {_fault(verdict)}",
            cure="grade this submission again; nothing is written into the gradebook until then",
        )
    metadata, cells = NotebookNode(notebook.metadata), _numbered(notebook)
    result = NotebookNode(notebook, metadata=metadata, cells=cells)
    checks = check_cells(result)
    names = [step.name for step in verdict.steps]
    if sorted(checks) != sorted(names):
        raise KitError(
            f"the notebook of {verdict.exercise} does not check the steps that were judged",
            place=f"it checks {', '.join(checks) or 'none'}; the verdict has {', '.join(names)}",
            cure="run `attn build`, and in the course `attn course update`; then release it again",
        )
    for step in verdict.steps:
        points = counted.points.get(step.name, 0.0) if counted else step.points
        found = step_finding(step)
        words = _words(step, found, verdict, exercise)
        _write(checks[step.name], words, found.details, points)
    return result


def has_no_mark(verdict: Verdict, counted: CountedAttempt | None) -> bool:
    """Whether the steps have no points in the gradebook, since nothing that counts was judged.

    Their cells say 0 all the same: for nbgrader, a cell without a number has full marks.
    """
    return counted is None and not verdict.graded


def _numbered(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the cells, those of code as copies that count on and show nothing.

    What somebody grades by hand keeps what it shows.
    """
    numbers = itertools.count(1)
    cells: list[NotebookNode] = []
    for cell in notebook.cells:
        if cell["cell_type"] != "code":
            cells.append(cell)
            continue
        by_hand = is_graded_by_hand(cell) or cell.get("id", "").startswith(EXTRA)
        outputs = cell["outputs"] if by_hand else []
        cells.append(NotebookNode(cell, execution_count=next(numbers), outputs=outputs))
    return cells


def shows(notebook: NotebookNode, verdict: Verdict, exercise: Exercise) -> bool:
    """Whether the check cells of a graded notebook have this verdict's words, and no other's."""
    if verdict.infrastructure:
        return False
    try:
        own, made = check_cells(notebook), check_cells(with_verdict(notebook, verdict, exercise))
    except KitError:  # it checks other steps
        return False
    return all(_without_score(own[step]) == _without_score(made[step]) for step in made)


def _without_score(cell: NotebookNode) -> list[NotebookNode]:
    return [output for output in cell.outputs if output.output_type != "execute_result"]


def finished(path: Path) -> bool:
    """Whether the graded notebook at `path` is complete and every check cell has a score."""
    if not path.is_file():
        return False
    try:
        checks = check_cells(nbformat.read(path, as_version=4)).values()
        return all(any(o.output_type == "execute_result" for o in cell.outputs) for cell in checks)
    except Exception:  # a file that is cut off or damaged fails in any way
        return False


def _write(
    cell: NotebookNode, words: tuple[str, ...], details: tuple[str, ...], points: float
) -> None:
    facts = cell.metadata.nbgrader
    page = "".join(f"<p>{html(part)}</p>" for part in words) + folded_html(
        "Click for details", details
    )
    data = {"text/plain": "\n\n".join((*words, *details)), "text/html": page}
    step = facts["grade_id"].removeprefix(CHECK_PREFIX)
    score = repr(_score(step, points, float(facts["points"])))
    cell["outputs"] = [
        _output("display_data", data),
        _output("execute_result", {"text/plain": score}, execution_count=cell.execution_count),
    ]


def _output(kind: str, data: dict[str, str], **more: int) -> NotebookNode:
    # nbformat's own function checks each against a schema, which takes as long as all the rest.
    return NotebookNode(output_type=kind, metadata=NotebookNode(), data=NotebookNode(data), **more)


def _score(step: str, points: float, most: float) -> float:
    """Return points that nbgrader can read: it stops if they exceed those of the cell."""
    if not math.isfinite(points):
        raise KitError(
            f"the points of {step} are not a number",
            place=f"a verdict that says {points}",
            cure="grade this submission again",
        )
    return min(max(float(points), 0.0), most)


def _words(
    step: StepVerdict, finding: FindingText, verdict: Verdict, exercise: Exercise
) -> tuple[str, ...]:
    points = f"{number(step.points)} of {number(step.max_points)} points"
    points = "not graded" if step.outcome in NOT_JUDGED else points
    sign = step_mark(step)
    ended = " ".join((sign.words, step_note(exercise, verdict, step))).strip()
    words = [f"{sign.sign} {step.name}: {ended}, {points}.", *finding.parts]
    if step.name == verdict.steps[-1].name:
        whole = "End to end" if verdict.chain.asked else "All steps"
        words.append(f"{whole}: {chain_sentence(exercise, verdict)}")
        found = chain_finding(verdict)
        words += finding_text(found).parts if found else ()
        words += [*verdict.remarks, unprotected_words([verdict])]
    return tuple(shown(part) for part in words if part)


def _fault(verdict: Verdict) -> str:
    """Return what the instructor needs to know about a fault of ours."""
    failed = next(step for step in verdict.steps if step.outcome is Outcome.INFRASTRUCTURE)
    facts = (failed.finding.fact, *failed.finding.details) if failed.finding else ()
    return shown(": ".join((failed.name, *facts)))


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
    for place, (judged, folder) in enumerate(jobs):
        progress.begin(place)
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
