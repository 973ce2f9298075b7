"""Exercises for an nbgrader course that exists: shown, added, taken back.

Only files of the kit's own are added, and a few lines at the end of `nbgrader_config.py`. What is
in the course, its gradebook and its settings stay as they are.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from shlex import quote
from typing import Any

from nbconvert.exporters import HTMLExporter
from nbgrader.converters import BaseConverter, GenerateAssignment, NbGraderException
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograder.authoring.build import Examples
from autograder.course.adjustment import (
    STATE,
    configuration_copy,
    file_digest,
    read_copy,
    read_own_configuration,
    write_down,
)
from autograder.course.course_update import finish_update, handed_out
from autograder.course.creation import (
    BESIDE,
    BESIDE_OTHERS,
    GRADEBOOK,
    Course,
    adopt_it,
    course_facts,
    kit_configuration,
    read_course,
    recorded,
)
from autograder.course.exercise_update import new_exercise, refuse_folder_of_another
from autograder.course.settings import (
    course_directory,
    gradebook_address,
    in_gradebook,
    remove_assignment,
    settings_to_adopt,
    within,
)
from autograder.errors import KitError
from autograder.grading.class_task import (
    CONFIG,
    FACTS,
    handed_in_at_the_top,
    refuse_solutions_within,
    top_names,
)
from autograder.values.files import follow, replace_file
from autograder.values.symbols import count

# nbgrader's commands in a course that had assignments of its own before the kit came.
#
# There, the kit's settings hold for the kit's exercises only. Everything else is done by
# nbgrader's own class, with the instructor's own settings, as if the kit were not there.

_GLOB = frozenset("*?[")


def kit_settings(course: Course) -> Config:
    """Return what the kit sets for its exercises, as its own configuration file has it."""
    settings = Config()
    exec(kit_configuration(course, course.exercises), {"get_config": lambda: settings})
    for of_the_whole_course in ("CourseDirectory", "ExportApp"):
        settings.pop(of_the_whole_course, None)
    return settings


def left_to_nbgrader(converter: BaseConverter, stock: type[BaseConverter]) -> bool:
    """Have nbgrader's own class do the work of `converter`, where it is not about our exercises.

    Return whether that was done. If not, `converter` has the kit's settings.
    """
    root = Path(converter.coursedir.root)
    course = adopted_course(root)
    if course is None:
        return False
    asked = converter.coursedir.assignment_id
    ours = [name for name in course.exercises if fnmatchcase(name, asked)]
    if ours and _GLOB & set(asked):
        raise NbGraderException(
            f"{asked!r} matches exercises of the kit ({', '.join(ours)}) and perhaps assignments "
            "of your own, which are handled in different ways; name one assignment"
        )
    if ours:
        follow(root)
        converter.update_config(kit_settings(course))
        return False
    own = stock(coursedir=converter.coursedir, parent=converter.parent)
    for name in own.trait_names(config=True):
        if getattr(own, name) != (wanted := getattr(converter, name)):  # formgrader sets some
            setattr(own, name, wanted)
    own.log = converter.log
    own.start()
    return True


class CourseRelease(GenerateAssignment):
    """nbgrader's GenerateAssignment, with the kit's settings for the kit's exercises."""

    def start(self) -> None:
        """Release an assignment."""
        if not left_to_nbgrader(self, GenerateAssignment):
            super().start()


class CourseExporter(HTMLExporter):
    """Formgrader's page of a hand-in: what students wrote is cleaned on those of our exercises."""

    def from_filename(
        self, filename: str, resources: dict[str, Any] | None = None, **more: Any
    ) -> Any:
        """Return the page of the notebook at ROOT/autograded/STUDENT/ASSIGNMENT/."""
        course = adopted_course(Path(filename).parents[3])
        if course and Path(filename).parent.name in course.exercises:
            own = HTMLExporter(config=_joined(self.config, kit_settings(course)))
            return own.from_filename(filename, resources=resources, **more)
        return super().from_filename(filename, resources=resources, **more)


def _joined(settings: Config, more: Config) -> Config:
    joined = Config()
    joined.merge(settings)
    joined.merge(more)
    return joined


def adopted_course(root: Path) -> Course | None:
    """Return the course at `root` if it is one that was adopted; raise `NbGraderException`."""
    if not (root / FACTS).is_file():
        return None
    try:
        course = read_course(root)
    except KitError as error:
        # Only for this exception do nbgrader's apps show the log and exit with an error.
        raise NbGraderException(str(error)) from error
    return course if course.adopted else None


_JSON = "nbgrader_config.json"  # nbgrader reads it too, after the other
_FOLDERS = ("source", "release", "submitted", "autograded", "feedback")


@dataclass(frozen=True)
class Adoption:
    """What is added to a course: files by the path relative to it, and the same in words.

    stays: what of the instructor's stays as it is. told: what they have to know besides.
    """

    course: Course
    files: dict[Path, bytes]
    changes: tuple[str, ...]
    stays: tuple[str, ...]
    told: tuple[str, ...]


