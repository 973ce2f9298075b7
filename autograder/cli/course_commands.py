"""`attn course adopt`, `check` and `update`: into a course, what is behind in it, bring it on."""

from __future__ import annotations

import io
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograder.cli.kit import (
    ASSIGNMENTS,
    FOLDER,
    SOLUTIONS,
    each_of,
    example,
    exercise_folders,
    say,
    source_folders,
)
from autograder.errors import KitError
from autograder.values.symbols import count

if TYPE_CHECKING:
    from autograder.course.course_update import CourseUpdate
    from autograder.course.creation import Course
    from autograder.course.students import Decisions

COURSE = click.argument("directory", type=FOLDER, default=Path("."))
MOST_MARKS = 40  # sentences about marks in a terminal
UP_TO_DATE, BEHIND = 0, 1


@click.command("check", epilog=example("attn course check my-course"))
@COURSE
@ASSIGNMENTS
def check(directory: Path, assignments: Path | None) -> None:
    """Say what in the course DIRECTORY is up to date and what is stale.

    Also says what every user of this machine may read, and students should not. Nothing changes.
    Exits with 0 if nothing is stale, otherwise with 1.
    """
    from autograder.checks.plugin import record_examples
    from autograder.course.adjustment import pending_update, unread_steps
    from autograder.course.course_copy import open_to_all
    from autograder.course.course_update import plan_update

    with opened_course(directory) as course:
        _changes("If students have accounts on this machine, they may read", open_to_all(course))
        if pending_update(course.directory):
            say("An update of this course was stopped.")
            say(f"To finish it: attn course update {_typed(directory)}")
            sys.exit(BEHIND)
        found = _assignments(course, assignments)
        if _tell_unbuilt(course, found):
            sys.exit(BEHIND)
        unread = unread_steps(course.directory, course.exercises)
        _changes("Nobody reads these, since the course has no exercise of that name", unread)
        behind = _tell_state(plan_update(course, found, record_examples), directory)
    sys.exit(BEHIND if behind or unread else UP_TO_DATE)


@click.command("update", epilog=example("attn course update my-course --dry-run"))
@COURSE
@ASSIGNMENTS
@click.option("--exercise", "exercises", multiple=True, help="An exercise to add to the course.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--replace-text",
    is_flag=True,
    help="Take the kit's text in all cells, files and settings of the kit, also where you have "
    "changed it.",
)
def update(
    directory: Path,
    assignments: Path | None,
    exercises: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    replace_text: bool,
) -> None:
    """Bring the course DIRECTORY up to date with the kit and its exercises.

    Shows what changes, what has to be released again and which marks move, and asks before it does
    anything. Your own cells, words and settings stay, and what was there before is kept. Exits with
    1 if there is something to do that was not done.
    """
    from autograder.checks.plugin import record_examples
    from autograder.course.adjustment import pending_update
    from autograder.course.course_update import (
        do_update,
        finish_update,
        note_what_the_kit_wrote,
        plan_update,
    )
    from autograder.course.creation import read_course

    with opened_course(directory) as course:
        pending = pending_update(course.directory)
        if pending and not dry_run:
            finish_update(course, pending)
            say(f"Finished an update that was stopped. What was there before: {pending.backup}")
            course = read_course(directory)
        elif pending:
            say("An update of this course was stopped. Without --dry-run, it is finished first.")
            sys.exit(BEHIND)
        found = _assignments(course, assignments)
        plan = plan_update(course, found, record_examples, exercises, replace=replace_text)
        if not plan.stale:
            if not dry_run:
                note_what_the_kit_wrote(plan)
            again = plan.release_again
            say(
                "There is nothing to update in source/." if again else "There is nothing to update."
            )
            for name in again:
                say(f"{name} has to be released again: its release is older.")
            _tell_next(plan, directory)
            sys.exit(UP_TO_DATE)
        _tell_changes(plan)
        _tell_marks(plan)
        _agree(yes, dry_run)
        kept = do_update(plan)
        say(f"Done. What was there before: {kept}")
        _tell_next(plan, directory)


