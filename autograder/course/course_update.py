"""What a newer kit, or a changed exercise, changes in a course; shown first, then done."""

from __future__ import annotations

import ast
import copy
import json
import os
import re
import sqlite3
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path

import tomli_w
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.exchange import ExchangeFactory
from nbgrader.exchange.default import Exchange, ExchangeReleaseAssignment
from nbgrader.preprocessors import ClearHiddenTests, ClearMarkScheme
from sqlalchemy.exc import DBAPIError
from traitlets.config import Config

from autograder.authoring.build import Examples
from autograder.course.adjusted_exercise import remove_others
from autograder.course.adjustment import (
    LARGEST_FILE,
    MADE,
    PendingUpdate,
    configuration_copy,
    file_digest,
    read_configuration,
    read_notebook,
    read_own_configuration,
    write_down,
)
from autograder.course.creation import (
    BESIDE,
    BESIDE_OTHERS,
    LARGEST_FACTS,
    Course,
    course_configuration,
    notebook_name,
)
from autograder.course.exercise_update import ExerciseUpdate, exercise_update, new_exercise
from autograder.course.gradebook import (
    entered_cells,
    fit_cells,
    notebook_cells,
    removed_grades,
)
from autograder.course.preprocessors import KeepStubs
from autograder.course.settings import (
    UnknownAssignment,
    course_directory,
    gradebook_file,
    open_gradebook,
    read_settings,
    within,
)
from autograder.errors import KitError
from autograder.grading.class_task import CONFIG, FACTS
from autograder.submission.syntax_tree import is_text
from autograder.values.files import read_small, write_whole

# The list of exercises in `attn.toml`, to which some are added; every other line stays.

_LIST = re.compile(r"^exercises[ \t]*=[ \t]*\[", re.MULTILINE)


def with_exercises(text: str, exercises: tuple[str, ...], place: Path) -> str:
    """Return the text of `attn.toml` with this list of exercises.

    Raise `KitError`, with the line to write, when the list cannot be found in it.
    """
    wanted = tomllib.loads(text) | {"exercises": list(exercises)}
    line = tomli_w.dumps({"exercises": list(exercises)}).strip()
    for found in _LIST.finditer(text):
        for end in re.finditer(r"\]", text[found.end() :]):
            candidate = text[: found.start()] + line + text[found.end() + end.end() :]
            if _facts(candidate) == wanted:
                return candidate
    raise KitError(
        f"the list of exercises cannot be found in {place.name}",
        place=str(place),
        cure=f"write it as {' '.join(line.split())}, at the beginning of a line",
    )


def _facts(text: str) -> dict[str, object] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


# A course's `nbgrader_config.py` with what a newer kit sets; the instructor's own lines stay.
#
# The file is taken statement by statement. What the kit has set and nobody has changed is brought
# up to date, what is missing is added where the kit has it, and everything else stays as it is.

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
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            name, value = ast.unparse(node.targets[0]), ast.dump(node.value)
        else:
            name = value = ast.unparse(node)
        if not is_text(node):
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


# Whether release, gradebook and exchange are those of the notebook in `source/`.
#
# Students get what is in the exchange: nbgrader copies it there from `release/`, and only when it
# is told to.

_FACTS = ("grade_id", "grade", "solution", "task", "points")


@dataclass(frozen=True)
class ReleaseState:
    """How an exercise's release differs from its source, in words; nothing where it does not.

    released: whether it has been released at all. refused: whether `nbgrader generate_assignment`
    would stop, since somebody has been graded and the cells are others. in_exchange: whether
    students can fetch it, None where there is no exchange; exchange: how that differs from release.
    """

    released: bool
    differences: tuple[str, ...] = ()
    gradebook: tuple[str, ...] = ()
    refused: bool = False
    in_exchange: bool | None = None
    exchange: tuple[str, ...] = ()