def plan_adoption(
    directory: Path,
    *,
    solutions: Path,
    assignments: Path,
    exercises: Sequence[str],
    examples: Examples,
) -> Adoption:
    """Find out what adds these exercises to the course in `directory`, and change nothing.

    Raise `KitError` when it is not a course of nbgrader's, has such an exercise already, or is laid
    out in a way that the kit cannot read.
    """
    _refuse_no_course(directory)
    refuse_solutions_within(solutions, directory)
    names = tuple(dict.fromkeys(exercises))
    course = Course(directory.resolve(), solutions.resolve(), names, adopted=True)
    settings = settings_to_adopt(course)
    _refuse_other_layout(course, settings)
    assigned, students = in_gradebook(course, settings)
    files: dict[Path, bytes] = {}
    notes: dict[Path, bytes] = {}
    changes = []
    for name in names:
        if name in assigned:
            raise KitError(
                f"the gradebook has an assignment {name!r} already",
                place=str(course.directory),
                cure="leave that exercise out, or give your assignment another name first",
            )
        refuse_folder_of_another(course, course.release(name))  # taking back removes what is there
        added = new_exercise(course, assignments, name, examples)
        files |= added.files
        notes |= added.notes
        changes.append(f"source/{name}: {count(len(added.files), 'new file')}")
    there = read_own_configuration(course.directory)
    files[Path(CONFIG)] = (BESIDE if there is None else there + BESIDE_OTHERS).encode()
    lines = f"{BESIDE.count(chr(10))} lines"
    changes.append(f"{CONFIG}: {lines} at its end" if there is not None else f"{CONFIG}: new")
    changes.append(f"{FACTS} and {STATE}/: new, what the kit has to know")
    facts = course_facts(recorded(solutions, directory), names, adopted=True)
    files |= notes | configuration_copy(BESIDE) | {Path(FACTS): facts.encode()}
    stays = tuple(_stays(course, assigned, len(students)))
    return Adoption(course, files, tuple(changes), stays, tuple(_told(course, settings)))


def adopt(adoption: Adoption) -> None:
    """Do what was planned; if it is stopped, the same command finishes it."""
    pending = write_down(adoption.course.directory, adoption.files, ())
    finish_update(adoption.course, pending)


def _refuse_no_course(directory: Path) -> None:
    if (directory / FACTS).exists():
        raise KitError(
            "this is a course of the kit already",
            place=str(directory / FACTS),
            cure="add an exercise with "
            f"`attn course update {quote(str(directory))} --exercise NAME`",
        )
    if not adopt_it(directory):
        raise KitError(
            f"this is not a course of nbgrader's: it has no {CONFIG}, no {GRADEBOOK}, no source/",
            place=str(directory),
            cure=f"name a course, or make one with `attn course new {quote(str(directory))}`",
        )
    if beside := handed_in_at_the_top(directory):
        raise KitError(
            "notebooks or Python lie at the top of the course, as hand-ins do in a folder of "
            f"submissions, and a course may run none of those: {top_names(beside)}",
            place=str(directory),
            cure="move them to a folder beside the course, then try again; what "
            f"{CONFIG} imports is found there after sys.path.append(...) in that file",
        )


def _refuse_other_layout(course: Course, settings: Config) -> None:
    """Raise `KitError` for settings that say other places than those that the kit knows."""
    place = course.directory / CONFIG
    if (course.directory / _JSON).exists():
        raise KitError(
            f"{_JSON} has settings of the course, and the kit reads those in {CONFIG} only",
            place=str(course.directory / _JSON),
            cure=f"write them into {CONFIG}, and take that file away",
        )
    here, usual = course_directory(course, settings), CourseDirectory.class_traits()
    for name in (*(f"{folder}_directory" for folder in _FOLDERS), "directory_structure"):
        mine, kits = getattr(here, name), usual[name].default_value
        if mine != kits:
            raise KitError(
                f"c.CourseDirectory.{name} is {mine!r}, and the kit knows only {kits!r}",
                place=str(place),
                cure="make a course for the exercises beside this one: attn course new",
            )
    root = settings.CourseDirectory.get("root")
    if root and Path(root).resolve() != course.directory:
        raise KitError(
            f"c.CourseDirectory.root is {str(root)!r}: nbgrader works in another folder",
            place=str(place),
            cure="name that folder here, or take the line away",
        )
    own = str(settings.CourseDirectory.get("db_url", "") or "")
    if own and gradebook_address(course, own) != within(course, own):
        raise KitError(
            "c.CourseDirectory.db_url is set in a way that the kit cannot read without running it",
            place=str(place),
            cure=f"write it into {CONFIG} as a string: c.CourseDirectory.db_url = ...",
        )


def _stays(course: Course, assigned: dict[str, int], students: int) -> Iterator[str]:
    source = course.directory / "source"
    folders = [path.name for path in source.iterdir() if path.is_dir()] if source.is_dir() else []
    own = sorted({*assigned, *(name for name in folders if name[0] != ".")})
    yield f"assignments: {', '.join(own) or 'none'}"
    who = count(students, "student")
    yield f"gradebook: not touched ({who}, {count(sum(assigned.values()), 'hand-in')})"
    yield f"settings: every line of {CONFIG}"