@click.command("adopt", epilog=example("attn course adopt my-course --exercise numpy_single_head"))
@COURSE
@SOLUTIONS
@ASSIGNMENTS
@click.option("--exercise", "exercises", multiple=True, help="An exercise to add to the course.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--undo", is_flag=True, help="Take the exercises out of the course again.")
def adopt(
    directory: Path,
    solutions: Path | None,
    assignments: Path | None,
    exercises: tuple[str, ...],
    yes: bool,
    undo: bool,
) -> None:
    """Add exercises to DIRECTORY, an nbgrader course with assignments of its own.

    Shows what changes, and asks before it does anything. Your assignments, marks, students and
    settings stay. Exits with 1 if it was not done.
    """
    from autograder.checks.plugin import record_examples
    from autograder.course.adjustment import pending_update
    from autograder.course.adoption import adopt as do_adopt
    from autograder.course.adoption import plan_adoption, plan_taking_back, take_back
    from autograder.course.creation import read_course

    with _locked(directory):
        pending = pending_update(directory)
        if pending and not pending.exercises:
            pending.put_in_place()
            pending.finish()
            say("Finished what was stopped.")
            if not undo:
                finished = read_course(directory)
                for name in finished.exercises:
                    tell_release(finished, directory, name)
                return
        if undo:
            back = plan_taking_back(read_course(directory))
            here = back.course.directory
            config = "lines of the kit" if back.configuration is not None else "the whole file"
            paths = [f"{path.relative_to(here)}" for path in back.removed]
            _changes("Removed", [*paths, f"nbgrader_config.py: {config}"])
            _changes("Removed from the gradebook, without any hand-in", back.released)
            _changes("Not removed, since you may need it", back.stays)
            _agree(yes)
            take_back(back)
            say("Done.")
            return
        source = source_folders(solutions, assignments)
        plan = plan_adoption(
            directory,
            solutions=source.solutions,
            assignments=source.assignments,
            exercises=exercises or _which(source.solutions),
            examples=record_examples,
        )
        _changes("Added", plan.changes)
        _changes("Yours, and stays", plan.stays)
        _changes("To know", plan.told)
        _agree(yes)
        do_adopt(plan)
        say(f"Done. To take it back: attn course adopt {_typed(directory)} --undo")
        for name in plan.course.exercises:
            tell_release(plan.course, directory, name)


@click.command("copy", epilog=example("attn course copy my-course my-course-2027 --without-people"))
@click.argument("directory", type=FOLDER)
@click.argument("target", type=FOLDER)
@click.option(
    "--without-people", is_flag=True, required=True, help="Leave out students, marks and hand-ins."
)
def copy(directory: Path, target: Path, without_people: bool) -> None:
    """Make TARGET next term's course out of DIRECTORY.

    It has the exercises, your changes in them, your own assignments and settings. Hidden inputs are
    drawn anew, and nothing of the term before is in it.
    """
    from autograder.course.course_copy import copy_course
    from autograder.course.creation import read_course

    with opened_course(directory) as course:
        made = copy_course(course, target)
        copied = read_course(target)
    say(f"made the course {made.directory}")
    _changes("Changed for the new term", made.changed)
    _changes("Not copied, since it may be about students: copy what you need", made.left)
    say("Deadlines are in the gradebook, so set them anew.")
    for name in course.exercises:
        tell_release(copied, target, name)


@click.command("archive", epilog=example("attn course archive my-course --to my-course-2026.zip"))
@COURSE
@click.option("--to", "target", type=FOLDER, required=True, help="A new folder, or a new .zip.")
def archive(directory: Path, target: Path) -> None:
    """Keep the marks, pages and hand-ins of the course DIRECTORY, to be read by any browser.

    Pages are kept as they were last made: `attn report` makes them again.
    """
    from autograder.course.course_copy import archive_course

    with opened_course(directory) as course:
        kept = archive_course(course, target)
    say(f"kept {count(kept.students, 'student')} and {count(kept.assignments, 'assignment')}")
    _changes("Not in it", kept.left)
    say(f"open it with: {kept.opened}")


