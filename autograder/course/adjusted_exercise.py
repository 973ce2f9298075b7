"""An exercise as a course gives it: the kit's, with the points and the steps of the course.

It is a folder like any other exercise, in the course's `.course/exercises/`, named by a hash of all
that went into it. So whatever reads, builds or judges an exercise needs to know nothing of it.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import json
import keyword
import math
import re
import shutil
import stat
import tempfile
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from autograder.authoring.build import SETUP, Examples, build
from autograder.authoring.stub import NOTEBOOK_ONLY, SCRIPT_ONLY
from autograder.course.adjustment import MOST_POINTS, OWN, OWN_STEPS, STATE, Adjustment
from autograder.errors import KitError
from autograder.grading.journal import exercise_hash
from autograder.submission.cells import PercentCell, percent_cells, top_level
from autograder.values.exercise import (
    CHECK_PREFIX,
    COMPARISONS,
    GRADERS,
    MANIFEST,
    SOLUTION,
    Exercise,
    Step,
    find_exercise,
    note_origin,
    shared_folders,
)
from autograder.values.files import following, read_small

# The code of an instructor's own steps within a file of the kit's exercise.
#
# Both become one file, so that own steps may use what the exercise has. An error still names the
# file that the instructor wrote, and its line (`autograder/values/exercise.py`).

_CELL = "# %%"


@dataclass(frozen=True)
class AddedCode:
    """A file's text with lines of the instructor's file at `origin`: `count` from `first` on.

    Lines count from 1.
    """

    text: str
    origin: Path
    first: int
    count: int

    def write(self, path: Path) -> None:
        """Write the text to `path`, and beside it where the added lines come from."""
        path.write_text(self.text, encoding="utf-8")
        note_origin(path, self.origin, self.first, self.count)


def with_code(text: str, added: str, origin: Path, *, after: int) -> AddedCode:
    """Return the kit's `text` with `added`, which is the text of `origin`, after its line `after`.

    What is added begins a cell of its own. Raises `KitError` when it is not Python, or takes a name
    that the kit's file has for something else.
    """
    _refuse_names(text, added, origin)
    lines, own = text.removesuffix("\n").split("\n"), _without_head(added, origin)
    merged = "\n".join([*lines[:after], _CELL, *own, *lines[after:], ""])
    return AddedCode(merged, origin, after + 2, len(own))


def last_line_about(text: str, line: int) -> int:
    """Return the last line about the step at a line, both from 1: of its cell, or of prose below.

    What stands below, up to the next heading, is about the same step.
    """
    cells = percent_cells(text)
    number = max(number for number, cell in enumerate(cells) if cell.line <= line)
    while number + 1 < len(cells) and _goes_on(cells[number + 1]):
        number += 1
    return cells[number].last


def _goes_on(cell: PercentCell) -> bool:
    return cell.is_prose and not cell.uncommented.lstrip().startswith("#")


def without_cells(text: str, names: Collection[str]) -> str:
    """Return a text without the cells that define `names`, or use them in the notebook only.

    The prose right above each is left out too, its brief and its lesson, and what goes on about it
    below.
    """
    tree, cells = ast.parse(text), percent_cells(text)
    lines = {node.lineno for node in top_level(tree) if node.name in names}
    defines = [any(cell.line < line <= cell.last for line in lines) for cell in cells]
    gone = [each or _uses(cell, names) for each, cell in zip(defines, cells, strict=True)]
    above = [False] * len(cells)
    for number in range(len(cells) - 2, -1, -1):
        brief_goes = above[number + 1] and SCRIPT_ONLY in cells[number + 1].marker
        above[number] = cells[number].is_prose and (gone[number + 1] or brief_goes)
    below = [_goes_on(cell) and over for cell, over in zip(cells, [False, *defines], strict=False)]
    kept = (cell for cell, *out in zip(cells, gone, above, below, strict=True) if not any(out))
    return "".join(f"{cell.marker}\n{cell.text}" if cell.marker else cell.text for cell in kept)


def _uses(cell: PercentCell, names: Collection[str]) -> bool:
    if cell.is_prose or NOTEBOOK_ONLY not in cell.marker:
        return False
    return any(re.search(rf"\b{re.escape(name)}\b", cell.text) for name in names)


def _without_head(added: str, path: Path) -> list[str]:
    """Return the lines; what stands at the head of a file, docstring and __future__, is blank."""
    lines, tree = added.removesuffix("\n").split("\n"), _tree(added, path)
    head = [node for node in tree.body if isinstance(node, ast.ImportFrom) and _is_future(node)]
    if ast.get_docstring(tree, clean=False) is not None:
        head.insert(0, tree.body[0])  # type: ignore[arg-type]
    for node in head:
        for number in range(node.lineno - 1, node.end_lineno or node.lineno):
            lines[number] = ""
    return lines


def _is_future(node: ast.ImportFrom) -> bool:
    return node.module == "__future__"


def _refuse_names(text: str, added: str, path: Path) -> None:
    """Refuse a name that the kit's file has already: the later would take the earlier's place."""
    taken = dict(_names(ast.parse(text)))
    for name, node in _names(_tree(added, path)):
        other = taken.get(name)
        if other is not None and ast.unparse(other) != ast.unparse(node):
            raise KitError(
                f"{name} is the name of something else in the kit's {path.name}",
                place=f"{path}:{node.lineno}",
                cure="give it another name",
            )


def _names(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Give each name that the module binds at its top, with the statement."""
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                for each in names:
                    if not (isinstance(node, ast.ImportFrom) and _is_future(node)):
                        alone = (
                            ast.Import([each])
                            if isinstance(node, ast.Import)
                            else (ast.ImportFrom(node.module, [each], node.level))
                        )
                        bound = each.asname or each.name.partition(".")[0]
                        yield bound, ast.copy_location(alone, node)
            case _:
                for part in ast.walk(node):
                    if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                        yield part.id, node


