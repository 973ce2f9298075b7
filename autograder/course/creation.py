"""The course directory that nbgrader works on: made once, and then the instructor's own.

Everything that nbgrader copies out of `source/` reaches students. So only the
public folders of `assignments/` go in there. The solutions stay where they are,
and `attn.toml` says where that is.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from shlex import quote
from string import Template
from typing import Any

import tomli_w

from autograder.course.adjusted_exercise import adjusted_solutions
from autograder.course.adjustment import (
    Adjustment,
    configuration_copy,
    copy_files,
    read_adjustments,
)
from autograder.course.graded_attempts import BEST, LAST, LAST_COUNTS, AttemptRules
from autograder.errors import KitError
from autograder.grading.class_task import CONFIG, FACTS, refuse_solutions_within
from autograder.submission.file_text import name_of, student_of
from autograder.values.exercise import MANIFEST, Exercise, find_exercise, read_exercise
from autograder.values.files import following, is_shared, read_small, share, share_all, write_whole
from autograder.values.sanitize import SURROGATES, file_name
from autograder.values.symbols import DEFAULT_RULES, MarkingRules

# The text of a course's `nbgrader_config.py`.
#
# An instructor reads and changes this file, so it says plainly what differs from stock nbgrader,
# and why. Nothing is set anywhere else.

_SHARED = "c.CourseDirectory.groupshared = True  # where several instructors share this folder"
TEMPLATE = """\
# How nbgrader runs this course. This file is yours; each part says why it is here.
from autograder.course.autograde import install

c = get_config()  # noqa: F821 (nbgrader provides it)

c.CourseDirectory.course_id = $course_id
$shared
# The gradebook is gradebook.db beside this file. For PostgreSQL:
# c.CourseDirectory.db_url = "postgresql://user@host/gradebook"

