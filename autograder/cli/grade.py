"""`attn grade`: grades a course or a folder of files, writes the results and shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from autograder.cli.code_examples import code_examples
from autograder.cli.follow_ups import find_follow_ups
from autograder.cli.output import lasting_output
from autograder.cli.similar_code import find_similar_code
from autograder.cli.student_files import write_student_files
from autograder.errors import KitError
from autograder.grading.class_task import ClassTask, GradingOptions, grade_task
from autograder.grading.classroom import JudgingPool
from autograder.grading.folder_task import folder_task
from autograder.grading.graded_folder import is_course
from autograder.grading.grader_pool import GraderPool
from autograder.grading.lock import WAITS, class_lock, ended_by_signals
from autograder.grading.rare_collection import collected_rarely
from autograder.model.import_path import refuse_modules_in
from autograder.model.sanitize import terminal_line
from autograder.model.verdict import Verdict
from autograder.reports.class_page import ClassContext, write_class_page
from autograder.reports.class_summary import class_summary
from autograder.reports.drafts import write_drafts
from autograder.reports.follow_up import write_follow_ups
from autograder.reports.gradebook_entry import ClassGradebook, changed_marks
from autograder.reports.grades_csv import write_grades
from autograder.reports.misunderstandings import misunderstandings
from autograder.reports.paragraphs import read_paragraphs
from autograder.reports.roll import class_roll
from autograder.reports.table import NARROW, class_table
from autograder.submission.reading import Submission

MOST_PRINTED = 1_000  # rows of the table in a terminal
MOST_LINES = 10  # sentences of a kind that is on the class page too


# Puts the grades of a class where its course keeps them, and returns what is there then.
EnterGrades = Callable[[Sequence[Submission], Sequence[Verdict], GraderPool], ClassGradebook]


@dataclass(frozen=True)
class FoundClass:
    """What there is to grade, how a gradebook gets the grades, and how it is read.

    `deliver` puts the pages of students where they are handed out from. With `last_counts`, the
    gradebook has the points of the verdicts, and not of other attempts.
    """

    task: ClassTask
    enter: EnterGrades
    read: Callable[[], ClassGradebook]
    deliver: Callable[[Sequence[Verdict]], None]
    last_counts: bool = True


@dataclass(frozen=True)
class GradedClass:
    """The result of a run: the verdicts, the output folder, and what could not be judged."""

    verdicts: tuple[Verdict, ...]
    output: Path
    problems: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """True when every submission was read and judged."""
        return not self.problems


@lasting_output()
def grade_path(
    path: Path,
    *,
    exercise: str | None,
    solutions: Path | None,
    output: Path | None,
    options: GradingOptions,
    console: Console,
) -> GradedClass:
    """Grade the class at `path`, write and print the results; raise `KitError` on bad input.

    If another run is grading the same class, wait for it. If printing fails, everything is still
    graded and written, and then the error is raised.
    """
    path, output = class_folder(path), output.absolute() if output else None
    lock = class_lock(path, lambda: console.print(Text(WAITS)))
    with ended_by_signals(), lock, collected_rarely():
        found = found_class(path, exercise, solutions, output)
        with GraderPool(options.processes) as pool, _judges(options, pool, console) as judges:
            judged = grade_task(found.task, pool, options, console, judges=judges)
            gradebook = found.enter(*judged, pool)
            return write_results(found, pool, *judged, gradebook, console)


def class_folder(path: Path) -> Path:
    """Return the absolute path of a class; raise `KitError` when it is none."""
    if path.is_file():
        raise KitError(
            "a class is a folder, and this is a file",
            place=str(path),
            cure="put it into a folder, named by its student (homework/ada.py), and grade that; "
            "a student checks one file with `attn check`",
        )
    if not path.is_dir():
        raise KitError(
            "there is no such folder",
            place=str(path),
            cure="name a folder of submissions, or a course",
        )
    path = path.absolute()  # grader processes work in another folder
    refuse_modules_in(path)
    return path


def _judges(
    options: GradingOptions, pool: GraderPool, console: Console
) -> AbstractContextManager[JudgingPool | None]:
    """Return who judges in place of this machine's own processes, if anybody."""
    if options.cluster is None:
        return nullcontext()
    from autograder.cluster.cluster_pool import cluster_pool  # only a cluster needs Dask

    def say(words: str) -> None:
        console.print(Text(words, style="yellow"))

    return cluster_pool(options.cluster, pool.processes, say)


