"""The course directory that nbgrader works on: made once, and then the instructor's own.

Everything that nbgrader copies out of `source/` reaches students. So only the
public folders of `assignments/` go in there. The solutions stay where they are,
and `attn.toml` says where that is.
"""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import tomli_w

from autograder.course.adjusted_exercise import adjusted_solutions
from autograder.course.adjustment import Adjustment, read_adjustments
from autograder.course.configuration import BESIDE, render_configuration
from autograder.course.graded_attempts import LAST_COUNTS, AttemptRules
from autograder.course.kit_copy import configuration_copy, copy_files
from autograder.course.marking_settings import read_attempt_rules, read_rules
from autograder.errors import KitError
from autograder.grading.graded_folder import CONFIG, FACTS, refuse_solutions_within
from autograder.model.exercise import MANIFEST, Exercise, find_exercise, read_exercise
from autograder.model.files import read_small, write_whole
from autograder.model.group_shared import following, is_shared, share, share_all
from autograder.model.marking import DEFAULT_RULES, MarkingRules
from autograder.model.sanitize import SURROGATES, file_name
from autograder.submission.student_name import name_of, student_of

FORMAT_VERSION = 1
GRADEBOOK = "gradebook.db"
HEAD = "# What grading this course relies on. Keep the solutions out of source/.\n"
LARGEST_FACTS = 1 << 16  # bytes
NOT_COPIED = shutil.ignore_patterns("__pycache__", ".*", "*.pyc")


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
        f"add exercises to it with `attn course adopt {directory} --exercise NAME`"
        if any(path.exists() for path in there)
        else ""
    )


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
