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
from autograder.submission.definitions import DefinitionNode
from autograder.submission.reading import Submission

_MODULES = {"np": "numpy"}  # what everybody calls it, and its name


def remarks_on(submission: Submission, exercise: Exercise) -> tuple[str, ...]:
    """Return the author's words for every named call that the submission's steps come to.

    What no step calls says nothing of them: the released notebook has cells of its own, too.
    """
    # Most hand-ins hold none of the words; then nothing is parsed.
    # Python reads ℕ as N, and so do we.
    written = [unicodedata.normalize("NFKC", cell) for cell in submission.cells]
    likely = [each for each in exercise.remarks if _is_written(each.uses, written)]
    used = _used(submission.cells, [step.name for step in exercise.steps]) if likely else set()
    told = (remark.words for remark in likely if remark.uses in used)
    return tuple(dict.fromkeys(told))  # two names may have the same words


def _is_written(uses: str, cells: Iterable[str]) -> bool:
    word = uses.rpartition(".")[2]
    name = re.compile(rf"\b{re.escape(word)}\b")
    return any(word in cell and name.search(cell) for cell in cells)


def _used(cells: Iterable[str], steps: Iterable[str]) -> set[str]:
    """The names in the steps, in what they name and so on, and outside of every definition."""
    inside: dict[str, list[DefinitionNode]] = {}
    used = set(steps)
    for tree in filter(None, map(parsed, cells)):
        for statement in tree.body:
            if isinstance(statement, DefinitionNode):
                inside.setdefault(statement.name, []).append(statement)
            else:
                used.update(_names(statement))
    while reached := used & inside.keys():
        for name in reached:
            for node in inside.pop(name):
                used.update(_names(node))
    return used


def _names(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute):
            yield node.attr
            if isinstance(node.value, ast.Name):
                yield f"{_MODULES.get(node.value.id, node.value.id)}.{node.attr}"
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.ImportFrom):
            yield from (name.name for name in node.names)
            yield from (f"{node.module}.{name.name}" for name in node.names)