def found_class(
    path: Path, exercise: str | None, solutions: Path | None, output: Path | None
) -> FoundClass:
    """Return what there is to grade at `path`, which is absolute; raise `KitError` on bad input."""
    if is_course(path):
        return _in_course(path, exercise, solutions, output)
    task = folder_task(path, exercise, solutions, output)
    return FoundClass(
        task,
        enter=lambda submissions, verdicts, pool: ClassGradebook(),
        read=ClassGradebook,
        deliver=lambda verdicts: None,
    )


def _in_course(
    path: Path, exercise: str | None, solutions: Path | None, output: Path | None
) -> FoundClass:
    from autograder.course.course_task import course_task  # only a course has nbgrader
    from autograder.course.delivered_page import deliver_pages
    from autograder.course.gradebook import write_gradebook
    from autograder.course.gradebook_entries import read_gradebook
    from autograder.course.graded_attempts import noted_attempts
    from autograder.course.intake import handed_in_at

    found = course_task(path, exercise, solutions, output)
    name = found.task.exercise.name

    def read() -> ClassGradebook:
        return read_gradebook(found.course, name)

    def enter(
        submissions: Sequence[Submission], verdicts: Sequence[Verdict], pool: GraderPool
    ) -> ClassGradebook:
        course, facts = found.course, found.task.exercise
        times = {each.student: handed_in_at(each) for each in submissions}
        notes = noted_attempts(course.graded(name), verdicts, times)
        counted = notes.counted(facts, verdicts, course.attempts, course.rules)
        write_gradebook(course, name, verdicts, submissions, pool, counted)
        notes.save()
        return read()

    def deliver(verdicts: Sequence[Verdict]) -> None:
        judged = (each.student for each in verdicts if not each.infrastructure)
        deliver_pages(found.course, name, judged)

    return FoundClass(found.task, enter, read, deliver, found.course.attempts.only_the_last)


def write_results(
    found: FoundClass,
    pool: GraderPool,
    submissions: tuple[Submission, ...],
    verdicts: tuple[Verdict, ...],
    gradebook: ClassGradebook,
    console: Console,
) -> GradedClass:
    """Write the files of every student and of the class, and print the results."""
    task, entries = found.task, gradebook.entries
    exercise, paragraphs = task.exercise, read_paragraphs(task.output)
    lost = write_student_files(pool, task.output, exercise, verdicts, entries, paragraphs)
    found.deliver(verdicts)
    mistakes = misunderstandings(exercise, verdicts)
    examples = code_examples(pool, submissions, mistakes)
    follow_ups = (*lost, *find_follow_ups(exercise, verdicts, submissions, gradebook))
    similar = find_similar_code(pool, exercise, submissions)
    context = ClassContext(entries, follow_ups, tuple(zip(mistakes, examples)), paragraphs, similar)
    return _report(task, verdicts, context, console)


def _report(
    task: ClassTask,
    verdicts: tuple[Verdict, ...],
    context: ClassContext,
    console: Console,
) -> GradedClass:
    """Write what is about the whole class; print its table and what waits for the instructor."""
    exercise, output = task.exercise, task.output
    entries, follow_ups = context.entries, context.follow_ups
    write_drafts(output, context.mistakes, context.paragraphs)
    # The students' pages exist by now, to which the class page has links.
    write_class_page(output / "feedback", exercise, verdicts, context)
    write_grades(output / "grades.csv", exercise, verdicts, entries)
    write_follow_ups(output / "needs-you.json", exercise.name, follow_ups)
    if len(verdicts) <= MOST_PRINTED:
        wraps = console.width < NARROW
        console.print(class_table(exercise, verdicts, entries, wraps=wraps))
    else:  # nobody reads it there, and it takes as long as writing the class page
        console.print(f"{len(verdicts):,} students: the table is on the class page.")
    for line in class_summary(exercise, verdicts, entries):
        console.print(Text(line))
    _print_some(changed_marks(class_roll(exercise, verdicts), entries), "such marks", console)
    problems = tuple(each.line for each in follow_ups if each.not_graded)
    for problem in problems:
        console.print(Text(f"not graded: {terminal_line(problem, 500)}", style="bold red"))
    waiting = [f"needs you: {each.line}" for each in follow_ups if not each.not_graded]
    _print_some(waiting, "things that need you", console)
    return GradedClass(verdicts, output, problems)


def _print_some(lines: Sequence[str], what: str, console: Console) -> None:
    for line in lines[:MOST_LINES]:
        console.print(Text(terminal_line(line, 1_500)))
    if len(lines) > MOST_LINES:
        console.print(f"{len(lines) - MOST_LINES:,} more {what} are on the class page.")
