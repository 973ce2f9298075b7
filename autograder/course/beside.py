"""nbgrader's commands in a course that had assignments of its own before the kit came.

There, the kit's settings hold for the kit's exercises only. Everything else is done by nbgrader's
own class, with the instructor's own settings, as if the kit were not there.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from nbconvert.exporters import HTMLExporter
from nbgrader.converters import BaseConverter, GenerateAssignment, NbGraderException
from traitlets.config import Config

from autograder.course.creation import Course, kit_configuration, read_course
from autograder.errors import KitError
from autograder.grading.class_task import FACTS
from autograder.values.files import follow

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
