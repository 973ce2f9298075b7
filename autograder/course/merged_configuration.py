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


def merge_configuration(
    made: str | None, course: str, now: str, *, replace: bool = False
) -> MergedConfiguration:
    """Return the text `course` with the changes of the kit from `made` to `now`.

    Without `made`, nobody knows which values are the instructor's: those that differ stay, unless
    `replace` says otherwise. Entries that a dictionary of the kit's lacks are added in any case.
    Raise `KitError` when `course` is not Python.
    """
    then = {part.name: part for part in _parts(made)} if made is not None else {}
    there = {part.name: part for part in _parts(course)}
    wanted = _parts(now)
    changes, kept = [], []
    edits: list[_Edit] = []
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
        own = replace and part.name != KEPT
        lines = part.lines if own or (before and mine.value == before.value) else None
        lines = lines or _with_entries(mine, before, part)
        if lines:
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


# From which line to which (not included), counted from 0, and what stands there instead.
_Edit = tuple[int, int, tuple[str, ...]]


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


def _with_entries(
    mine: ConfigurationPart, before: ConfigurationPart | None, wanted: ConfigurationPart
) -> tuple[str, ...]:
    """Return the setting with the kit's entries that it lacks; nothing when it lacks none.

    An entry that the kit had written before has been taken out by the instructor. Nothing, too,
    when a value is not a plain dictionary: then nobody knows what it has.
    """
    own, kits = _dictionary(mine), _dictionary(wanted)
    had = (_dictionary(before) if before else None) or {}
    if own is None or kits is None:
        return ()
    new = {name: value for name, value in kits.items() if name not in own and name not in had}
    entries = (f"    {name!r}: {value!r}," for name, value in (own | new).items())
    return (f"{mine.name} = {{", *entries, "}") if new else ()


def _dictionary(part: ConfigurationPart) -> dict[object, object] | None:
    node = ast.parse("\n".join(part.lines)).body[0]
    try:
        value = ast.literal_eval(node.value) if isinstance(node, ast.Assign) else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _edited(text: str, edits: list[_Edit]) -> str:
    """Replace lines, the last ones first; what is added at one place stays in its order."""
    lines = text.split("\n")
    for start, end, new in reversed(sorted(edits, key=lambda edit: edit[:2])):
        lines[start:end] = new
    return "\n".join(lines)
