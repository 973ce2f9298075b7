"""Reads from nbgrader's own configuration where a course's gradebook is, and late penalties.

`attn grade` does not use nbgrader's commands, but must write into the gradebook that
they use. So it reads the same files in the same order: Jupyter's configuration
directories, then the course's `nbgrader_config.py`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jupyter_core.paths import jupyter_config_path
from nbgrader import api
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import create_engine, inspect, make_url, select
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.sql.functions import count
from traitlets.config import Config
from traitlets.config.loader import ConfigFileNotFound, PyFileConfigLoader

from autograder.course.creation import GRADEBOOK, Course
from autograder.errors import KitError
from autograder.grading.class_task import CONFIG
from autograder.values.files import read_small, share
from autograder.values.sanitize import terminal_line

# Finds a course's gradebook without running the course's configuration.
#
# `nbgrader_config.py` is a program, and files that students handed in may look like a course.
# Only the instructor's real course has a gradebook. So the program is not run unless the
# gradebook that it names exists. The instructor's own Jupyter configuration lies elsewhere and
# may be run.

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
        if isinstance(node, ast.Assign) and any(
            isinstance(each, ast.Attribute) and each.attr == "db_url" for each in node.targets
        ):
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


SECONDS_TO_WAIT = 30
# The packages of drivers that are imported under another name.
_DRIVERS = {"MySQLdb": "mysqlclient", "psycopg": "'psycopg[binary]'", "psycopg2": "psycopg2-binary"}


class UnknownAssignment(KitError):
    """The gradebook does not have the exercise, or there is no gradebook: nothing was released."""


def read_settings(course: Course) -> Config:
    """Run the configuration files; the course's own only if the gradebook that it names exists.

    Raise `KitError` when a file cannot be run, or when there is no gradebook.
    """
    settings = _own_settings(course)
    address = gradebook_address(course, str(settings.CourseDirectory.get("db_url", "") or ""))
    if not _exists(address):
        raise _not_released(course, course.exercises[0])
    settings.merge(_run(str(course.directory)))
    return settings


def settings_to_adopt(course: Course) -> Config:
    """Run the configuration files of a course that its instructor has named as theirs.

    Its gradebook may be made later. Raises what `read_settings` raises.
    """
    settings = _own_settings(course)
    gradebook_address(course, "")  # must be one that `read_settings` can read
    settings.merge(_run(str(course.directory)))
    return settings


def _own_settings(course: Course) -> Config:
    """Run the files in the instructor's own Jupyter configuration."""
    settings = Config()
    for folder in reversed(jupyter_config_path()):
        if Path(folder).resolve().is_relative_to(course.directory):
            raise KitError(
                "Jupyter's configuration is a program, and here it lies in the course, where "
                "students' files may lie too",
                place=folder,
                cure="unset JUPYTER_CONFIG_DIR and JUPYTER_CONFIG_PATH, or point them to a folder "
                "of your own",
            )
        settings.merge(_run(folder))
    return settings


def _run(folder: str) -> Config:
    try:
        return PyFileConfigLoader(CONFIG, path=folder).load_config()
    except ConfigFileNotFound:
        return Config()
    except Exception as error:  # the file is the instructor's program: it may raise anything
        raise KitError(
            f"{CONFIG} stops with {type(error).__name__}: {error}",
            place=folder,
            cure="correct that file; `nbgrader autograde --debug` shows the line",
        ) from error


def course_directory(course: Course, settings: Config) -> CourseDirectory:
    """Return nbgrader's view of the course: `db_url` and `course_id` as the commands see them."""
    return CourseDirectory(config=settings, root=str(course.directory))


@contextmanager
def open_gradebook(
    course: Course, settings: Config, exercise: str
) -> Iterator[tuple[api.Gradebook, api.Notebook]]:
    """Open the gradebook that nbgrader's commands use, at the exercise's notebook.

    Raise `KitError` when the exercise is not in the gradebook, and as `whole_gradebook` does.
    """
    with whole_gradebook(course, settings, exercise) as gradebook:
        try:
            with _database(within(course, course_directory(course, settings).db_url)):
                notebook = gradebook.find_notebook(exercise, exercise)
        except api.MissingEntry:
            raise _not_released(course, exercise) from None
        yield gradebook, notebook