def _tree(added: str, path: Path) -> ast.Module:
    try:
        return ast.parse(added)
    except SyntaxError as error:
        raise KitError(
            f"{path.name} is not valid Python: {error.msg}",
            place=f"{path}:{error.lineno}" if error.lineno else str(path),
            cure="correct that line",
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise KitError(
            f"{path.name} is nothing that Python can read: {str(error) or 'too deep'}",
            place=str(path),
            cure="write it anew; no sign or line of that kind is needed",
        ) from None


# The files of an instructor's own steps, read as text whatever an editor made of them.

MISCONCEPTIONS = "misconceptions.py"
_LARGEST = 1 << 20  # bytes of a file that an instructor wrote


def own_text(path: Path) -> str:
    """Return the text of a file, with plain line ends and without an editor's mark at its head.

    Raises `KitError` when the file is not there, cannot be read or is not UTF-8.
    """
    try:
        text = read_small(path, _LARGEST).decode("utf-8-sig")
        return text.replace("\r\n", "\n").replace("\r", "\n")
    except FileNotFoundError:
        raise KitError(
            f"steps of your own need a {path.name}",
            place=str(path.parent),
            cure="write it; docs/instructors.md has an example of each file in "
            f"{path.parent.name}/",
        ) from None
    except OSError as error:
        raise KitError(
            f"{path.name} cannot be read: {error.strerror}",
            place=str(path),
            cure="make sure that you may read it",
        ) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise KitError(
            f"{path.name} is not UTF-8: {error.reason}",
            place=f"{path}:{line}",
            cure="save it as UTF-8",
        ) from None


def digests(own: Path) -> list[tuple[str, str]]:
    """Return the files that are there and used, each with a hash of its text.

    What else is in the folder, such as the checkpoints of JupyterLab, is nobody's business.
    """
    names = (OWN_STEPS, SOLUTION, GRADERS, MISCONCEPTIONS)
    there = [own / name for name in names if (own / name).exists()]
    return [(file.name, hashlib.sha256(own_text(file).encode()).hexdigest()) for file in there]


# `steps.toml`, the list of an instructor's own steps: read, and wrong entries told in words.

STEPS, GRADING = "steps", "grading"
OF_SIZES = ("sizes", "public_sizes", "without")  # tables of [grading] in which steps need a line
_CURE = "write, below [[steps]]: name, title and points, and if you like hints and minutes"
_LONGEST_NAME = 50  # characters; a notebook gives 64 to the name of a cell


def read_own_steps(kit: Exercise, own: Path) -> dict[str, Any]:
    """Return what `steps.toml` says, with hints and minutes where the instructor wrote none.

    Raises `KitError` that says which entry cannot be used.
    """
    path = own / OWN_STEPS
    try:
        facts = tomllib.loads(own_text(path))
        steps = _steps(facts)
        _refuse_grading(kit, facts.get(GRADING, {}))
    except tomllib.TOMLDecodeError as error:
        raise KitError(
            f"{OWN_STEPS} cannot be used: it is not valid TOML: {error}",
            place=str(path),
            cure="correct that line",
        ) from None
    except ValueError as error:
        fact = f"{OWN_STEPS} cannot be used: {error}"
        raise KitError(fact, place=str(path), cure=_CURE) from None
    _refuse_names_used_twice(kit, [step["name"] for step in steps], path)
    return {**facts, STEPS: steps}


def _steps(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    _refuse_others(facts, (STEPS, GRADING), "the file")
    steps = facts.get(STEPS)
    if not isinstance(steps, list) or not steps or not all(isinstance(at, dict) for at in steps):
        raise ValueError("it has no [[steps]]")
    whole = [{"minutes": 10, "hints": [], **step} for step in steps]
    for number, step in enumerate(whole, 1):
        name = step.get("name")
        _refuse_entries(step, f"step {name}" if isinstance(name, str) else f"step {number}")
    return whole


def _refuse_entries(step: Mapping[str, Any], who: str) -> None:
    """Raise ValueError for a field that is missing, unknown, or of another kind."""
    for field in _FIELDS:
        if field not in step and field != "compare":
            raise ValueError(f"{who} has no {field}")
    _refuse_others(step, tuple(_FIELDS), who)
    for field, (fits, wanted) in _FIELDS.items():
        if field in step and not fits(step[field]):
            raise ValueError(f"the {field} of {who}: {step[field]!r} is not {wanted}")


def _refuse_others(table: Mapping[str, Any], known: Sequence[str], who: str) -> None:
    for key in table:
        if key not in known:
            raise ValueError(f"{who} has `{key}`; there may be: {', '.join(known)}")


def _refuse_grading(kit: Exercise, grading: object) -> None:
    """Raise ValueError for tables that cannot be used, and for other sizes of the kit's axes."""
    if not isinstance(grading, dict):
        raise ValueError("[grading] is not a table")
    _refuse_others(grading, OF_SIZES, "[grading]")
    for name, table in grading.items():
        if not isinstance(table, dict):
            raise ValueError(f"[grading.{name}] is not a table")
        there = getattr(kit.grading, name)
        for key, value in table.items():
            if key in there and there[key] != value:
                raise ValueError(f"[grading.{name}] has {key}, as the kit's exercise has")


def _refuse_names_used_twice(kit: Exercise, names: Sequence[str], path: Path) -> None:
    for name in names:
        if names.count(name) > 1 or name in [step.name for step in kit.steps]:
            raise KitError(
                f"there are two steps with the name {name}",
                place=str(path),
                cure="give your step another name; the kit's own are: "
                + ", ".join(step.name for step in kit.steps),
            )


def _is_name(value: object) -> bool:
    """Whether a function and cells of the notebook can have that name, without any harm."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", value):
        return False
    taken = keyword.iskeyword(value) or hasattr(builtins, value) or value == SETUP
    return not (taken or value.startswith(CHECK_PREFIX) or len(value) > _LONGEST_NAME)


def _is_line(value: object) -> bool:
    return isinstance(value, str) and value.isprintable() and bool(value.strip())


def _are_points(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and 0 <= value <= MOST_POINTS


def _are_minutes(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


_FIELDS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "name": (
        _is_name,
        "a name that a step can have: plain letters, digits and _, such as attention_entropy; "
        "not Python's own names, and none like check_softmax or setup",
    ),
    "title": (_is_line, "a line of text"),
    "points": (_are_points, f"a number from 0 (a bonus) to {MOST_POINTS:g}"),
    "minutes": (_are_minutes, "a whole number"),
    "hints": (_are_texts, 'a list of texts, such as ["What is it for one token?"]'),
    "compare": (COMPARISONS.__contains__, f"one of: {', '.join(COMPARISONS)}"),
}

ADJUSTED = Path(STATE) / "exercises"
SOLUTIONS, ASSIGNMENTS = "solutions", "assignments"
_NOT_COPIED = shutil.ignore_patterns("__pycache__", ".*")


def adjusted_solutions(course: Path, solutions: Path, name: str, changes: Adjustment) -> Path:
    """Return the folder of the exercise `name` as the course gives it; make it if it is not there.

    Raises `KitError` when the changes do not fit the exercise or cannot be written.
    """
    kit = find_exercise(name, solutions)
    target = course / ADJUSTED / _digest(kit.folder, changes)
    _made(target / SOLUTIONS, lambda part: _write(kit, changes, part))
    return target / SOLUTIONS / name


def adjusted_assignments(solution: Path, changes: Adjustment, examples: Examples) -> Path:
    """Return the folder with what students get of an exercise that `adjusted_solutions` made.

    Raises `KitError` when it cannot be built, such as when a line of a solution would be given out.
    """
    target = solution.parent.parent / ASSIGNMENTS

    def write(part: Path) -> None:
        with _as_given(solution, changes) as given:
            build(given, part, examples, whole=solution)

    _made(target, write)
    return target / solution.name


def remove_others(course: Path, used: Collection[Path]) -> None:
    """Remove the exercises as the course gave them before; `used` are their folders of today."""
    kept = {solution.parent.parent for solution in used}
    for folder in (course / ADJUSTED).glob("*"):
        if folder not in kept:  # nothing reads it, so one that cannot be removed is no harm
            shutil.rmtree(folder, ignore_errors=True)


def _made(target: Path, write: Callable[[Path], None]) -> None:
    """Make a folder whole or not at all, if it is not there."""
    if target.is_dir():
        return
    there = next(folder for folder in target.parents if folder.is_dir())
    try:
        with following(there):
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".part-", dir=target.parent) as part:
                made = Path(part) / target.name
                made.mkdir()
                write(made)
                _forget_modes(made)
                try:
                    made.rename(target)
                except OSError:
                    if not target.is_dir():  # if it is, another command was faster
                        raise
    except OSError as error:
        raise KitError(
            f"the exercise cannot be written as this course gives it: {error.strerror}",
            place=str(target),
            cure="make sure that the disk has room and that you may write to the course",
        ) from error


def _forget_modes(made: Path) -> None:
    """Give what was copied the mode of the new folder: other instructors remove it one day."""
    mode = stat.S_IMODE(made.stat().st_mode)
    for path in made.rglob("*"):
        path.chmod(mode if path.is_dir() else mode & 0o666)


def _digest(folder: Path, changes: Adjustment) -> str:
    """Return a short hash of all that the exercise is made from, and by."""
    files = digests(changes.own) if changes.own else []
    facts = [exercise_hash(folder), changes.facts, str(changes.own), files]
    return hashlib.sha256(json.dumps(facts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _write(kit: Exercise, changes: Adjustment, target: Path) -> None:
    for folder in (kit.folder, *shared_folders(kit.folder)):
        shutil.copytree(folder, target / folder.name, ignore=_NOT_COPIED)
    made = target / kit.name
    facts = tomllib.loads((made / MANIFEST).read_text(encoding="utf-8"))
    _adjust_steps(kit, changes, facts)
    if changes.own:
        own = read_own_steps(kit, changes.own)
        facts["steps"] += own["steps"]
        for table in OF_SIZES:
            there = facts["grading"].setdefault(table, {})
            there |= {**own.get("grading", {}).get(table, {}), **there}
        _add_code(kit, changes.own, made)
        note_origin(made / MANIFEST, changes.own / OWN_STEPS)
    (made / MANIFEST).write_text(tomli_w.dumps(facts), encoding="utf-8")


def _adjust_steps(kit: Exercise, changes: Adjustment, facts: dict[str, Any]) -> None:
    for name in (*changes.points, *changes.left_out):
        step = _step_of_kit(kit, name)
        if name in changes.left_out and step.points:
            raise KitError(
                f"the step {name} cannot be left out: it gives points, and other steps may need it",
                place=f"attn.toml, [points.{kit.name}]",
                cure="leave out a bonus step only; to count a step less, give it fewer points",
            )
    facts["steps"] = [
        {**step, "points": changes.points.get(step["name"], step["points"])}
        for step in facts["steps"]
        if step["name"] not in changes.left_out
    ]
    if changes.left_out:
        facts["grading"]["left_out"] = list(changes.left_out)
        facts["trainings"] = [
            each for each in facts.get("trainings", ()) if each["layer"] not in changes.left_out
        ]


def _step_of_kit(kit: Exercise, name: str) -> Step:
    """Return the step of which `attn.toml` says something; raise `KitError` if there is none."""
    for step in kit.steps:
        if step.name == name:
            return step
    raise KitError(
        f"there is no step {name!r} in the kit's {kit.name}",
        place=f"attn.toml, [points.{kit.name}]",
        cure=f"use one of: {', '.join(step.name for step in kit.steps)}; the points of a step of "
        f"your own stand in {OWN}/{kit.name}/{OWN_STEPS}",
    )


def _add_code(kit: Exercise, own: Path, made: Path) -> None:
    """Put the instructor's code into the solution, below the last step, and at the others' ends."""
    for name in (SOLUTION, GRADERS, MISCONCEPTIONS):
        path = own / name
        if name == MISCONCEPTIONS and not path.is_file():
            continue
        added = own_text(path)
        text = (made / name).read_text(encoding="utf-8")
        after = _end_of_steps(kit, text) if name == SOLUTION else text.count("\n")
        with_code(text, added, path, after=after).write(made / name)


def _end_of_steps(kit: Exercise, text: str) -> int:
    """Return the last line of the cell with the last step; below it, the notebook only shows."""
    last = {node.name: node for node in top_level(ast.parse(text))}[kit.steps[-1].name]
    return last_line_about(text, last.lineno)


@contextmanager
def _as_given(solution: Path, changes: Adjustment) -> Iterator[Path]:
    """Give a copy of the exercise's folder without the code and the text of what is left out."""
    if not changes.left_out:
        yield solution
        return
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / SOLUTIONS
        shutil.copytree(solution.parent, root)
        path = root / solution.name / SOLUTION
        text = path.read_text(encoding="utf-8")
        path.write_text(without_cells(text, changes.left_out), encoding="utf-8")
        yield root / solution.name
