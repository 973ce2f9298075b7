"""The numbers and texts that an author wrote into an exercise's own code.

What a student's code passes on to a step is bounded. A base of 10000, a floor of -1e9 or a
formula for einsum is beyond those bounds, but no surprise where the author wrote it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from autograder.model.exercise import GRADERS, SOLUTION, shared_folders

LONGEST_TEXT = 64


@cache
def written_values(folder: Path) -> frozenset[float | str]:
    """Return the numbers and short texts in the reference, its checks and what they share."""
    folder = folder.resolve()
    shared = [path for each in shared_folders(folder) for path in each.rglob("*.py")]
    paths = [folder / SOLUTION, folder / GRADERS, *shared]
    return frozenset(value for path in paths for value in _values(path.read_text("utf-8")))


def _values(text: str) -> Iterator[float | str]:
    for node in ast.walk(ast.parse(text)):
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, int | float):
            yield from (value, -value)
        elif isinstance(value, str) and len(value) <= LONGEST_TEXT:
            yield value
