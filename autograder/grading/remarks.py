"""Remarks on what a submission calls: worth a word, never worth a point.

The author names calls in `exercise.toml`, such as "numpy.matrix". They are looked for in the
syntax tree, so a comment or a string is not a call. A student who wants to hide a
call can do so: this is a remark, not a boundary.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterable, Iterator

from autograder.model.exercise import Exercise
from autograder.submission.cells import parsed
from autograder.submission.reading import Submission

_MODULES = {"np": "numpy"}  # what everybody calls it, and its name


def remarks_on(submission: Submission, exercise: Exercise) -> tuple[str, ...]:
    """Return the author's words for every named call that the submission uses."""
    # Most hand-ins hold none of the words; then nothing is parsed.
    # Python reads ℕ as N, and so do we.
    written = [unicodedata.normalize("NFKC", cell) for cell in submission.cells]
    likely = [each for each in exercise.remarks if _is_written(each.uses, written)]
    used = {name for cell in submission.cells for name in _names(cell)} if likely else set()
    told = (remark.words for remark in likely if remark.uses in used)
    return tuple(dict.fromkeys(told))  # two names may have the same words


def _is_written(uses: str, cells: Iterable[str]) -> bool:
    word = uses.rpartition(".")[2]
    name = re.compile(rf"\b{re.escape(word)}\b")
    return any(word in cell and name.search(cell) for cell in cells)


def _names(cell: str) -> Iterator[str]:
    tree = parsed(cell)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Attribute):
            yield node.attr
            if isinstance(node.value, ast.Name):
                yield f"{_MODULES.get(node.value.id, node.value.id)}.{node.attr}"
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.ImportFrom):
            yield from (name.name for name in node.names)
            yield from (f"{node.module}.{name.name}" for name in node.names)