# Release. Solution cells hold stubs already, so a cell without a solution region stays as it is.
c.GenerateAssignment.preprocessors = [
    "nbgrader.preprocessors.LockCells",
    "autograder.course.preprocessors.KeepStubs",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.SaveCells",
    "nbgrader.preprocessors.ClearHiddenTests",
    "nbgrader.preprocessors.ClearMarkScheme",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# Grading, first half. The released notebook is the skeleton; a submission fills in its code.
c.Autograde.sanitize_preprocessors = [
    "autograder.course.preprocessors.OntoSkeleton",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# Grading, second half. nbgrader runs no student code: the verdict takes the place of Execute.
c.Autograde.autograde_preprocessors = [
    "autograder.course.preprocessors.WriteVerdict",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# Being late costs nothing, unless you take away the "# " of these lines and of those you need.
# c.AssignLatePenalties.plugin_class = "autograder.course.late_policy.LatePolicy"
# c.LatePolicy.percent_per_day = 10
# c.LatePolicy.grace_minutes = 15
# c.LatePolicy.most_percent = 100

# Grading is refused on a machine that cannot isolate submissions (`attn doctor` says what is
# missing). The next line grades anyway. It is only for code that you trust; every page says so:
# c.WriteVerdict.allow_protection = "process"

# The plain .py that a student hands in is kept, not replaced by the one in source/.
c.Autograde.exclude_overwriting = $kept

# Feedback and formgrader show what students wrote: no script of theirs may run in your browser.
# sanitize_html cleans outputs only; the filters clean the prose, which nbgrader does not.
c.HTMLExporter.sanitize_html = True
c.HTMLExporter.filters = {
    "clean_html": "autograder.course.page.clean_html",
    "markdown2html": "autograder.course.page.clean_markdown",
    "highlight_code": "autograder.course.page.highlight_code",
}
# Characters that hide or reverse other text are removed; in pages and CSV, a name is only text.
c.HTMLExporter.preprocessors = ["autograder.course.page.PlainText"]
c.ExportApp.plugin_class = "autograder.course.export.CleanCsv"

# `nbgrader autograde` also accepts a plain .py, a broken notebook and a renamed one.
install()
"""


def render_configuration(course_id: str, kept: dict[str, list[str]], *, shared: bool) -> str:
    """Return the file for the course `course_id`, whose folder a group may have `shared`.

    `kept` lists, for each exercise, the submitted files that nbgrader must not overwrite.
    """
    group = _SHARED if shared else f"# {_SHARED}"
    return Template(TEMPLATE).substitute(
        course_id=json.dumps(course_id), kept=json.dumps(kept, indent=4), shared=group
    )


# All that an adopted course gets: its own settings hold, and those above only for the exercises.
BESIDE = """\
# Added by `attn course adopt`; `attn course adopt --undo` takes it away. The exercises that are
# listed in attn.toml are released and graded by the kit, with its settings. Yours hold for
# everything else, as before.
from autograder.course.autograde import install

install()
"""
# With a line break before, a file that was there is told from a new one.
BESIDE_OTHERS = f"\n{BESIDE}"


# The lines of a course's `attn.toml` that say what there are points for.

ATTEMPTS = "attempts"


def read_rules(facts: Mapping[str, Any], path: Path) -> MarkingRules:
    """Return the rules in the facts of the file at `path`; raise `KitError` on any other value."""
    names = [each.name for each in fields(MarkingRules)]
    found = {name: facts[name] for name in names if name in facts}
    for name, value in found.items():
        if type(value) is not bool:
            raise KitError(
                f"{name} is neither true nor false", place=str(path), cure=f"write {name} = true"
            )
    return MarkingRules(**found)


def read_attempt_rules(facts: Mapping[str, Any], path: Path) -> AttemptRules:
    """Return which attempt counts by the facts of the file at `path`; raise `KitError` if unclear.

    They are in its table `[attempts]`: `counts` is "last" or "best", `most` a whole number.
    """
    table = facts.get(ATTEMPTS, {})
    if not isinstance(table, dict) or not set(table) <= {"counts", "most"}:
        raise _unclear("[attempts] has something else than counts and most", path)
    counts, most = table.get("counts", LAST), table.get("most")
    if counts not in (LAST, BEST):
        raise _unclear(f"counts is neither {LAST!r} nor {BEST!r}", path)
    if most is not None and (type(most) is not int or most < 1):
        raise _unclear("most is not a whole number from 1 on", path)
    return AttemptRules(counts, most) if table else LAST_COUNTS


def _unclear(fact: str, path: Path) -> KitError:
    cure = 'write, at the end of the file: [attempts], counts = "best", most = 3, a line each'
    return KitError(fact, place=str(path), cure=cure)


FORMAT_VERSION = 1
GRADEBOOK = "gradebook.db"
HEAD = "# What grading this course relies on. Keep the solutions out of source/.\n"
LARGEST_FACTS = 1 << 16  # bytes
WRITABLE = "free disk space, or get permission to write there; then run the command again"
NOT_COPIED = shutil.ignore_patterns("__pycache__", ".*", "*.pyc")


def grade_command(directory: Path, name: str, exercises: Sized) -> str:
    """Return the command that grades `name` in the course `directory`, which has `exercises`."""
    one = "" if len(exercises) == 1 else f" --exercise {name}"
    return f"attn grade {quote(str(directory))}{one}"


@dataclass(frozen=True)
class Course:
    """An nbgrader course directory, where its solutions are, and what it gives points for.

    adopted: it was there before the kit, and has assignments of its own, which are not the kit's.
    """

    directory: Path
    solutions: Path
    exercises: tuple[str, ...]
    rules: MarkingRules = DEFAULT_RULES
    attempts: AttemptRules = LAST_COUNTS
    adjustments: Mapping[str, Adjustment] = field(default_factory=dict)
    adopted: bool = False

    def exercise(self, name: str) -> Exercise:
        """Read the instructor's copy of the exercise `name`, as this course gives it.

        Raise `KitError` when the course does not have it, or changes it in a way that does not fit.
        """
        if name not in self.exercises:
            kits = name and (self.solutions / name / MANIFEST).is_file()
            add_it = f", or add it with `attn course update {self.directory} --exercise {name}`"
            raise KitError(
                f"{name!r} is not an exercise of the kit in this course",
                place=str(self.directory / FACTS),
                cure=f"use one of: {', '.join(self.exercises)}{add_it if kits else ''}",
            )
        return read_exercise(self.solution(name))

    def only_exercise(self, name: str | None, cure: str = "add --exercise with one of") -> Exercise:
        """Read the exercise that is named, or the only one; raise `KitError` if that is unclear.

        `cure` says how one is named.
        """
        if not name and len(self.exercises) != 1:
            raise KitError(
                "the course has several exercises",
                place=str(self.directory),
                cure=f"{cure}: {', '.join(self.exercises)}",
            )
        return self.exercise(name or self.exercises[0])

    def solution(self, name: str) -> Path:
        """The folder of an exercise with its solution: the kit's, or the course's own version."""
        if name in self.adjustments:
            changes = self.adjustments[name]
            return adjusted_solutions(self.directory, self.solutions, name, changes)
        return find_exercise(name, self.solutions).folder

    def source(self, exercise: str) -> Path:
        """The instructor's folder of an exercise, from which nbgrader makes the release."""
        return self.directory / "source" / exercise

    def release(self, exercise: str) -> Path:
        """What students get: the folder that `nbgrader generate_assignment` writes."""
        return self.directory / "release" / exercise

    @property
    def hand_ins(self) -> Path:
        """The folder of all hand-ins; everything below it belongs to the students."""
        return self.directory / "submitted"

    def submitted(self, exercise: str, student: str) -> Path:
        """The folder that a student handed in; the kit never writes there."""
        return self.hand_ins / name_of(student, self.hand_ins) / exercise

    def autograded(self, exercise: str, student: str) -> Path:
        """The graded notebook of a student."""
        return self.directory / "autograded" / student / exercise

    @property
    def secret_folder(self) -> Path:
        """The folder with the secret from which hidden inputs are drawn."""
        return self.directory / "graded"

    def graded(self, exercise: str) -> Path:
        """What `attn grade` writes about an exercise: verdicts, pages, journal."""
        return self.directory / "graded" / exercise

    def feedback(self, exercise: str, student: str) -> Path:
        """The pages that `nbgrader generate_feedback` writes for a student."""
        return self.directory / "feedback" / student / exercise

    def students(self, exercise: str) -> tuple[str, ...]:
        """The students who handed something in, sorted; hidden folders are ignored.

        A link, a file or a folder without permission cannot be read, but its owner is still
        listed. `student_of` gives the names.
        """
        names = os.listdir(self.hand_ins) if self.hand_ins.is_dir() else []
        there = (
            n for n in names if n[0] != "." and _may_have_handed_in(self.hand_ins / n, exercise)
        )
        return tuple(sorted(map(student_of, there)))


def create_course(
    directory: Path, *, solutions: Path, assignments: Path, exercises: tuple[str, ...]
) -> Course:
    """Make `directory` a course with these exercises; other files already there are kept.

    A relative `solutions` is recorded relative to the course, an absolute one as it is.
    Raise `KitError`, before anything is written, when the directory holds a course or a folder
    of one of the exercises, or when an exercise is not in `solutions` or not built.
    """
    _refuse_overwriting(directory, exercises)
    refuse_solutions_within(solutions, directory)
    for name in exercises:
        find_exercise(name, solutions)
        _require_built(find_exercise(name, assignments).folder, name)
    facts = course_facts(recorded(solutions, directory), exercises)
    directory.mkdir(parents=True, exist_ok=True)
    share(directory)
    course = Course(directory.resolve(), solutions.resolve(), exercises)
    with following(course.directory):
        _fill(course, assignments, solutions)
        # The facts come last: with them, the directory is a course.
        write_whole(directory / FACTS, facts)
    return course


def _fill(course: Course, assignments: Path, solutions: Path) -> None:
    """Write what a new course holds."""
    directory, exercises = course.directory, course.exercises
    notes: dict[Path, bytes] = {}
    for name in exercises:
        shutil.copytree(assignments / name, course.source(name), ignore=NOT_COPIED)
        share_all(course.source(name))
        notes |= copy_files(name, made_files(assignments / name), solutions / name)
    configuration = course_configuration(course, exercises)
    write_whole(directory / CONFIG, configuration)
    if is_shared(directory):
        # SQLite lets only its owner write what it makes; nbgrader takes an empty file as a new one.
        (directory / GRADEBOOK).touch()
        share(directory / GRADEBOOK)
    # What the kit wrote, so that a later version can tell it from the instructor's own.
    for path, content in (notes | configuration_copy(configuration)).items():
        write_whole(directory / path, content.decode("utf-8"))


def read_course(directory: Path) -> Course:
    """Read `directory/attn.toml`; raise `KitError` when it is missing or not valid."""
    path = directory / FACTS
    try:
        facts = tomllib.loads(read_small(path, LARGEST_FACTS).decode("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise KitError(
            f"this is not a course of the kit: it has no {FACTS}",
            place=str(directory),
            cure=adopt_it(directory) or "name a course, or make one with `attn course new`",
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise KitError(
            f"{FACTS} is not valid TOML: {error}", place=str(path), cure="correct that line"
        ) from None
    solutions, exercises = facts.get("solutions"), facts.get("exercises")
    if facts.get("format_version") != FORMAT_VERSION or not isinstance(solutions, str):
        raise KitError(
            "format_version or solutions is missing or unknown",
            place=str(path),
            cure=f"set format_version = {FORMAT_VERSION}, and set solutions to their path",
        )
    if not isinstance(exercises, list) or not all(isinstance(name, str) for name in exercises):
        raise KitError(
            "exercises is not a list of names",
            place=str(path),
            cure='write it as exercises = ["numpy_single_head"]',
        )
    rules, attempts = read_rules(facts, path), read_attempt_rules(facts, path)
    root = directory.resolve()
    refuse_solutions_within(root / solutions, root)
    changes = read_adjustments(facts, root / FACTS, exercises)
    place, names = (root / solutions).resolve(), tuple(exercises)
    adopted = facts.get("adopted") is True
    return Course(root, place, names, rules, attempts, changes, adopted)


def adopt_it(directory: Path) -> str:
    """Return what adds exercises to a course of nbgrader's; "" where there is no such course."""
    there = (directory / name for name in (CONFIG, GRADEBOOK, "source"))
    return (
        f"add exercises to it with `attn course adopt {quote(str(directory))} --exercise NAME`"
        if any(path.exists() for path in there)
        else ""
    )


@contextmanager
def temporary_folder(course: Course, prefix: str, what: str) -> Iterator[Path]:
    """Make a folder in the course for a while; what killed runs have left is removed.

    So files of it can be moved into place. Raise `KitError`, that `what` cannot be done, when it
    cannot be made.
    """
    try:
        for left_by_a_killed_run in course.directory.glob(f"{prefix}*"):
            shutil.rmtree(left_by_a_killed_run)
        folder = tempfile.TemporaryDirectory(prefix=prefix, dir=course.directory)
        share(Path(folder.name))  # another instructor's run may have to remove it
    except OSError as error:
        raise KitError(
            f"{what}: {error.strerror}",
            place=error.filename or str(course.directory),
            cure=WRITABLE,
        ) from error
    with folder as name:
        yield Path(name)


def _may_have_handed_in(folder: Path, exercise: str) -> bool:
    """Whether a student may have handed in the exercise; links are not followed."""
    try:
        if not folder.is_symlink():
            (folder / exercise).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:  # reading it later tells its owner why
        return True
    return True


def notebook_name(exercise: str) -> str:
    """The file name of an exercise's notebook."""
    return f"{exercise}.ipynb"


def script_name(exercise: str) -> str:
    """The file name of an exercise's plain Python file."""
    return f"{exercise}.py"


def _refuse_overwriting(directory: Path, exercises: tuple[str, ...]) -> None:
    if not exercises or len(set(exercises)) != len(exercises):
        raise KitError(
            "no exercise is named, or the same one is named twice",
            place=str(directory),
            cure="name every exercise of the course once",
        )
    mine = [Path(name) for name in (FACTS, CONFIG, GRADEBOOK)]
    for path in (*mine, *(Path("source") / name for name in exercises)):
        if (directory / path).exists():
            raise KitError(
                f"{path} already exists, so this directory already holds a course",
                place=str(directory),
                cure="name another directory; a course is never overwritten"
                if (directory / FACTS).exists()
                else f"name another directory, or {adopt_it(directory)}",
            )


def _require_built(folder: Path, name: str) -> None:
    for file in (notebook_name(name), script_name(name)):
        if not (folder / file).is_file():
            raise KitError(
                f"{name} has no {file}", place=str(folder), cure="run `attn build`, then try again"
            )


def recorded(solutions: Path, directory: Path) -> Path:
    """Return how a course writes down where its solutions are: as they were named."""
    if solutions.is_absolute():
        return solutions
    return Path(os.path.relpath(solutions.resolve(), directory.resolve()))


def course_facts(solutions: Path, exercises: tuple[str, ...], **more: bool) -> str:
    """Return the text of `attn.toml`; raise `KitError` where the path has no text."""
    where = solutions.as_posix()
    if SURROGATES.search(where):
        raise KitError(
            "the path to the solutions is not UTF-8, so it cannot be written down",
            place=file_name(solutions),
            cure="rename the folders in that path",
        )
    names = list(exercises)
    facts = {"format_version": FORMAT_VERSION, "solutions": where, "exercises": names, **more}
    return HEAD + tomli_w.dumps(facts)


def made_files(folder: Path) -> dict[str, bytes]:
    """Return the files that a course gets of an exercise, by their names below `folder`."""
    found = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.is_file() and not any(NOT_COPIED(str(folder), [part]) for part in inside.parts):
            found[inside.as_posix()] = path.read_bytes()
    return found


def course_configuration(course: Course, exercises: tuple[str, ...]) -> str:
    """Return what the kit writes into the `nbgrader_config.py` of a course with these exercises."""
    if course.adopted:
        return BESIDE
    return kit_configuration(course, exercises)


def kit_configuration(course: Course, exercises: tuple[str, ...]) -> str:
    """Return a whole `nbgrader_config.py` with the kit's settings for these exercises."""
    kept = {name: [script_name(name)] for name in exercises}
    course_id = re.sub(r"[^\w-]+", "-", course.directory.name).strip("-") or "attention"
    return render_configuration(course_id, kept, shared=is_shared(course.directory))
