"""Writes a verdict into the check cells, as outputs from which nbgrader reads the scores.

nbgrader gives full marks for an empty cell, a negative number or text, and none for
any word on stderr. So every check cell gets the words as `display_data`, which is
not scored, and then exactly one `execute_result`: a plain number between 0 and the
cell's points.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.course.graded_attempts import CountedAttempt
from autograder.course.intake import EXTRA, is_graded_by_hand
from autograder.errors import KitError
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
from autograder.values.exercise import CHECK_PREFIX, Exercise
from autograder.values.symbols import number, step_mark
from autograder.values.verdict import NOT_JUDGED, Outcome, StepVerdict, Verdict


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
