"""Next term's course: what an instructor has made of this one, and nobody who was in it."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tomli_w

from autograder.course.adjustment import OWN
from autograder.course.creation import NOT_COPIED, Course
from autograder.course.kit_copy import LARGEST_FILE, MADE, STATE
from autograder.course.settings import gradebook_address, within
from autograder.errors import KitError
from autograder.grading.class_task import CONFIG, FACTS
from autograder.model.files import following, read_small, write_whole

# Only what is listed goes along: whatever else lies in a course may be about its students.
_FOLDERS = ("source", OWN, str(MADE))
_UNFINISHED = ".part"
# What nbgrader and the kit make of hand-ins, and anew.
_OF_THIS_TERM = (
    *("release", "submitted", "autograded", "feedback", "graded", "downloaded", "gradebook.db"),
    STATE,
)
_FOR_ONE_TERM = ("course_id", "db_url", "CourseDirectory.root")


@dataclass(frozen=True)
class CourseCopy:
    """The course that was made, which of its settings are others, and what stayed behind."""

    directory: Path
    changed: tuple[str, ...]
    left: tuple[str, ...]


def copy_course(course: Course, target: Path) -> CourseCopy:
    """Make `target` the course of another term, without people, marks and hand-ins.

    Raise `KitError`, before anything is written, when there is something at `target`, or a setting
    would lead back to this term.
    """
    if target.exists():
        raise KitError(
            "there is something already", place=str(target), cure="name a folder that is not there"
        )
    gradebook_address(course, "")  # one that is computed could be that of this term
    part = target.with_name(f"{target.name}{_UNFINISHED}")
    shutil.rmtree(part, ignore_errors=True)
    part.parent.mkdir(parents=True, exist_ok=True)
    try:
        part.mkdir()
        with following(part):
            changed = tuple(_fill(course, part, target))
        os.rename(part, target)
    except OSError as error:
        raise KitError(
            f"the copy cannot be written: {error.strerror}",
            place=str(target),
            cure="name a folder that you may write to, on a disk with free space",
        ) from error
    taken = {Path(name).parts[0] for name in (*_FOLDERS, CONFIG, FACTS)}
    left = sorted(
        path.name
        for path in course.directory.iterdir()
        if path.name not in taken and path.name not in _OF_THIS_TERM and path.name[0] != "."
    )
    return CourseCopy(target, changed, tuple(left))


def _fill(course: Course, part: Path, target: Path) -> Iterator[str]:
    for name in _FOLDERS:
        if (course.directory / name).is_dir():
            shutil.copytree(course.directory / name, part / name, ignore=NOT_COPIED, symlinks=True)
    text = _text(course, CONFIG)
    if text is not None:
        text, changed = _for_another_term(text, course, target)
        write_whole(part / CONFIG, text)
        yield from changed
    write_whole(part / FACTS, _facts(course, target))


def _text(course: Course, name: str) -> str | None:
    try:
        return read_small(course.directory / name, LARGEST_FILE).decode("utf-8")
    except FileNotFoundError:
        return None


def _for_another_term(text: str, course: Course, target: Path) -> tuple[str, list[str]]:
    """Return the configuration with another name for the course, and without this gradebook."""
    lines, said = text.split("\n"), []
    for node in reversed(ast.parse(text).body):
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute)):
            continue
        name, value = node.targets[0].attr, ast.unparse(node.value)
        named = ast.unparse(node.targets[0]).endswith(tuple(f".{each}" for each in _FOR_ONE_TERM))
        if not named or (name == "db_url" and _inside(course, node.value)):
            continue
        where = slice(node.lineno - 1, node.end_lineno)
        if name == "course_id":
            new = json.dumps(re.sub(r"[^\w-]+", "-", target.name).strip("-") or "next-term")
            lines[where] = [f"{ast.unparse(node.targets[0])} = {new}"]
            said.append(f"{CONFIG}: the course is called {new} in the exchange, before {value}")
        else:
            lines[where] = [f"# of the term before: {line}" for line in lines[where]]
            said.append(f"{CONFIG}: {name} is of the term before, and taken out")
    return "\n".join(lines), said[::-1]


def _inside(course: Course, value: ast.expr) -> bool:
    """Whether a gradebook is a file in the course: the copy then makes one of its own."""
    address = str(ast.literal_eval(value))
    file = within(course, address).removeprefix("sqlite:///")
    return not Path(address.removeprefix("sqlite:///")).is_absolute() and Path(
        os.path.normpath(file)
    ).is_relative_to(course.directory)


def _facts(course: Course, target: Path) -> str:
    """Return `attn.toml` with the way from the copy to the solutions."""
    text = _text(course, FACTS) or ""
    named = Path(str(tomllib.loads(text)["solutions"]))
    if named.is_absolute():
        return text
    way = Path(os.path.relpath(course.solutions, target.resolve())).as_posix()
    line = tomli_w.dumps({"solutions": way}).strip()
    return re.sub(r"(?m)^solutions[ \t]*=.*$", lambda _: line, text, count=1)
