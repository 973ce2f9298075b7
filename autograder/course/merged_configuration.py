"""A course's `nbgrader_config.py` with what a newer kit sets; the instructor's own lines stay.

The file is taken statement by statement. What the kit has set and nobody has changed is brought up
to date, what is missing is added where the kit has it, and everything else stays as it is.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from autograder.errors import KitError
from autograder.grading.graded_folder import CONFIG

KEPT = "c.Autograde.exclude_overwriting"  # has an entry for each exercise
COURSE_ID = "c.CourseDirectory.course_id"


@dataclass(frozen=True)
class ConfigurationPart:
    """A statement of a configuration: what it sets, its value, and its lines.

    `comments` are the lines above it that belong to nothing else; `first` is the number of the
    statement's own first line, counted from 0.
    """

    name: str
    value: str
    lines: tuple[str, ...]
    comments: tuple[str, ...]
    first: int

    @property
    def end(self) -> int:
        """The number of the line after the statement."""
        return self.first + len(self.lines)


@dataclass(frozen=True)
class MergedConfiguration:
    """The text, what has changed in it, and which settings of the instructor's have stayed."""

    text: str
    changes: tuple[str, ...]
    kept: tuple[str, ...]


def merge_configuration(made: str | None, course: str, now: str) -> MergedConfiguration:
    """Return the text `course` with the changes of the kit from `made` to `now`.

    Without `made`, nobody knows which values are the instructor's: those that differ stay. Raise
    `KitError` when `course` is not Python.
    """
    then = {part.name: part for part in _parts(made)} if made is not None else {}
    there = {part.name: part for part in _parts(course)}
    wanted = _parts(now)
    changes, kept = [], []
    edits: list[tuple[int, int, tuple[str, ...]]] = []  # from line, to line, new lines
    behind = 0
    for part in wanted:
        mine, before = there.get(part.name), then.get(part.name)
        if mine is None:
            if before is None:
                edits.append((behind, behind, (*part.comments, *part.lines)))
                changes.append(f"{part.name} is missing")
            continue
        behind = max(behind, mine.end)
        if mine.value == part.value or part.name == COURSE_ID:
            continue
        lines = _with_entries(mine, part) if part.name == KEPT else None
        if lines is None and before is not None and mine.value == before.value:
            lines = part.lines
        if lines is not None:
            edits.append((mine.first, mine.end, lines))
            changes.append(f"{part.name} has changed")
        elif part.name != KEPT and (before is None or before.value != part.value):
            kept.append(f"{part.name} differs from the kit's; yours stays, if it is yours")
    names = {part.name for part in wanted}
    for name, before in then.items():
        if name not in names and name in there and there[name].value == before.value:
            edits.append((there[name].first, there[name].end, ()))
            changes.append(f"{name} is no longer needed")
    return MergedConfiguration(_edited(course, edits), tuple(changes), tuple(kept))


def _parts(text: str) -> list[ConfigurationPart]:
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise KitError(
            f"{CONFIG} is not Python: {error}", place=CONFIG, cure="correct that file"
        ) from None
    lines, behind, found = text.split("\n"), 0, []
    for node in body:
        first, end = node.lineno - 1, node.end_lineno or node.lineno
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            name, value = ast.unparse(node.targets[0]), ast.dump(node.value)
        else:
            name = value = ast.unparse(node)
        if not is_text:
            comments = tuple(lines[behind:first])
            found.append(ConfigurationPart(name, value, tuple(lines[first:end]), comments, first))
        behind = max(behind, end)
    return found


def _with_entries(mine: ConfigurationPart, wanted: ConfigurationPart) -> tuple[str, ...] | None:
    """Return the setting with the kit's entries that it lacks; None when it lacks none.

    Also None when its value is not a plain dictionary: then nobody knows what it has.
    """
    values = []
    for part in (mine, wanted):
        node = ast.parse("\n".join(part.lines)).body[0]
        assert isinstance(node, ast.Assign)
        try:
            values.append(ast.literal_eval(node.value))
        except ValueError:
            return None
    own, kits = values
    if not isinstance(own, dict) or all(name in own for name in kits):
        return None
    entries = (f"    {name!r}: {files!r}," for name, files in {**kits, **own}.items())
    return (f"{KEPT} = {{", *entries, "}")


def _edited(text: str, edits: list[tuple[int, int, tuple[str, ...]]]) -> str:
    """Replace lines, the last ones first; what is added at one place stays in its order."""
    lines = text.split("\n")
    for start, end, new in reversed(sorted(edits, key=lambda edit: edit[:2])):
        lines[start:end] = new
    return "\n".join(lines)