def release_state(course: Course, exercise: str, source: NotebookNode) -> ReleaseState:
    """Compare the release of an exercise, and the gradebook, with the notebook `source`.

    Raise `KitError` when the gradebook cannot be used or a file of the course is damaged.
    """
    try:
        settings = read_settings(course)
        with open_gradebook(course, settings, exercise) as (_, book):
            there, wanted = entered_cells(book), notebook_cells(source)
            refused = bool(book.submissions) and not there.same_names(wanted)
    except UnknownAssignment:
        return ReleaseState(False)
    # A release that nbgrader refuses is removed all the same.
    words: tuple[str, ...] = ("its notebook is missing",)
    if (course.release(exercise) / notebook_name(exercise)).is_file():
        words = _notebook(course, exercise, source, settings) + _files(course, exercise)
    outbound = handed_out(course, settings)
    fetched = outbound / exercise if outbound else None
    there_too = None if fetched is None else fetched.is_dir()
    behind = _exchange(course, exercise, fetched, settings) if fetched and there_too else ()
    return ReleaseState(True, words, there.words(wanted), refused, there_too, behind)


def handed_out(course: Course, settings: Config) -> Path | None:
    """Return where students fetch the course's assignments; None without an exchange of nbgrader's.

    There is none where its folder is missing, or the course has no name in it.
    """
    directory, factory = course_directory(course, settings), ExchangeFactory(config=settings)
    if not directory.course_id or not issubclass(factory.release_assignment, Exchange):
        return None
    root = Path(ExchangeReleaseAssignment(coursedir=directory, config=settings).root)
    readable = os.access(root, os.R_OK | os.X_OK) and root.is_dir()
    return root / directory.course_id / "outbound" if readable else None


def _exchange(course: Course, exercise: str, fetched: Path, settings: Config) -> tuple[str, ...]:
    """Say how what students can fetch differs from `release/`, which nbgrader copies."""
    ignored = course_directory(course, settings).ignore

    def is_copied(path: Path) -> bool:
        return not any(fnmatch(part, each) for part in path.parts for each in ignored)

    released, there = (_below(each, is_copied) for each in (course.release(exercise), fetched))
    gone = (f"{name} is no longer in the release" for name in there if name not in released)
    return (*_compared(released, there, "is not the one in the release"), *gone)


