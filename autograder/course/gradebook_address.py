"""Where a course's gradebook is, read without running the course's configuration.

`nbgrader_config.py` is a program. What has no gradebook yet is no course of the instructor's, so
nothing of it is run before the gradebook that it names is there: files that students handed in
may look like a course. The instructor's own Jupyter configuration lies elsewhere and may be run.
"""

from __future__ import annotations

import ast
from pathlib import Path

from autograder.course.creation import CONFIG, GRADEBOOK, Course
from autograder.errors import KitError
from autograder.model.files import read_small

_ATTRIBUTE = "db_url"
_LARGEST = 1 << 20  # bytes


def gradebook_address(course: Course, own_address: str) -> str:
    """Return the address of the database that the course's configuration names.

    `own_address` is what the instructor's own Jupyter configuration says, "" when nothing. Raises
    `KitError` when the course's configuration computes the address, or cannot be read.
    """
    named = _named(course.directory / CONFIG)
    return within(course, named or own_address or f"sqlite:///{GRADEBOOK}")


def within(course: Course, address: str) -> str:
    """Return the address, a SQLite file's path as nbgrader takes it: from the course on."""
    memory, file = ("sqlite://", "sqlite:///:memory:"), "sqlite:///"
    if address in memory or not address.startswith(file):
        return address
    path, question, options = address.removeprefix(file).partition("?")
    return f"{file}{course.directory / path}{question}{options}"


def _named(file: Path) -> str:
    """Return the address that a configuration sets in plain text, "" when it sets none."""
    try:
        tree = ast.parse(read_small(file, _LARGEST).decode("utf-8"))
    except FileNotFoundError:
        return ""
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise KitError(
            f"{file.name} is not Python: {error}", place=str(file), cure="correct that file"
        ) from None
    found = ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(map(_is_address, node.targets)):
            if not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):
                raise KitError(
                    f"line {node.lineno} of {file.name} computes where the gradebook is, and a "
                    "course's configuration is run only after its gradebook is found",
                    place=str(file),
                    cure="write the address as plain text; if it holds a password, move that line "
                    f"to {CONFIG} in your own Jupyter configuration (`jupyter --config-dir`)",
                )
            found = node.value.value
    return found


def _is_address(target: ast.expr) -> bool:
    return isinstance(target, ast.Attribute) and target.attr == _ATTRIBUTE