def _told(course: Course, settings: Config) -> Iterator[str]:
    """Say which of the instructor's settings do not hold for our exercises, and what is missing."""
    for section, values in sorted(kit_settings(course).items()):
        for name in sorted(values):
            if name in settings.get(section, {}) and settings[section][name] != values[name]:
                yield f"c.{section}.{name}: yours holds for your assignments, not for the kit's"
    if not course_directory(course, settings).course_id:
        yield (
            f"c.CourseDirectory.course_id is not set: write it into {CONFIG}, or add --course NAME "
            "to each command that releases or collects"
        )


@dataclass(frozen=True)
class TakingBack:
    """What `attn course adopt --undo` removes, in words and as paths; `stays` says what it cannot.

    released: the exercises that go out of the gradebook, too; nobody has handed them in.
    """

    course: Course
    removed: tuple[Path, ...]
    configuration: str | None
    released: tuple[str, ...]
    settings: Config
    stays: tuple[str, ...]


def plan_taking_back(course: Course) -> TakingBack:
    """Find out what takes the exercises out of a course again, and change nothing.

    Raise `KitError` where that would lose work or marks.
    """
    root = course.directory
    if not course.adopted:
        raise KitError(
            "this course was made by the kit, so there is nothing to go back to",
            place=str(root / FACTS),
            cure="keep it, or remove the folder yourself",
        )
    settings = settings_to_adopt(course)
    assigned, _ = in_gradebook(course, settings)
    _refuse_loss(course, assigned)
    folders = [*map(course.source, course.exercises), *map(course.release, course.exercises)]
    removed = (*(path for path in folders if path.exists()), root / FACTS, root / STATE)
    return TakingBack(
        course,
        removed,
        _without_kit(course),
        tuple(name for name in course.exercises if name in assigned),
        settings,
        tuple(_not_taken_back(course, settings)),
    )


def _not_taken_back(course: Course, settings: Config) -> Iterator[str]:
    """Name what was made of hand-ins, and what students can still fetch."""
    root, outbound = course.directory, handed_out(course, settings)
    yield from (f"{name}/" for name in ("graded", "own-steps") if (root / name).exists())
    for name in course.exercises:
        for part in ("autograded", "feedback"):
            for place in sorted((root / part).glob(f"*/{name}")):
                yield f"{place.relative_to(root)}/"
        if outbound and (outbound / name).is_dir():
            yield f"{outbound / name}: students can fetch it until `nbgrader list {name} --remove`"


def take_back(plan: TakingBack) -> None:
    """Do what was planned. If it is stopped, the same command finishes it."""
    course = plan.course
    for name in plan.released:
        remove_assignment(course, plan.settings, name)
    config = course.directory / CONFIG
    if plan.configuration is None:
        config.unlink(missing_ok=True)
    else:
        replace_file(config, plan.configuration.encode(), config.stat().st_mode & 0o777)
    *folders, facts, state = plan.removed
    for folder in (*folders, state):
        if folder.exists():
            shutil.rmtree(folder)
    for name in ("source", "release"):
        folder = course.directory / name
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    facts.unlink(missing_ok=True)  # the last: until then, the command can be run again


def _refuse_loss(course: Course, assigned: dict[str, int]) -> None:
    """Raise `KitError` for all that would be lost: marks, and what the instructor has written."""
    facts: list[str] = []
    cures: list[str] = []
    for name in course.exercises:
        number = max(assigned.get(name, 0), len(course.students(name)))
        if number:
            facts.append(f"{number} have handed in {name}, and their marks would be lost")
            cures.append(
                f"keep it; or move submitted/*/{name} elsewhere and run "
                f"`nbgrader db assignment remove {name} --force`"
            )
        if own := ", ".join(_own_work(course, name)):
            facts.append(f"not as the kit has written it, and would be lost: {own}")
            cures.append(f"move those files out of source/{name}")
    if facts:
        raise KitError(
            "; ".join(facts),
            place=str(course.directory),
            cure=f"{'; '.join(cures)}; then try again",
        )


def _own_work(course: Course, exercise: str) -> Iterator[str]:
    """Name the files in the exercise's folder that the kit has not written, or not so."""
    made, folder = read_copy(course.directory, exercise), course.source(exercise)
    noted = made.files if made else {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() or ".ipynb_checkpoints" in path.parts:
            continue
        if noted.get(name) != file_digest(path):
            yield f"source/{exercise}/{name}"


def _without_kit(course: Course) -> str | None:
    """Return the configuration without the kit's lines; None for a file that had nothing else."""
    text = read_own_configuration(course.directory)
    if text is None or text == BESIDE:
        return None
    if text.count(BESIDE_OTHERS) == 1:
        return text.replace(BESIDE_OTHERS, "")
    if "autograder.course.autograde" not in text:
        return text  # they have been taken out by hand
    raise KitError(
        f"the kit's lines in {CONFIG} have been changed",
        place=str(course.directory / CONFIG),
        cure="take out `from autograder.course.autograde import install` and `install()` "
        "yourself, then try again",
    )
