"""What nbgrader's own configuration says about a course: where its gradebook is, late penalties.

Grading that goes round nbgrader's commands must end in the gradebook that they
use, so the same files are read in the same order: Jupyter's configuration
directories, then the course's `nbgrader_config.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jupyter_core.paths import jupyter_config_path
from nbgrader import api
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import create_engine, inspect, make_url
from traitlets.config import Config
from traitlets.config.loader import ConfigFileNotFound, PyFileConfigLoader

from autograder.course.creation import CONFIG, Course
from autograder.errors import KitError

SECONDS_TO_WAIT = 30


def read_settings(course: Course) -> Config:
    """Run the configuration files; raise `KitError` when one of them does not run."""
    settings = Config()
    for folder in (*reversed(jupyter_config_path()), str(course.directory)):
        try:
            settings.merge(PyFileConfigLoader(CONFIG, path=folder).load_config())
        except ConfigFileNotFound:
            continue
        except Exception as error:  # the file is a program of the instructor's: anything may come
            raise KitError(
                f"{CONFIG} stops with {type(error).__name__}: {error}",
                place=folder,
                cure="correct that file; `nbgrader autograde --debug` shows the line",
            ) from error
    return settings


def course_directory(course: Course, settings: Config) -> CourseDirectory:
    """Return nbgrader's view of the course: its `db_url` and `course_id` as the commands see them."""
    return CourseDirectory(config=settings, root=str(course.directory))


@contextmanager
def open_gradebook(
    course: Course, settings: Config, exercise: str
) -> Iterator[tuple[api.Gradebook, api.Notebook]]:
    """Open the gradebook that nbgrader's commands use, at the exercise's notebook.

    Raise `KitError` when the exercise is not in it, or when there is no gradebook: none is made.
    """
    directory = course_directory(course, settings)
    if not _exists(directory.db_url):
        raise _not_released(course, exercise)
    with api.Gradebook(_patient(directory.db_url), directory.course_id) as gradebook:
        try:
            notebook = gradebook.find_notebook(exercise, exercise)
        except api.MissingEntry:
            raise _not_released(course, exercise) from None
        yield gradebook, notebook


def _patient(db_url: str) -> str:
    """Have SQLite wait for another process, such as formgrader, to finish what it writes."""
    address = make_url(db_url)
    if address.get_backend_name() == "sqlite":
        address = address.update_query_dict({"timeout": str(SECONDS_TO_WAIT)})
    return address.render_as_string(hide_password=False)


def _exists(db_url: str) -> bool:
    address = make_url(db_url)
    if address.get_backend_name() == "sqlite" and not Path(address.database or "").is_file():
        return False  # connecting would make an empty file
    engine = create_engine(db_url)
    try:
        return bool(inspect(engine).has_table(api.Assignment.__tablename__))
    finally:
        engine.dispose()


def _not_released(course: Course, exercise: str) -> KitError:
    return KitError(
        f"{exercise} is not in the gradebook",
        place=str(course.directory),
        cure=f"release it first: in the course, run `nbgrader generate_assignment {exercise}`",
    )
