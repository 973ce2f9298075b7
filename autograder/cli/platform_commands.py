"""The commands for learning platforms, all below `attn platform`."""

from __future__ import annotations

import os
import shlex
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autograder.cli.kit import FOLDER, SOLUTIONS, each_of, example, out, say, source_folders
from autograder.errors import KitError
from autograder.values.sanitize import listed, terminal_line
from autograder.values.symbols import count

if TYPE_CHECKING:
    from autograder.course.creation import Course
    from autograder.platforms.collected_download import CollectedDownload, CollectedHandIn
    from autograder.platforms.csv_table import CsvTable
    from autograder.platforms.delivery import Arrival, Destination
    from autograder.platforms.mark_export import GradebookColumn, StudentMark
    from autograder.values.exercise import Exercise
    from autograder.values.symbols import MarkingRules


# `attn platform collect`: from a platform's download to a folder for each student.

PLATFORMS = (*("canvas", "moodle", "gradescope", "brightspace", "blackboard", "github", "plain"),)
COLLECTED, NOT_TAKEN = "collected", "not-taken"
_BAD = "bold red"
_NOBODY = (
    "nobody of the download is in the list, so its headings may be others than those that are read "
    "here. They are: {headings}. Names are read below `name`, or `first_name` and `last_name`; "
    "numbers and addresses below `student_id`, `login`, `sis_id` and `email`."
)


@click.command(epilog=example("attn platform collect submissions.zip --course my-course"))
@click.argument("download", metavar="ZIP", type=FOLDER)
@click.option("--to", "folder", type=FOLDER, help="A folder for the hand-ins, one per student.")
@click.option("--course", type=FOLDER, help="A course: they go into its submitted/ folder.")
@click.option("--exercise", help="Which exercise the download is of [default: the course's].")
@click.option("--roster", type=FOLDER, help="A CSV list of the class, with the students' ids.")
@click.option("--id-column", metavar="HEADING", help="The column of the roster with the ids.")
@click.option(
    "--platform", type=click.Choice(PLATFORMS), help="Where it comes from [default: recognised]."
)
@click.option("--replace", is_flag=True, help="Replace other hand-ins that are there already.")
def collect(
    download: Path,
    folder: Path | None,
    course: Path | None,
    exercise: str | None,
    roster: Path | None,
    id_column: str | None,
    platform: str | None,
    replace: bool,
) -> None:
    """Unpack a platform's download: Canvas, Moodle, Gradescope, Brightspace, Blackboard, GitHub.

    The hand-ins go into a folder for each student, ready for `attn grade`. What is not taken is
    listed, and then the command exits with 1.
    """
    from autograder.platforms.collected_download import collected
    from autograder.platforms.csv_table import read_class_list
    from autograder.platforms.delivery import deliver, write_collected, write_not_taken
    from autograder.platforms.download_layout import SHOWN, Platform
    from autograder.values.files import following

    destination, records, named, exercise = _destination(folder, course, exercise, replace)
    known = read_class_list(roster, id_column) if roster else None
    chosen = Platform(platform) if platform else None
    around = next(place for place in (records, *records.absolute().parents) if place.is_dir())
    with (
        following(around),
        collected(download, known, chosen, exercise, destination.root) as collection,
    ):
        delivered = deliver(collection, destination)
        how = "recognised" if chosen is None else "read as"
        say(f"{how}: {SHOWN[collection.platform]}")
        if known:
            say(f"ids from the column {known.ids} of the list")
        told = _told(collection, delivered)
        if known and collection.unresolved and not delivered:
            say(_NOBODY.format(headings=listed(known.headings, 12, 80)), _BAD)
        records.mkdir(parents=True, exist_ok=True)
        identities = records / f"{COLLECTED}{named}.csv"
        write_collected(identities, delivered, collection.platform)
        lost = write_not_taken(records / f"{NOT_TAKEN}{named}.csv", collection)
    out().print(f"who is who: {identities}", soft_wrap=True, markup=False)
    out().print(f"what was not taken: {lost}", soft_wrap=True, markup=False)
    graded = f"{shlex.quote(str(course or folder))} --exercise {exercise or 'NAME'}"
    out().print(f"next: attn grade {graded}", soft_wrap=True, markup=False)
    sys.exit(1 if told else 0)


