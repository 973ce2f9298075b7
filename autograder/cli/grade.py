"""`attn grade`: grades a course or a folder of files, writes the results and shows them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.text import Text

from autograder.cli.output import lasting_output
from autograder.cli.student_files import write_student_files
from autograder.errors import KitError
from autograder.grading.class_task import ClassTask, EnterGrades, GradingOptions, grade_task
from autograder.grading.classroom import JudgingPool
from autograder.grading.folder_task import folder_task
from autograder.grading.graded_folder import is_course
from autograder.grading.grader_pool import GraderPool
from autograder.grading.lock import WAITS, class_lock, ended_by_signals
from autograder.grading.unjudged import stopped_at
from autograder.model.import_path import refuse_modules_in
from autograder.model.sanitize import terminal_line
from autograder.model.verdict import Outcome, Verdict
from autograder.reports.class_page import write_class_page
from autograder.reports.class_summary import class_summary
from autograder.reports.grades_csv import write_grades
from autograder.reports.table import class_table

MOST_PRINTED = 1_000  # rows of the table in a terminal


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
    if not path.is_dir():
        raise KitError(
            "there is no such folder",
            place=str(path),
            cure="name a folder of submissions, or a course",
        )
    # Grader processes work in another folder.
    path, output = path.absolute(), output.absolute() if output else None
    refuse_modules_in(path)
    found = _in_course if is_course(path) else _in_folder
    with ended_by_signals(), class_lock(path, lambda: console.print(Text(WAITS))):
        task, enter = found(path, exercise, solutions, output)
        with GraderPool(options.processes) as pool, _judges(options, pool, console) as judges:
            submissions, verdicts = grade_task(task, pool, options, console, judges=judges)
            enter(verdicts, submissions, pool)
            problems = write_student_files(pool, task.output, task.exercise, verdicts)
        return report(task, verdicts, problems, console)


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


def _in_folder(
    path: Path, exercise: str | None, solutions: Path | None, output: Path | None
) -> tuple[ClassTask, EnterGrades]:
    """Return what there is to grade in a folder, which has no gradebook."""
    task = folder_task(path, exercise, solutions, output)
    return task, lambda verdicts, submissions, pool: None


def _in_course(
    path: Path, exercise: str | None, solutions: Path | None, output: Path | None
) -> tuple[ClassTask, EnterGrades]:
    """Return what there is to grade in a course, and how its gradebook gets the grades."""
    from autograder.course.course_task import course_task  # only a course has nbgrader
    from autograder.course.gradebook import write_gradebook

    found = course_task(path, exercise, solutions, output)
    return found.task, partial(write_gradebook, found.course, found.task.exercise.name)


def report(
    task: ClassTask, verdicts: tuple[Verdict, ...], without_page: Sequence[str], console: Console
) -> GradedClass:
    """Write what is about the whole class; print its table and what could not be done."""
    exercise, output = task.exercise, task.output
    # The students' pages exist by now, to which the class page has links.
    write_class_page(output / "feedback", exercise, verdicts)
    write_grades(output / "grades.csv", exercise, verdicts)
    if len(verdicts) <= MOST_PRINTED:
        console.print(class_table(exercise, verdicts))
    else:  # nobody reads it there, and it takes as long as writing the class page
        console.print(f"{len(verdicts):,} students: the table is on the class page.")
    for line in class_summary(exercise, verdicts):
        console.print(Text(line))
    problems = (*_not_judged(verdicts), *without_page)
    for problem in problems:
        console.print(Text(f"not graded: {terminal_line(problem, 500)}", style="bold red"))
    return GradedClass(verdicts, output, problems)


def _not_judged(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    sentences = []
    for verdict in verdicts:
        finding = verdict.steps[0].finding
        if verdict.infrastructure:
            failed = next(step for step in verdict.steps if step.outcome is Outcome.INFRASTRUCTURE)
            details = "; ".join(failed.finding.details) if failed.finding else ""
            sentences.append(f"{verdict.student}: a fault of the grader ({details}). Grade again.")
        elif finding and finding.outcome is Outcome.REJECTED:
            sentences.append(f"{verdict.student}: {finding.fact}")
        elif stopped := stopped_at(verdict):
            sentences.append(f"{verdict.student}: judged only in part. {stopped.fact}")
    return tuple(sentences)