def _which(solutions: Path) -> tuple[str, ...]:
    """Nobody's course gets exercises that were not named."""
    raise KitError(
        "no exercise is named",
        place="attn course adopt",
        cure="add --exercise with one of: "
        + ", ".join(folder.name for folder in exercise_folders(solutions)),
    )


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Keep every other run of the kit out of a course."""
    from autograder.grading.class_task import WAITS, class_lock
    from autograder.values.this_machine import refuse_modules_in

    if not directory.is_dir():
        raise KitError(
            "there is no such folder", place=str(directory), cure="name a course directory"
        )
    refuse_modules_in(directory.absolute())
    with class_lock(directory, lambda: say(WAITS)):
        yield


@contextmanager
def opened_course(directory: Path) -> Iterator[Course]:
    """Read the course, and keep every other run of the kit out of it meanwhile."""
    from autograder.course.creation import read_course

    with _locked(directory):
        yield read_course(directory)


def _assignments(course: Course, named: Path | None) -> Path:
    found = named or course.solutions.parent / "assignments"
    if not found.is_dir():
        raise KitError(
            "what students get of the exercises is not beside their solutions",
            place=str(found),
            cure="name that folder with --assignments",
        )
    return found.resolve()


def _agree(yes: bool, dry_run: bool = False) -> None:
    """Ask, and end the command if the answer is no; without a terminal, nobody can answer."""
    if yes and not dry_run:
        return
    if not dry_run and (sys.stdin is None or not sys.stdin.isatty()):
        say("To do this without a terminal, add --yes.")
    elif not dry_run and click.confirm("Do this?", default=False):
        return
    say("Nothing was changed.")
    sys.exit(BEHIND)


def _tell_unbuilt(course: Course, assignments: Path) -> bool:
    """Print which exercises have to be built before the course can be compared with them."""
    from autograder.course.exercise_update import unbuilt

    any_unbuilt = False
    for name in course.exercises:
        if name in course.adjustments:
            continue  # it is built as the course gives it
        if words := unbuilt(course.solutions, assignments, name):
            any_unbuilt = True
            _changes(f"{name} has changed since it was built", words)
    if any_unbuilt:
        say(f"Build it first: attn build {course.solutions}")
        say("Then check again: the course is compared with what was built.")
    return any_unbuilt


def _tell_state(update: CourseUpdate, directory: Path) -> bool:
    """Print what is stale and what is not, with the command that settles it."""
    behind = update.stale
    for each in update.exercises:
        state = update.states[each.name]
        words = [*each.changes, *each.kept]
        _list(f"{each.name}: source/", words)
        if not state.released:
            say(f"{each.name}: not released yet.")
            continue
        _list(f"{each.name}: the release", state.differences)
        _list(f"{each.name}: the gradebook", state.gradebook)
        if state.in_exchange:
            _list(f"{each.name}: what students fetch from the exchange", state.exchange)
        elif state.in_exchange is False:
            say(f"{each.name}: not in the exchange yet, so nobody can fetch it.")
        behind = behind or bool(state.differences or state.gradebook or state.exchange)
    noted = [] if update.configuration_noted else ["the kit has no note of what it wrote here"]
    settings = [*noted, *update.configuration.changes, *update.configuration.kept]
    _list("nbgrader_config.py", settings)
    if update.stale:
        say(f"To bring it up to date: attn course update {_typed(directory)}")
    else:
        _tell_next(update, directory)
    return behind


def _tell_changes(update: CourseUpdate) -> None:
    for each in update.exercises:
        _changes(f"{each.name}: in source/", each.changes)
        _changes(f"{each.name}: yours, and stays", each.kept)
        state = update.states.get(each.name)
        if state and state.refused:
            _changes(f"{each.name}: in the gradebook, for all who have handed in", state.gradebook)
    _changes("nbgrader_config.py", update.configuration.changes)
    _changes("nbgrader_config.py: yours, and stays", update.configuration.kept)
    for name in update.release_again:
        say(f"{name} has to be released again.")


def _tell_marks(update: CourseUpdate) -> None:
    from autograder.course.gradebook_entries import judged_again, mark_forecasts

    for each in update.exercises:
        state = update.states.get(each.name)
        if not state or not state.released:
            continue
        if judged_again(update.course, each):
            words = "the checks, or the kit, have changed: the next `attn grade` judges all again."
            say(f"{each.name}: {words}")
        if not state.gradebook:
            continue
        moved = mark_forecasts(update.course, each)
        if not moved:
            say(f"{each.name}: no mark moves.")
            continue
        lines = [forecast.words for forecast in moved]
        more = [f"and {len(lines) - MOST_MARKS} more"] if len(lines) > MOST_MARKS else []
        _changes(f"{each.name}: marks that move", [*lines[:MOST_MARKS], *more])


def _tell_next(update: CourseUpdate, directory: Path) -> None:
    from autograder.course.creation import grade_command

    again = update.release_again
    for each in update.exercises:
        name, state = each.name, update.states.get(each.name)
        if each.new or name in again or (state and not state.released):
            tell_release(update.course, directory, name, force=name in again)
        elif update.hand_out_again(name):
            say(f"next: {_hand_out(directory, name)} --force")
        elif state and state.in_exchange is False:
            say(f"next: {_hand_out(directory, name)}")
        if update.hand_out_again(name):
            say("  who has it already moves that folder away and fetches again")
    for name in again:
        say(f"then: {grade_command(directory, name, update.exercises)}")


def tell_release(course: Course, directory: Path, exercise: str, *, force: bool = False) -> None:
    """Print the commands by which students get an exercise, from the exchange if there is one."""
    from autograder.course.course_update import handed_out
    from autograder.course.settings import settings_to_adopt

    again = " --force" if force else ""
    say(f"next: {_there(directory, f'nbgrader generate_assignment {exercise}{again}')}")
    if outbound := handed_out(course, settings_to_adopt(course)):
        again = " --force" if (outbound / exercise).is_dir() else ""
        say(f"then: {_hand_out(directory, exercise)}{again}")


def tell_pages(directory: Path, output: Path) -> None:
    """Print the command by which students get their pages, where they fetch from an exchange."""
    from autograder.grading.class_task import FACTS

    if not (directory / FACTS).is_file():
        return
    from autograder.course.course_update import handed_out
    from autograder.course.creation import read_course
    from autograder.course.settings import read_settings

    course, exercise = read_course(directory), output.name
    outbound = handed_out(course, read_settings(course))
    own = output.resolve() == course.graded(exercise).resolve()
    if own and outbound and (outbound / exercise).is_dir():
        say(f"then: {_there(directory, f'nbgrader release_feedback {exercise}')}")


def _hand_out(directory: Path, exercise: str) -> str:
    return _there(directory, f"nbgrader release_assignment {exercise}")


def _there(directory: Path, command: str) -> str:
    """Return what to type for a command of nbgrader's, which works in the course's folder."""
    here = directory.resolve() == Path.cwd()
    return command if here else f"cd {_typed(directory)} && {command}"


def _typed(directory: Path) -> str:
    return shlex.quote(str(directory))


def _list(head: str, words: list[str] | tuple[str, ...]) -> None:
    if words:
        _changes(f"{head} is stale", words)
    else:
        say(f"{head} is up to date.")


def _changes(head: str, words: list[str] | tuple[str, ...]) -> None:
    if words:
        say(f"{head}:")
    for each in words:
        say(f"  {each}")


# `attn course extend`, `hold` and `question`: what an instructor decides about single students.
#
# Each lists what there is when it names no student.

_NO_REASON = "no reason given"
_TAKEN_OUT = "taken out of the exchange; what was fetched before stays with the student."
_LEFT = "students can still fetch this page, and it cannot be removed: remove it yourself."
_LONGEST = 2_000  # characters of what is noted


# Whom a command is about.
_of_a_student = each_of(
    click.argument("student", metavar="[STUDENT]", default=""),
    click.argument("exercise", metavar="[EXERCISE]", default=""),
    click.option("--course", type=FOLDER, default=Path("."), help="The course [default: .]."),
)


@click.command(epilog=example("attn course extend ada numpy_single_head --until 2026-03-05"))
@_of_a_student
@click.option("--until", help="The student's own deadline; in UTC, unless it names a zone.")
@click.option("--remove", is_flag=True, help="Take the extension back.")
def extend(course: Path, student: str, exercise: str, until: str | None, remove: bool) -> None:
    """Give STUDENT more time for EXERCISE, and the student's group; or list who has more time.

    It is nbgrader's own extension, by which formgrader and the late penalties go.
    """
    from autograder.course.creation import grade_command
    from autograder.course.students import extend, extensions, read_moment
    from autograder.reports.roll import time_words

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
        say("What being late costs is worked out anew with the next run.")
        say(f"next: {grade_command(course, _one(found, exercise), found.exercises)}")


@click.command(epilog=example('attn course hold ada numpy_single_head --because "we talk first"'))
@_of_a_student
@click.option("--because", metavar="WORDS", help="Hold it back, and why.")
@click.option("--release", is_flag=True, help="Give it out after all.")
def hold(course: Path, student: str, exercise: str, because: str | None, release: bool) -> None:
    """Hold back the mark of STUDENT in EXERCISE; or list which marks are held back.

    No export of the kit has it then, nor can its page be fetched. What was fetched stays there.
    """
    from autograder.course.course_records import PageDelivery, deliver_pages

    if bool(student) != ((because is not None) != release):
        raise click.UsageError("name a student, and add either --because or --release")
    why = None if because is None else _short(because) or _NO_REASON
    with opened_course(course) as found:
        if student:
            _decide(found, exercise, student, lambda known: known.holding(student, why))
            if why:  # whether or not the results can be written again
                name = _one(found, exercise)
                released = PageDelivery.into(found, name).released(student)
                deliver_pages(found, name, [student])
                for page in released:
                    say(f"{page}: {_LEFT if page.exists() else _TAKEN_OUT}")
        for name, known in _decisions(found, exercise):
            for each, reason in known.held.items():
                say(f"{name}: {each}: {reason}")
    if student:
        _write_results(course, exercise)
    if release:
        tell_pages(course, found.graded(_one(found, exercise)))


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
    from autograder.course.students import time_now
    from autograder.reports.roll import MarkQuestion

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
    from autograder.course.gradebook_entries import read_gradebook
    from autograder.course.students import Decisions, unknown_student

    name = _one(course, exercise)
    known = read_gradebook(course, name)
    if student not in {*known.enrolled, *known.entries}:
        raise unknown_student(course, student)
    change(Decisions.read(course, name)).write(course, name)


def _decisions(course: Course, exercise: str) -> Iterator[tuple[str, Decisions]]:
    from autograder.course.students import Decisions

    for name in _exercises(course, exercise):
        yield name, Decisions.read(course, name)


def _exercises(course: Course, exercise: str) -> tuple[str, ...]:
    return (course.exercise(exercise).name,) if exercise else course.exercises


def _one(course: Course, exercise: str) -> str:
    return course.only_exercise(exercise, "name one after the student").name


def _group_of(course: Course, student: str) -> tuple[str, ...]:
    from autograder.grading.class_task import read_groups

    groups = read_groups(course.directory).values()
    return next((tuple(each) for each in groups if student in each), (student,))


def _short(words: str) -> str:
    if len(words) > _LONGEST:
        raise click.UsageError(f"write at most {_LONGEST:,} characters")
    return words.strip()


def _write_results(directory: Path, exercise: str) -> None:
    """Write the results of a graded class again: pages, tables and exports follow at once."""
    from rich.console import Console

    from autograder.cli.report import report_class
    from autograder.course.creation import read_course
    from autograder.grading.class_task import GradingOptions
    from autograder.grading.journal import JOURNAL

    course = read_course(directory)
    name = _one(course, exercise)
    if not (course.graded(name) / JOURNAL).exists():
        return  # the first run follows it
    try:
        quiet = Console(file=io.StringIO())
        report_class(directory, exercise=name, options=GradingOptions(), console=quiet)
    except KitError as error:
        say(f"This is kept, but the pages are as they were: {error.fact}. Run `attn report`.")
    else:
        say(f"The pages follow it: {course.graded(name) / 'feedback' / 'index.html'}")
