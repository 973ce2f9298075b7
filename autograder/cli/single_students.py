"""`attn course extend`, `hold` and `question`: what an instructor decides about single students.

Each lists what there is when it names no student.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograder.cli.course_commands import opened_course, say
from autograder.cli.kit import FOLDER, example
from autograder.errors import KitError
from autograder.model.sanitize import terminal_line

if TYPE_CHECKING:
    from autograder.course.creation import Course
    from autograder.course.decisions import Decisions

_NO_REASON = "no reason given"
_LONGEST = 2_000  # characters of what is noted


def _of_a_student(command: Callable[..., None]) -> Callable[..., None]:
    """Add whom a command is about."""
    for add in (
        click.option("--course", type=FOLDER, default=Path("."), help="The course [default: .]."),
        click.argument("exercise", metavar="[EXERCISE]", default=""),
        click.argument("student", metavar="[STUDENT]", default=""),
    ):
        command = add(command)
    return command


@click.command(epilog=example("attn course extend ada numpy_single_head --until 2026-03-05"))
@_of_a_student
@click.option("--until", help="The student's own deadline; in UTC, unless it names a zone.")
@click.option("--remove", is_flag=True, help="Take the extension back.")
def extend(course: Path, student: str, exercise: str, until: str | None, remove: bool) -> None:
    """Give STUDENT more time for EXERCISE, and the student's group; or list who has more time.

    It is nbgrader's own extension, by which formgrader and the late penalties go.
    """
    from autograder.course.extensions import extend, extensions, read_moment
    from autograder.reports.student_record import time_words

    if bool(student) != ((until is not None) != remove):
        raise click.UsageError("name a student, and add either --until or --remove")
    moment = None if until is None else read_moment(until)
    with opened_course(course) as found:
        if student:
            extend(found, _one(found, exercise), _group_of(found, student), moment)
        for name in _exercises(found, exercise):
            for each in extensions(found, name):
                say(f"{name}: {each.student} has time until {time_words(each.until)}")
    if student:
        say(f"next: attn grade {course}, which works out anew what being late costs")


@click.command(epilog=example('attn course hold ada numpy_single_head --because "we talk first"'))
@_of_a_student
@click.option("--because", metavar="WORDS", help="Hold it back, and why.")
@click.option("--release", is_flag=True, help="Give it out after all.")
def hold(course: Path, student: str, exercise: str, because: str | None, release: bool) -> None:
    """Hold back the mark of STUDENT in EXERCISE; or list which marks are held back.

    It is in no export then, and its page is not handed out. What a student has fetched stays there.
    """
    from autograder.course.delivered_page import deliver_pages

    if bool(student) != ((because is not None) != release):
        raise click.UsageError("name a student, and add either --because or --release")
    why = None if because is None else _short(because) or _NO_REASON
    with opened_course(course) as found:
        if student:
            _decide(found, exercise, student, lambda known: known.holding(student, why))
            if why:  # whether or not the results can be written again
                deliver_pages(found, _one(found, exercise), [student])
        for name, known in _decisions(found, exercise):
            for each, reason in known.held.items():
                say(f"{name}: {each}: {reason}")
    if student:
        _write_results(course, exercise)


@click.command(
    epilog=example('attn course question ada numpy_single_head --answer "Yes: 1.5 points more."')
)
@_of_a_student
@click.argument("words", metavar="[WORDS]", default="")
@click.option("--answer", metavar="WORDS", help="What the student's page says about it then.")
@click.option("--remove", is_flag=True, help="Forget what was noted here, with its answers.")
def question(
    course: Path, student: str, exercise: str, words: str, answer: str | None, remove: bool
) -> None:
    """Note in WORDS what STUDENT asks about a mark, or answer it; or list what was asked.

    What lies in a hand-in as regrade-request.txt or .md is noted when the class is graded.
    """
    from autograder.course.decisions import time_now
    from autograder.reports.student_record import MarkQuestion

    given = [bool(words.strip()), answer is not None, remove]
    if bool(student) != (sum(given) == 1):
        raise click.UsageError("name student and exercise, and add WORDS, --answer or --remove")

    def change(known: Decisions) -> Decisions:
        if remove:
            return known.without_noted(student)
        if answer is not None:
            return known.answering(student, _short(answer))
        return known.asking(student, MarkQuestion(_short(words), time_now()))

    with opened_course(course) as found:
        if student:
            _decide(found, exercise, student, change)
        for name, known in _decisions(found, exercise):
            for each, asked in known.questions.items():
                for one in asked:
                    say(f"{name}: {each}, asked on {one.asked}: {one.text}")
                    say(f"  answered on {one.answered}: {one.answer}" if one.answer else "  open")
    if student:
        _write_results(course, exercise)


def _decide(
    course: Course, exercise: str, student: str, change: Callable[[Decisions], Decisions]
) -> None:
    """Change what is decided about a student of the course, and keep it."""
    from autograder.course.decisions import Decisions
    from autograder.course.gradebook_entries import read_gradebook

    name = _one(course, exercise)
    known = read_gradebook(course, name)
    if student not in {*known.enrolled, *known.entries}:
        raise KitError(
            f"{terminal_line(student, 60)} is not in the gradebook's list of students",
            place=str(course.directory),
            cure="check the id; the class page shows it before the name",
        )
    change(Decisions.read(course, name)).write(course, name)


def _decisions(course: Course, exercise: str) -> Iterator[tuple[str, Decisions]]:
    from autograder.course.decisions import Decisions

    for name in _exercises(course, exercise):
        yield name, Decisions.read(course, name)


def _exercises(course: Course, exercise: str) -> tuple[str, ...]:
    return (course.exercise(exercise).name,) if exercise else course.exercises


def _one(course: Course, exercise: str) -> str:
    if not exercise and len(course.exercises) != 1:
        raise KitError(
            "the course has several exercises",
            place=str(course.directory),
            cure=f"name one after the student: {', '.join(course.exercises)}",
        )
    return course.exercise(exercise or course.exercises[0]).name


def _group_of(course: Course, student: str) -> tuple[str, ...]:
    from autograder.grading.roster import read_groups

    groups = read_groups(course.directory).values()
    return next((tuple(each) for each in groups if student in each), (student,))


def _short(words: str) -> str:
    if len(words) > _LONGEST:
        raise click.UsageError(f"write at most {_LONGEST:,} characters")
    return words.strip()


def _write_results(directory: Path, exercise: str) -> None:
    """Write the results of a graded class again: pages, tables and exports follow at once."""
    from rich.console import Console

    from autograder.cli.report import ClassPlace, report_class
    from autograder.course.creation import read_course
    from autograder.grading.class_task import GradingOptions
    from autograder.grading.journal import JOURNAL

    course = read_course(directory)
    name = _one(course, exercise)
    if not (course.graded(name) / JOURNAL).exists():
        return  # the first run follows it
    try:
        report_class(ClassPlace(directory, name), GradingOptions(), Console(file=io.StringIO()))
    except KitError as error:
        say(f"This is kept, but the pages are as they were: {error.fact}. Run `attn report`.")
    else:
        say(f"The pages follow it: {course.graded(name) / 'feedback' / 'index.html'}")
