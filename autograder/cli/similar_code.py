"""Which hand-ins of a class share rare code: found in watched grader processes, since students
wrote what is compared.
"""

from __future__ import annotations

import ast
import pickle
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from autograder.authoring.regions import read_solution
from autograder.authoring.stub import read_cells
from autograder.errors import KitError
from autograder.grading.classroom import HANDLING
from autograder.grading.grader_pool import GraderPool, Loss
from autograder.grading.watched_process import one_by_one
from autograder.reports.misunderstandings import Misunderstanding
from autograder.reports.roll import NOTHING_SIMILAR, SimilarCode, SimilarPair
from autograder.submission.cells import UNREADABLE, parsed, top_level
from autograder.submission.fingerprints import (
    FEWEST_HAND_INS,
    Fingerprints,
    Resemblance,
    fingerprints,
    resemblances,
)
from autograder.submission.reading import Submission
from autograder.submission.syntax_tree import is_text
from autograder.values.exercise import Exercise, given_text
from autograder.values.value_file import LazySequence

# One student's code for each mistake of a class, without names: comments and docstrings are out.
#
# Students wrote it, so it is read in a watched grader process.

MOST_LINES, WIDEST = 40, 120


def code_examples(
    pool: GraderPool,
    submissions: Sequence[Submission],
    found: Sequence[Misunderstanding],
) -> tuple[str, ...]:
    """Return for each of `found` the step as its example wrote it; "" where it cannot be shown."""
    places = {each.student: place for place, each in enumerate(submissions)}

    def job(number: int) -> tuple[str, Sequence[str]]:
        place = places.get(found[number].example)
        return found[number].step, () if place is None else submissions[place].cells

    texts = _results(pool, _read, LazySequence(len(found), job))
    return tuple(texts.get(place, "") for place in range(len(found)))


def _results(
    pool: GraderPool, function: Callable[[Any], Any], items: Sequence[Any], batch: int = 1
) -> dict[int, Any]:
    """Return what `function` makes of each item, by its place; nothing of one that is lost."""
    found = pool.results(partial(one_by_one, function), items, HANDLING, batch)
    return {place: each for place, each in found if not isinstance(each, Loss)}


def without_names(cells: Sequence[str], name: str) -> str:
    """Return the last definition of `name` as Python writes it, "" if there is none to be shown.

    Without comments and docstrings, in which people sign; at most 40 lines.
    """
    found = ""
    for cell in cells:
        tree = parsed(cell)
        for node in top_level(tree) if tree else ():
            if node.name == name:
                found = _written(node)
    lines = [line[:WIDEST] for line in found.split("\n")]
    return "\n".join([*lines[:MOST_LINES], *(["..."] if len(lines) > MOST_LINES else [])])


def _read(job: tuple[str, Sequence[str]]) -> str:
    name, cells = job
    return without_names(cells, name)


def _written(node: ast.stmt) -> str:
    try:
        copy = ast.parse(ast.unparse(node))
    except UNREADABLE:  # nobody wrote that by hand
        return ""
    for each in ast.walk(copy):
        for part in ("body", "orelse", "finalbody"):
            lines = getattr(each, part, None)
            if isinstance(lines, list) and lines:
                kept = [line for line in lines if not is_text(line)]
                setattr(each, part, kept or [ast.Pass()])
    return ast.unparse(copy)


MOST_PAIRS = 30  # shown on the page
_BATCH = 16
# One grader process compares them all: more take a gigabyte there, and as much here.
MOST_HAND_INS = 50_000
_STEPS_SHOWN = 2  # of a pair


def find_similar_code(
    pool: GraderPool, exercise: Exercise, submissions: Sequence[Submission]
) -> SimilarCode:
    """Return the pairs of hand-ins that share rare code; see `resemblances`.

    Equal code counts once: it is told of elsewhere. What cannot be read or compared is left out.
    """
    alike = {each.code_hash: place for place, each in enumerate(submissions) if not each.rejected}
    compared = LazySequence.picked(submissions, tuple(alike.values()))
    if len(compared) < FEWEST_HAND_INS:
        return NOTHING_SIMILAR
    if len(compared) > MOST_HAND_INS:
        return SimilarCode(left_out=len(submissions))
    steps = frozenset(step.name for step in exercise.steps)
    cells = LazySequence(len(compared), lambda place: compared[place].cells)
    prints = _results(pool, partial(_packed, steps=steps), cells, _BATCH)
    read = sorted(prints)
    compare = partial(_resemblances, given=given_fingerprints(exercise, steps))
    found = _results(pool, compare, [[prints[place] for place in read]]).get(0)
    if found is None:  # comparing takes more than it may
        return SimilarCode(left_out=len(submissions))
    shown = found[:MOST_PAIRS]
    pairs = [(compared[read[each.first]], compared[read[each.second]]) for each in shown]
    return SimilarCode(
        _with_examples(pool, pairs, shown), len(found), left_out=len(compared) - len(read)
    )


def given_fingerprints(exercise: Exercise, steps: frozenset[str]) -> frozenset[int]:
    """Return the fingerprints of what students get and of the reference: they weigh nothing."""
    texts = ([given_text(exercise.folder)], _stub(exercise))
    every = [fingerprints(cells, steps).values() for cells in texts]
    return frozenset().union(*(values for found in every for values in found))


def _stub(exercise: Exercise) -> list[str]:
    """Return the cells that students get; nothing when they cannot be cut out of the solution.

    Nobody's marks depend on it, and what many still have of the stub weighs nothing anyway.
    """
    try:
        return [cell.source for cell in read_cells(read_solution(exercise)) if cell.code]
    except KitError:
        return []


def _packed(cells: Sequence[str], steps: frozenset[str]) -> bytes:
    """Return the fingerprints of a hand-in as bytes, which take a fifteenth of the memory."""
    return pickle.dumps(fingerprints(cells, steps))


def _resemblances(prints: Sequence[bytes], given: frozenset[int]) -> tuple[Resemblance, ...]:
    unpacked = LazySequence[Fingerprints](len(prints), lambda place: pickle.loads(prints[place]))
    return resemblances(unpacked, given)


def _with_examples(
    pool: GraderPool,
    pairs: Sequence[tuple[Submission, Submission]],
    found: Sequence[Resemblance],
) -> tuple[SimilarPair, ...]:
    """Return each pair with the code of the steps in which it shares most."""
    jobs = [
        (place, step, [submission.cells for submission in pair])
        for place, (pair, each) in enumerate(zip(pairs, found, strict=True))
        for step in [step for step in each.steps if step][:_STEPS_SHOWN]
    ]
    examples: list[list[tuple[str, str, str]]] = [[] for _ in pairs]
    for job, texts in _results(pool, _examples, jobs).items():
        place, step, _ = jobs[job]
        examples[place].append((step, *texts))
    return tuple(
        SimilarPair((first.student, second.student), each.steps, each.part, tuple(examples[place]))
        for place, ((first, second), each) in enumerate(zip(pairs, found, strict=True))
    )


def _examples(job: tuple[int, str, Sequence[Sequence[str]]]) -> tuple[str, ...]:
    _, step, hand_ins = job
    return tuple(without_names(cells, step) for cells in hand_ins)