def _destination(
    folder: Path | None, course: Path | None, exercise: str | None, replace: bool
) -> tuple[Destination, Path, str, str | None]:
    """Return where hand-ins go, where the lists go, what is added to their names, the exercise."""
    from autograder.platforms.delivery import Destination

    if (folder is None) == (course is None):
        raise KitError(
            "it is not clear where the hand-ins should go",
            place="--to and --course",
            cure="name a folder with --to, or a course with --course",
        )
    if folder is not None:
        place = folder.absolute()
        return Destination(place, lambda each: place / each, replace=replace), place, "", exercise
    assert course is not None
    return _in_course(course, exercise, replace)


def _in_course(
    directory: Path, exercise: str | None, replace: bool
) -> tuple[Destination, Path, str, str]:
    from autograder.course.creation import read_course
    from autograder.course.intake import timestamp
    from autograder.platforms.delivery import Destination

    course = read_course(directory)
    name = course.only_exercise(exercise).name

    def moment_of(folder: Path) -> datetime | None:
        found: datetime | None = timestamp(folder, course.hand_ins)
        return found.replace(tzinfo=UTC) if found else None

    place = Destination(
        course.hand_ins, lambda each: course.submitted(name, each), moment_of, True, replace
    )
    return place, course.directory, f"-{name}", name


def _told(
    collection: CollectedDownload, delivered: Sequence[tuple[CollectedHandIn, Arrival]]
) -> bool:
    """Print what became of everybody; return whether somebody's work was not taken."""
    from autograder.platforms.collected_download import NOBODYS
    from autograder.platforms.delivery import TAKEN
    from autograder.submission.file_text import is_submission

    groups: dict[Arrival, list[str]] = defaultdict(list)
    for hand_in, arrival in delivered:
        groups[arrival].append(hand_in.student)
    for arrival, students in groups.items():
        names = "" if arrival in TAKEN[:2] else f" ({listed(students, longest=80)})"
        style = "" if arrival in TAKEN else _BAD
        say(f"{count(len(students), 'student')}: {arrival}{names}", style)
    late = [each.student for each, _ in delivered if each.late]
    if late:
        say(f"marked late by the platform: {listed(late, longest=80)}")
    for one in collection.unresolved:
        say(f"not taken: {one.person.name or 'somebody without a name'}: {one.reason}", _BAD)
    for person in collection.empty:
        say(f"not taken: {person.name}: nothing that was handed in could be unpacked", _BAD)
    for person, left in collection.too_large:
        say(f"not taken whole: {person.name}: {left.reason}; the rest is left out", _BAD)
    reasons: dict[str, list[str]] = defaultdict(list)
    whose = False  # somebody's work, and nobody knows whose
    for left in collection.left_out:
        reasons[left.reason].append(left.name)
    for reason, names_of in reasons.items():
        work = reason == NOBODYS and any(is_submission(Path(name)) for name in names_of)
        whose |= work
        words = f"{count(len(names_of), 'file')} not taken: {reason} ({listed(names_of, 3, 80)})"
        say(words, _BAD if work else "")
    kept = any(arrival not in TAKEN for arrival in groups)
    return bool(kept or whose or collection.unresolved or collection.empty or collection.too_large)


# `attn platform export`: the marks of a class, in a platform's own table or as scores of LTI.

_MOST_SENTENCES = 20  # sentences of a kind


_GRADED = click.argument("graded", type=FOLDER)
_EXERCISE = click.option("--exercise", help="Which exercise [default: the only one].")
_ID_COLUMN = click.option(
    "--id-column", metavar="HEADING", help="The column of the roster with the ids."
)
_into_a_table = each_of(
    _GRADED,
    click.option("--into", "table", type=FOLDER, required=True, help="The CSV from the platform."),
    click.option(
        "--to", "target", type=FOLDER, required=True, help="A new file for the filled copy."
    ),
    click.option("--column", help="The heading of the column [default: the only one that fits]."),
    click.option(
        "--roster", type=FOLDER, help="A CSV list of who is who, as `attn platform collect` writes."
    ),
    _ID_COLUMN,
    _EXERCISE,
    click.option("--scale", is_flag=True, help="Convert the marks to the points of the column."),
)


