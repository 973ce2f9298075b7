"""Finds a course's gradebook without running the course's configuration.

`nbgrader_config.py` is a program, and files that students handed in may look like a course. Only
the instructor's real course has a gradebook. So the program is not run unless the gradebook that
it names exists. The instructor's own Jupyter configuration lies elsewhere and may be run.
"""

from __future__ import annotations

import ast
from pathlib import Path

from autograder.course.creation import GRADEBOOK, Course
from autograder.errors import KitError
from autograder.grading.graded_folder import CONFIG
from autograder.model.files import read_small

_ATTRIBUTE = "db_url"
_LARGEST = 1 << 20  # bytes


def gradebook_address(course: Course, own_address: str) -> str:
    """Return the address of the database that the course's configuration names.

    `own_address` is the one in the instructor's own Jupyter configuration, or "". Raise `KitError`
    when the course's configuration computes the address, or cannot be read.
    """
    named = _named(course.directory / CONFIG)
    return within(course, named or own_address or f"sqlite:///{GRADEBOOK}")


def within(course: Course, address: str) -> str:
    """Return the address; like nbgrader, take a SQLite file's path relative to the course."""
    memory, file = ("sqlite://", "sqlite:///:memory:"), "sqlite:///"
    if address in memory or not address.startswith(file):
        return address
    path, question, options = address.removeprefix(file).partition("?")
    return f"{file}{course.directory / path}{question}{options}"


def _named(file: Path) -> str:
    """Return the address that a configuration sets as plain text, or "" when it sets none."""
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
                    f"line {node.lineno} of {file.name} computes the gradebook's address, but a "
                    "course's configuration is run only after its gradebook is found",
                    place=str(file),
                    cure="write the address as a string; if it holds a password, move that line "
                    f"to {CONFIG} in your own Jupyter configuration (`jupyter --config-dir`)",
                )
            found = node.value.value
    return found


def _is_address(target: ast.expr) -> bool:
    return isinstance(target, ast.Attribute) and target.attr == _ATTRIBUTE
