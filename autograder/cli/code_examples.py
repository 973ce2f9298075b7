"""One student's code for each mistake of a class, without names: comments and docstrings are out.

Students wrote it, so it is read in a watched grader process.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial

from autograder.grading.classroom import HANDLING
from autograder.grading.grader_pool import GraderPool
from autograder.grading.watched_process import one_by_one
from autograder.model.lazy_sequence import LazySequence
from autograder.reports.misunderstandings import Misunderstanding
from autograder.submission.cells import UNREADABLE, parsed
from autograder.submission.definitions import top_level
from autograder.submission.reading import Submission

MOST_LINES, WIDEST = 40, 120


def code_examples(
    pool: GraderPool,
    submissions: Sequence[Submission],
    found: Sequence[Misunderstanding],
) -> tuple[str, ...]:
    """Return for each of `found` the step as its example wrote it; "" where it cannot be shown."""
    places = {each.student: place for place, each in enumerate(submissions)}
    texts = [""] * len(found)

    def job(number: int) -> tuple[str, Sequence[str]]:
        place = places.get(found[number].example)
        return found[number].step, () if place is None else submissions[place].cells

    pool.run(
        partial(one_by_one, _read),
        LazySequence(len(found), job),
        HANDLING,
        result=texts.__setitem__,
        lost=lambda place, loss: None,
    )
    return tuple(texts)


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
                kept = [line for line in lines if not _is_prose(line)]
                setattr(each, part, kept or [ast.Pass()])
    return ast.unparse(copy)


def _is_prose(line: ast.stmt) -> bool:
    """Whether a statement is only a text: a docstring, or one in place of a comment."""
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)