@click.group(
    epilog=example("attn platform export canvas my-course --into gradebook.csv --to filled.csv")
)
def export() -> None:
    """Take the marks of a graded class to a learning platform.

    Marks are those of the gradebook. Who has none is named, and the exit code is then 1.
    """


@export.command(
    epilog=example("attn platform export canvas my-course --into gradebook.csv --to filled.csv")
)
@_into_a_table
def canvas(**given: Any) -> None:
    """Fill marks into a copy of the gradebook that Canvas exports.

    GRADED is a course, or a folder that was graded. Who has no mark stays empty and is named.
    """
    from autograder.platforms.mark_export import canvas_column

    _fill(canvas_column, **given)


@export.command(
    epilog=example("attn platform export moodle homework --into worksheet.csv --to filled.csv")
)
@_into_a_table
def moodle(**given: Any) -> None:
    """Fill marks into a copy of Moodle's grading worksheet.

    GRADED is a course, or a folder that was graded. Who has no mark stays empty and is named.
    """
    from autograder.platforms.mark_export import moodle_column

    _fill(moodle_column, **given)


@export.command(
    epilog=example("attn platform export lti my-course --roster roster.csv --to scores.json")
)
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
    from autograder.platforms.mark_export import lti_scores, read_users

    marks, _ = _marks(graded, exercise)
    made = lti_scores(marks, read_users(roster, id_column, user_column), datetime.now(UTC))
    write_beside(target, made.text.encode(), roster)
    _say_some(made.notes)
    _say_some(made.problems, _BAD)
    say(f"{made.count} of {len(marks)} marks written as scores: {target}")
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
    from autograder.platforms.csv_table import list_of, read_class_list, read_table, write_beside
    from autograder.platforms.mark_export import fill

    marks, enrolled = _marks(graded, exercise)
    found = read_table(table)
    place = find_column(found, column)
    students = read_class_list(roster, id_column) if roster else list_of({*marks, *enrolled})
    filled = fill(found, place, marks, students, scale=scale)
    write_beside(target, filled.content, table)
    say(f"column: {found.headings[place.number]}")
    _say_some(filled.notes)
    _say_some(filled.problems, _BAD)
    say(f"{len(filled.filled)} of {len(marks)} marks filled in: {target}")
    sys.exit(1 if filled.problems else 0)


def _marks(path: Path, exercise: str | None) -> tuple[Mapping[str, StudentMark], tuple[str, ...]]:
    """Return the marks of a course or of a graded folder, and who is enrolled.

    Raise `KitError` without any mark.
    """
    from autograder.platforms.mark_export import class_marks
    from autograder.reports.grades_csv import read_outlines
    from autograder.reports.roll import ClassGradebook

    if not path.is_dir():
        raise KitError(
            "there is no such folder", place=str(path), cure="name a course, or a graded folder"
        )
    if of := _course_of(path, exercise):
        return _marks_of_course(*of)
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
    course: Course, name: str
) -> tuple[Mapping[str, StudentMark], tuple[str, ...]]:
    from autograder.course.creation import grade_command
    from autograder.course.gradebook_entries import read_gradebook
    from autograder.course.students import CourseHandIns
    from autograder.platforms.mark_export import class_marks
    from autograder.reports.grades_csv import read_outlines

    folder = course.graded(name) / "verdicts"
    gradebook = read_gradebook(course, name)
    there = {*CourseHandIns.of(course, name).folders}
    verdicts = read_outlines(folder) if folder.is_dir() else ()
    marks = class_marks([each for each in verdicts if each.student in there], gradebook)
    if not marks:
        raise KitError(
            f"nobody has a mark in {name}",
            place=str(course.directory),
            cure=f"run `{grade_command(course.directory, name, course.exercises)}` first",
        )
    return marks, gradebook.enrolled