@contextmanager
def whole_gradebook(course: Course, settings: Config, exercise: str) -> Iterator[api.Gradebook]:
    """Open the gradebook that nbgrader's commands use.

    Raise `KitError` when there is no gradebook (none is made; `exercise` is to be released first),
    or when its database cannot be used.
    """
    directory = course_directory(course, settings)
    db_url = within(course, directory.db_url)
    if not _exists(db_url):
        raise _not_released(course, exercise)
    with _database(db_url):
        opened = api.Gradebook(_patient(db_url), directory.course_id)
    if file := gradebook_file(db_url):
        share(file)
    with opened as gradebook:
        yield gradebook


def in_gradebook(course: Course, settings: Config) -> tuple[dict[str, int], frozenset[str]]:
    """Return the assignments in the gradebook, each with its hand-ins, and the students.

    Nothing is written, and without a gradebook none is made. Raise `KitError` when it cannot be
    used.
    """
    db_url = within(course, course_directory(course, settings).db_url)
    if not _exists(db_url):
        return {}, frozenset()
    with _database(db_url):
        engine = create_engine(_patient(db_url))
        handed_in = (
            select(api.Assignment.name, count(api.SubmittedAssignment.id))
            .outerjoin(api.SubmittedAssignment)
            .group_by(api.Assignment.id)
        )
        try:
            with engine.connect() as database:
                found = {str(name): int(number) for name, number in database.execute(handed_in)}
                return found, frozenset(map(str, database.scalars(select(api.Student.id))))
        finally:
            engine.dispose()


def remove_assignment(course: Course, settings: Config, exercise: str) -> None:
    """Take an exercise that nobody has handed in out of the gradebook; raise `KitError`."""
    with open_gradebook(course, settings, exercise) as (gradebook, _):
        gradebook.remove_assignment(exercise)


def _patient(db_url: str) -> str:
    """Make SQLite wait until another process, such as formgrader, has finished writing."""
    address = make_url(db_url)
    if address.get_backend_name() == "sqlite":
        address = address.update_query_dict({"timeout": str(SECONDS_TO_WAIT)})
    return address.render_as_string(hide_password=False)


def _exists(db_url: str) -> bool:
    """Return whether there is a gradebook; raise `KitError` if its database cannot be reached."""
    with _database(db_url):
        if (file := gradebook_file(db_url)) and not file.is_file():
            return False  # connecting would make an empty file
        engine = create_engine(db_url)
        try:
            return bool(inspect(engine).has_table(api.Assignment.__tablename__))
        finally:
            engine.dispose()


def gradebook_file(db_url: str) -> Path | None:
    """Return the file of a gradebook; None where it is none of SQLite's."""
    address = make_url(db_url)
    sqlite = address.get_backend_name() == "sqlite" and address.database
    return Path(address.database or "") if sqlite else None


@contextmanager
def _database(db_url: str) -> Iterator[None]:
    """Explain why a database cannot be used; its password is never shown."""
    try:
        yield
    except ImportError as error:  # the driver, which nbgrader does not install
        driver = (error.name or "its driver").partition(".")[0]
        missing = isinstance(error, ModuleNotFoundError)
        state = (
            "is not installed"
            if missing
            else f"cannot be imported ({terminal_line(str(error), 200)})"
        )
        raise KitError(
            f"the gradebook's database needs {driver}, which {state}",
            place=_without_password(db_url),
            cure=f"install it: `{sys.executable} -m pip install {_DRIVERS.get(driver, driver)}`, "
            f"or name another driver in db_url ({CONFIG})",
        ) from None
    except (ArgumentError, NoSuchModuleError) as error:
        raise KitError(
            f"the gradebook's db_url does not name a known database: {_first_line(error)}",
            place=_without_password(db_url),
            cure=f"correct c.CourseDirectory.db_url in {CONFIG}, for example "
            "sqlite:///gradebook.db or postgresql+psycopg2://USER@HOST/NAME",
        ) from None
    except SQLAlchemyError as error:
        raise KitError(
            f"the gradebook's database does not answer: {_first_line(error)}",
            place=_without_password(db_url),
            cure="make sure that it is running, that it is an nbgrader gradebook, and that db_url "
            "has the right user and address; then run the same command again",
        ) from None


def _without_password(db_url: str) -> str:
    try:
        return make_url(db_url).render_as_string(hide_password=True)
    except ArgumentError:
        return "c.CourseDirectory.db_url"  # an unreadable address may hold a password anywhere


def _first_line(error: SQLAlchemyError) -> str:
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    return terminal_line(str(cause).partition("\n")[0], 300)


def _not_released(course: Course, exercise: str) -> UnknownAssignment:
    return UnknownAssignment(
        f"{exercise} is not in the gradebook",
        place=str(course.directory),
        cure=f"release it first: in the course, run `nbgrader generate_assignment {exercise}`",
    )