def _below(folder: Path, is_meant: Callable[[Path], bool]) -> dict[str, Path]:
    """Return the files in a folder that are meant, by their path in it."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    inside = {path.relative_to(folder): path for path in files}
    return {name.as_posix(): path for name, path in inside.items() if is_meant(name)}


def _compared(
    wanted: Mapping[str, Path], there: Mapping[str, Path], differs: str
) -> tuple[str, ...]:
    """Say which of the files that are wanted are not there, and which are others."""
    missing = (f"{name} is not in it" for name in wanted if name not in there)
    both = ((name, path, there[name]) for name, path in wanted.items() if name in there)
    return (
        *missing,
        *(f"{name} {differs}" for name, a, b in both if file_digest(a) != file_digest(b)),
    )


def _notebook(
    course: Course, exercise: str, source: NotebookNode, settings: Config
) -> tuple[str, ...]:
    path = course.release(exercise) / notebook_name(exercise)
    released = read_notebook(read_small(path, LARGEST_FILE), path)
    wanted = _cells(_cleared(source, settings, course.source(exercise)))
    there = _cells(released)
    count = sum(cell not in there for cell in wanted) or sum(cell not in wanted for cell in there)
    if not count:
        return () if there == wanted else ("its cells are in another order",)
    return (f"{count} of its cells differ" if count > 1 else "one of its cells differs",)


def _cleared(source: NotebookNode, settings: Config, place: Path) -> NotebookNode:
    """Return what students would get of a notebook: without solutions and hidden tests."""
    result = copy.deepcopy(source)
    try:
        for preprocessor in (KeepStubs, ClearHiddenTests, ClearMarkScheme):
            result, _ = preprocessor(config=settings).preprocess(result, ResourcesDict())
    except Exception as error:  # nbgrader raises several for a region that has no end
        raise KitError(
            f"nbgrader cannot release this notebook: {error}",
            place=str(place),
            cure="correct the cell that it names",
        ) from None
    return result


def _cells(notebook: NotebookNode) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for cell in notebook.cells:
        facts = cell.metadata.get("nbgrader", {})
        found.append((cell.cell_type, cell.source, *(facts.get(name) for name in _FACTS)))
    return found


def _files(course: Course, exercise: str) -> tuple[str, ...]:
    source, release = course.source(exercise), course.release(exercise)
    return _compared(_below(source, _is_shown), _below(release, _is_shown), "differs")


def _is_shown(path: Path) -> bool:
    hidden = any(part.startswith(".") or part == "__pycache__" for part in path.parts)
    return path.suffix not in (".ipynb", ".pyc") and not hidden


@dataclass(frozen=True)
class CourseUpdate:
    """All that an update changes in a course.

    states: of each exercise that is there, how its release differs from what will be its source.
    configuration_noted: whether the kit has noted which configuration it wrote.
    """

    course: Course
    exercises: tuple[ExerciseUpdate, ...]
    configuration: MergedConfiguration
    states: Mapping[str, ReleaseState]
    facts: str
    configuration_noted: bool

    @property
    def stale(self) -> bool:
        """Whether anything is to be written; a release that is behind does not count."""
        return (
            bool(self.configuration.changes or self.configuration.kept)
            or not self.configuration_noted
            or any(each.stale for each in self.exercises)
            or any(state.refused for state in self.states.values())
        )

    @property
    def release_again(self) -> tuple[str, ...]:
        """The exercises that have a release which then differs from the source."""
        return tuple(
            name
            for name, state in self.states.items()
            if state.released and (state.differences or state.gradebook)
        )

    def hand_out_again(self, name: str) -> bool:
        """Whether what students fetch differs, or will, from the release."""
        state = self.states.get(name)
        return bool(state and state.in_exchange and (state.exchange or name in self.release_again))

    @property
    def files(self) -> dict[Path, bytes]:
        """What is written, by the path relative to the course; the list of exercises comes last."""
        found: dict[Path, bytes] = {}
        for each in self.exercises:
            found |= each.files
        found[Path(CONFIG)] = self.configuration.text.encode("utf-8")
        for each in self.exercises:
            found |= each.notes
        names = tuple(each.name for each in self.exercises)
        found |= configuration_copy(course_configuration(self.course, names))
        found[Path(FACTS)] = self.facts.encode("utf-8")
        return {path: text for path, text in found.items() if not self._there(path, text)}

    def _there(self, path: Path, content: bytes) -> bool:
        try:
            return read_small(self.course.directory / path, LARGEST_FILE) == content
        except FileNotFoundError:
            return False


def plan_update(
    course: Course,
    assignments: Path,
    examples: Examples,
    added: Sequence[str] = (),
    *,
    replace: bool = False,
) -> CourseUpdate:
    """Find out what an update changes, and change nothing.

    examples: makes the worked examples of an exercise that the course changes. added: exercises
    that the course gets. replace: also give the instructor's words in the kit's cells and files up.
    Raise `KitError` when an exercise is not known or not built, or when the course is damaged.
    """
    new = tuple(dict.fromkeys(name for name in added if name not in course.exercises))
    there = [
        exercise_update(course, assignments, name, examples, replace=replace)
        for name in course.exercises
    ]
    states = {each.name: _state(course, each) for each in there}
    updates = (*there, *(new_exercise(course, assignments, name, examples) for name in new))
    names = (*course.exercises, *new)
    made = read_configuration(course.directory)
    text = read_own_configuration(course.directory)
    if text is None and not course.adopted:
        raise KitError(
            f"the course has no {CONFIG}",
            place=str(course.directory),
            cure=f"put that file back; {MADE / CONFIG} there is as the kit has written it",
        )
    text = text or ""
    if course.adopted:  # without these lines, nbgrader itself would run what students wrote
        lines = ("the kit's lines are missing",) if BESIDE not in text else ()
        configuration = MergedConfiguration(text + BESIDE_OTHERS if lines else text, lines, ())
    else:
        configuration = merge_configuration(
            made, text, course_configuration(course, names), replace=replace
        )
    place = course.directory / FACTS
    facts = read_small(place, LARGEST_FACTS).decode("utf-8")
    if new:
        facts = with_exercises(facts, names, place)
    return CourseUpdate(course, updates, configuration, states, facts, made is not None)


def note_what_the_kit_wrote(update: CourseUpdate) -> None:
    """Note it anew where nothing else changes: what judges may have changed since it was noted."""
    for path, content in update.files.items():
        write_whole(update.course.directory / path, content.decode("utf-8"))
    _tidy(update.course)


def do_update(update: CourseUpdate) -> Path | None:
    """Do what was planned; return the folder with what was there before, None without a change."""
    files = update.files
    refused = [name for name, state in update.states.items() if state.refused]
    if not files and not refused:
        return None
    course = update.course
    sources = {each.name: each for each in update.exercises}

    def save_more(folder: Path) -> None:
        for name in refused:
            _save_gradebook(course, sources[name], folder)

    pending = write_down(course.directory, files, refused, save_more)
    finish_update(course, pending)
    _tidy(course)
    return pending.backup


def finish_update(course: Course, pending: PendingUpdate) -> None:
    """Put an update in place that is written down, from wherever an earlier run was stopped."""
    pending.put_in_place()
    for name in pending.exercises:
        path = course.source(name) / notebook_name(name)
        notebook = read_notebook(read_small(path, LARGEST_FILE), path)
        with open_gradebook(course, read_settings(course), name) as (gradebook, book):
            try:
                fit_cells(gradebook.db, book, notebook)
            except DBAPIError as error:
                gradebook.db.rollback()
                raise KitError(
                    f"the gradebook's cells cannot be changed: {error.orig}",
                    place=str(course.directory),
                    cure="make sure that nothing else has the gradebook open and that you may "
                    "write to it; then run `attn course update` again: it goes on from here",
                ) from error
    pending.finish()


def _tidy(course: Course) -> None:
    """Remove exercises as the course gave them before."""
    remove_others(course.directory, [course.solution(name) for name in course.adjustments])


def _state(course: Course, update: ExerciseUpdate) -> ReleaseState:
    """Compare the release with what will be the source, files that will be written included."""
    state = release_state(course, update.name, update.notebook)
    if not state.released or state.differences or not update.files:
        return state
    return replace(state, differences=("files beside the notebook differ",))


def _save_gradebook(course: Course, update: ExerciseUpdate, folder: Path) -> None:
    """Copy the gradebook if it is a file, and in any case the grades that will be removed."""
    settings = read_settings(course)
    with open_gradebook(course, settings, update.name) as (gradebook, book):
        rows = removed_grades(gradebook.db, book, update.notebook)
    text = json.dumps(rows, indent=2, ensure_ascii=False)
    (folder / f"removed-grades-{update.name}.json").write_text(text, encoding="utf-8")
    file = gradebook_file(within(course, course_directory(course, settings).db_url))
    if file and not (folder / "gradebook.db").exists():
        try:
            with (
                closing(sqlite3.connect(file)) as there,
                closing(sqlite3.connect(folder / "gradebook.db")) as copy,
            ):
                there.backup(copy)
        except sqlite3.Error as error:
            raise KitError(
                f"the gradebook cannot be copied before it is changed: {error}",
                place=str(folder),
                cure="make sure that nothing else has the gradebook open and that the disk has "
                "room; then run the same command again",
            ) from error