def _course_of(path: Path, exercise: str | None) -> tuple[Course, str] | None:
    """Return the course that a path is, or whose results it is or lies in, and the exercise.

    Raise `KitError` where it is not clear which one.
    """
    from autograder.grading.class_task import class_of, is_course

    here = path.resolve()
    of = (each for at in (here, *here.parents[:3]) if (each := class_of(at)))
    directory, own = (here, "") if here.is_dir() and is_course(here) else next(of, (here, ""))
    if not (directory.is_dir() and is_course(directory)):
        return None
    from autograder.course.creation import read_course

    course = read_course(directory)
    if exercise and own not in ("", exercise):
        raise KitError(
            f"these are the results of {own}, not of {exercise}",
            place=str(path),
            cure=f"name the course: {directory}",
        )
    return course, course.only_exercise(exercise or own).name


def _say_some(lines: Sequence[str], style: str = "") -> None:
    for line in lines[:_MOST_SENTENCES]:
        say(line, style)
    if len(lines) > _MOST_SENTENCES:
        say(f"and {count(len(lines) - _MOST_SENTENCES, 'more line')} of this kind", style)


# `attn platform gradescope`: the autograder.zip with which Gradescope grades an exercise.


@click.command(epilog=example("attn platform gradescope numpy_single_head --to autograder.zip"))
@click.argument("exercise")
@click.option("--to", "target", type=FOLDER, required=True, help="The zip, a new file.")
@click.option("--secret", type=FOLDER, help="An input.secret to keep [default: a new one].")
@click.option("--wheel", type=FOLDER, help="The kit's wheel to put in [default: build it].")
@click.option(
    "--allow-protection",
    type=click.Choice(["process"]),
    help="Grade even if Gradescope's machine cannot isolate submissions. Only for code you trust.",
)
@click.option("--steps-earn-alone", is_flag=True, help="As in `attn grade`.")
@click.option("--partial-points", is_flag=True, help="As in `attn grade`.")
@click.option(
    "--course", "directory", type=FOLDER, help="Take points, own steps and rules from this course."
)
@SOLUTIONS
def gradescope(
    exercise: str,
    target: Path,
    directory: Path | None,
    secret: Path | None,
    wheel: Path | None,
    allow_protection: str | None,
    steps_earn_alone: bool,
    partial_points: bool,
    solutions: Path | None,
) -> None:
    """Make Gradescope's autograder.zip for one exercise. It holds the solution: keep it private.

    Gradescope then grades every hand-in with the kit, as `attn grade` does.
    """
    from autograder.platforms.step_result import GradescopeAutograder
    from autograder.values.symbols import number

    facts, rules = _as_given(exercise, directory, solutions)
    options = (
        *(["--allow-protection", allow_protection] if allow_protection else []),
        *(["--steps-earn-alone"] if steps_earn_alone or not rules.layer_earns_steps else []),
        *(["--partial-points"] if partial_points or rules.partial_points else []),
    )
    content = GradescopeAutograder(facts, _secret(secret), options, wheel).archive()
    _write_new(target, content)
    say(f"{target}: {len(content) / 1e6:.1f} MB")
    say("  it holds the solution, the checks and the secret of the inputs: keep it private")
    say(f"next: upload it to an assignment of {number(facts.points)} points, and test it there")


def _as_given(
    name: str, directory: Path | None, solutions: Path | None
) -> tuple[Exercise, MarkingRules]:
    """Return the exercise and what earns points: the kit's, or as a course gives it."""
    from autograder.values.exercise import find_exercise
    from autograder.values.symbols import DEFAULT_RULES

    if directory is None:
        return find_exercise(name, source_folders(solutions, None).solutions), DEFAULT_RULES
    from autograder.course.creation import read_course

    course = read_course(directory)
    return course.exercise(name), course.rules


def _secret(file: Path | None) -> bytes:
    """Return a new secret, or that in `file`; raise `KitError` when it is none."""
    import secrets

    from autograder.grading.class_task import SECRET_BYTES
    from autograder.values.files import read_small

    if file is None:
        return secrets.token_bytes(SECRET_BYTES)
    try:
        found, fault = read_small(file, SECRET_BYTES + 1), "is not a secret of the kit"
    except OSError as error:
        found, fault = b"", f"cannot be read: {error.strerror}"
    if len(found) != SECRET_BYTES:
        raise KitError(
            f"{file.name} {fault}",
            place=str(file),
            cure="name the file input.secret beside the results of a class, or leave --secret out",
        )
    return found


