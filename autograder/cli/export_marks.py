"""`attn export`: the marks of a graded class, in a platform's own table or as scores of LTI."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autograder.cli.kit import FOLDER, example, out
from autograder.errors import KitError
from autograder.model.sanitize import terminal_line

if TYPE_CHECKING:
    from autograder.platforms.csv_table import CsvTable
    from autograder.platforms.gradebook_column import GradebookColumn
    from autograder.platforms.mark import StudentMark

_MOST = 20  # sentences of a kind


_GRADED = click.argument("graded", type=FOLDER)
_EXERCISE = click.option("--exercise", help="Which exercise [default: the only one].")
_ID_COLUMN = click.option(
    "--id-column", metavar="HEADING", help="The column of the roster with the ids."
)
_TABLE_OPTIONS = (
    click.option("--into", "table", type=FOLDER, required=True, help="The CSV from the platform."),
    click.option(
        "--to", "target", type=FOLDER, required=True, help="A new file for the filled copy."
    ),
    click.option("--column", help="The heading of the column [default: the only one that fits]."),
    click.option(
        "--roster", type=FOLDER, help="A CSV list of who is who, as `attn collect` writes."
    ),
    _ID_COLUMN,
    _EXERCISE,
    click.option("--scale", is_flag=True, help="Convert the marks to the points of the column."),
)


def _into_a_table(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_TABLE_OPTIONS):
        command = option(command)
    return _GRADED(command)


@click.group(epilog=example("attn export canvas my-course --into gradebook.csv --to filled.csv"))
def export() -> None:
    """Take the marks of a graded class to a learning platform.

    Marks are those of the gradebook. Who has none is named, and the exit code is then 1.
    """


@export.command(epilog=example("attn export canvas my-course --into gradebook.csv --to filled.csv"))
@_into_a_table
def canvas(**given: Any) -> None:
    """Fill marks into a copy of the gradebook that Canvas exports.

    GRADED is a course, or a folder that was graded. Who has no mark stays empty and is named.
    """
    from autograder.platforms.gradebook_column import canvas_column

    _fill(canvas_column, **given)


@export.command(epilog=example("attn export moodle homework --into worksheet.csv --to filled.csv"))
@_into_a_table
def moodle(**given: Any) -> None:
    """Fill marks into a copy of Moodle's grading worksheet.

    GRADED is a course, or a folder that was graded. Who has no mark stays empty and is named.
    """
    from autograder.platforms.gradebook_column import moodle_column

    _fill(moodle_column, **given)


@export.command(epilog=example("attn export lti my-course --roster roster.csv --to scores.json"))
@_GRADED
@click.option("--to", "target", type=FOLDER, required=True, help="A file for the scores, as JSON.")
@click.option(
    "--roster", type=FOLDER, required=True, help="A CSV list with the platform's user ids."
)
@click.option(
    "--user-column",
    metavar="HEADING",
    default="lti_user_id",
    show_default=True,
    help="The column of the roster with the platform's user ids.",
)
@_ID_COLUMN
@_EXERCISE
def lti(
    graded: Path,
    target: Path,
    roster: Path,
    user_column: str,
    id_column: str | None,
    exercise: str | None,
) -> None:
    """Write a score of LTI 1.3 for each mark, for a program that sends them.

    GRADED is a course, or a folder that was graded. Nothing is sent.
    """
    from autograder.platforms.csv_table import write_beside
    from autograder.platforms.lti_scores import lti_scores, read_users

    marks, _ = _marks(graded, exercise)
    made = lti_scores(marks, read_users(roster, id_column, user_column), datetime.now(UTC))
    write_beside(target, made.text.encode(), roster)
    _print_some(made.notes, "such students")
    _print_some(made.problems, "such marks", "bold red")
    _print(f"{made.count} of {len(marks)} marks written as scores: {target}")
    sys.exit(1 if made.problems else 0)


def _fill(
    find_column: Callable[[CsvTable, str | None], GradebookColumn],
    *,
    graded: Path,
    table: Path,
    target: Path,
    column: str | None,
    roster: Path | None,
    id_column: str | None,
    exercise: str | None,
    scale: bool,
) -> None:
    """Fill the marks into a copy of a platform's table; exit with 1 if one did not get there."""
    from autograder.platforms.class_list import list_of, read_class_list
    from autograder.platforms.csv_table import read_table, write_beside
    from autograder.platforms.mark_export import fill

    marks, enrolled = _marks(graded, exercise)
    found = read_table(table)
    place = find_column(found, column)
    students = read_class_list(roster, id_column) if roster else list_of({*marks, *enrolled})
    filled = fill(found, place, marks, students, scale=scale)
    write_beside(target, filled.content, table)
    _print(f"column: {found.headings[place.number]}")
    _print_some(filled.notes, "such rows")
    _print_some(filled.problems, "such marks", "bold red")
    _print(f"{len(filled.filled)} of {len(marks)} marks filled in: {target}")
    sys.exit(1 if filled.problems else 0)


def _marks(path: Path, exercise: str | None) -> tuple[Mapping[str, StudentMark], tuple[str, ...]]:
    """Return the marks of a course or of a graded folder, and who is enrolled.

    Raise `KitError` without any mark.
    """
    from autograder.grading.graded_folder import is_course
    from autograder.platforms.mark import class_marks
    from autograder.reports.gradebook_entry import ClassGradebook
    from autograder.reports.verdict_files import read_outlines

    if not path.is_dir():
        raise KitError(
            "there is no such folder", place=str(path), cure="name a course, or a graded folder"
        )
    if is_course(path):
        return _marks_of_course(path, exercise)
    beside = path.resolve().with_name(f"{path.resolve().name}-graded")
    results = path if (path / "verdicts").is_dir() else beside
    verdicts = read_outlines(results / "verdicts")
    if exercise and verdicts[0].exercise != exercise:
        raise KitError(
            f"these are the results of {verdicts[0].exercise}, not of {exercise}",
            place=str(results),
            cure="name the folder of the other results",
        )
    return class_marks(verdicts, ClassGradebook()), ()


def _marks_of_course(
    path: Path, exercise: str | None
) -> tuple[Mapping[str, StudentMark], tuple[str, ...]]:
    from autograder.course.creation import read_course
    from autograder.course.gradebook_entries import read_gradebook
    from autograder.course.hand_ins import CourseHandIns
    from autograder.platforms.mark import class_marks
    from autograder.reports.verdict_files import read_outlines

    course = read_course(path)
    if exercise is None and len(course.exercises) != 1:
        raise KitError(
            "the course has several exercises",
            place=str(path),
            cure=f"add --exercise with one of: {', '.join(course.exercises)}",
        )
    name = course.exercise(exercise or course.exercises[0]).name
    folder = course.graded(name) / "verdicts"
    gradebook = read_gradebook(course, name)
    there = {*CourseHandIns.of(course, name).folders}
    verdicts = read_outlines(folder) if folder.is_dir() else ()
    marks = class_marks([each for each in verdicts if each.student in there], gradebook)
    if not marks:
        raise KitError(
            f"nobody has a mark in {name}", place=str(path), cure=f"run `attn grade {path}` first"
        )
    return marks, gradebook.enrolled


def _print(line: str, style: str | None = None) -> None:
    out().print(terminal_line(line, 600), style=style, markup=False, soft_wrap=True)


def _print_some(lines: Sequence[str], what: str, style: str | None = None) -> None:
    for line in lines[:_MOST]:
        _print(line, style)
    if len(lines) > _MOST:
        _print(f"{len(lines) - _MOST} more {what}", style)