def _write_new(target: Path, content: bytes) -> None:
    """Write a file that only its owner can read; raise `KitError` when it is there already."""
    from autograder.values.files import unwritable

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
    except FileExistsError:
        raise KitError(
            "there is such a file already, and its secret may still be needed",
            place=str(target),
            cure="name a new file; with --secret, hidden inputs stay as they were",
        ) from None
    except OSError as error:
        raise unwritable(target.name, target.parent, error) from error


# `attn platform result`: one student's verdict in the form that another program reads.

FORMATS = ("gradescope", "classroom", "junit", "summary")


@click.command(
    epilog=example("attn platform result homework-graded --student ada --format gradescope")
)
@click.argument("results", metavar="VERDICT", type=FOLDER)
@click.option("--format", "form", type=click.Choice(FORMATS), required=True, help="For whom.")
@click.option("--student", help="Whose verdict, where there are several.")
@_EXERCISE
@click.option("--to", "target", type=FOLDER, help="A file to write [default: print it].")
def result(
    results: Path, form: str, student: str | None, exercise: str | None, target: Path | None
) -> None:
    """Turn a verdict into what Gradescope, GitHub Classroom or another CI reads.

    VERDICT is a course, a folder of results, or a file in verdicts/. The points are the automatic
    ones. A mark that is held back is refused.
    """
    from autograder.platforms.step_result import (
        classroom_results,
        gradescope_results,
        job_summary,
        junit_report,
    )
    from autograder.reports.grades_csv import read_verdict, read_verdicts
    from autograder.values.files import write_whole

    makers = dict(zip(FORMATS, (gradescope_results, classroom_results, junit_report, job_summary)))
    if not results.exists():
        raise KitError(
            "there is no such verdict",
            place=str(results),
            cure="name a course, a folder that `attn grade` has written, or a file in verdicts/",
        )
    of = _course_of(results, exercise)
    if of and results.resolve() == of[0].directory:
        results = of[0].graded(of[1])
    if results.is_dir():
        inner = results / "verdicts"
        found = read_verdicts(inner if inner.is_dir() else results)
    else:
        found = (read_verdict(results),)
    chosen = [each for each in found if student in (None, each.student)]
    if len(chosen) != 1:
        names = ", ".join(terminal_line(each.student, 60) for each in found[:10])
        raise KitError(
            "there are several verdicts" if student is None else "there is no such student",
            place=str(results),
            cure=f"name one with --student: {names}{' and others' if found[10:] else ''}",
        )
    if of:
        _refuse_without_mark(*of, chosen[0].student)
    text = makers[form](chosen[0])
    if target:
        write_whole(target, text)
    else:
        click.echo(text.removesuffix("\n"))


def _refuse_without_mark(course: Course, exercise: str, student: str) -> None:
    from autograder.course.students import CourseHandIns, Decisions
    from autograder.reports.roll import REMOVED

    if why := Decisions.read(course, exercise).held.get(student):
        whom = terminal_line(student, 60)
        release = f"attn course hold {shlex.quote(whom)} {exercise} --release"
        raise KitError(
            f"the mark of {whom} is held back: {terminal_line(why, 300)}",
            place=str(course.graded(exercise)),
            cure=f"give it out first: `{release} --course {shlex.quote(str(course.directory))}`",
        )
    if student in CourseHandIns.of(course, exercise).removed:
        raise KitError(
            f"there is no mark of {terminal_line(student, 60)}: {REMOVED}",
            place=str(course.graded(exercise)),
            cure="add the student to the gradebook again, then run `attn grade`",
        )


# All of them, under one word.


@click.group(
    epilog=example("attn platform collect submissions.zip --course my-course"),
    commands=[collect, export, result, gradescope],
)
def platform() -> None:
    """Take hand-ins from a learning platform, and marks to it."""
