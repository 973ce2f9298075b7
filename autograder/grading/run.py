"""Grade a path and write down all that follows from it: the work behind `attn grade`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from autograder.errors import KitError
from autograder.exercise import Exercise, find_exercise
from autograder.grading.classroom import GradingRun, grade_class, read_class
from autograder.grading.digest import exercise_hash
from autograder.grading.graded_folder import find_solutions, is_course
from autograder.grading.grader_pool import GraderPool
from autograder.grading.import_path import refuse_modules_in
from autograder.grading.journal import JOURNAL, Journal, JournalFault, judging_key
from autograder.grading.output_folder import claim_output, input_secret
from autograder.grading.roster import HandIn, course_roster, flat_roster
from autograder.grading.turn import turn
from autograder.plain import terminal_line
from autograder.reading.submission import Submission
from autograder.reports.feedback import write_feedback
from autograder.reports.grades_csv import write_grades
from autograder.reports.summary import class_summary
from autograder.reports.table import class_table
from autograder.reports.verdict_files import write_verdicts
from autograder.sandbox import Zygote
from autograder.verdict import Outcome, Verdict


@dataclass(frozen=True)
class Manner:
    """How to grade: in how many processes (None: one per core), isolated or not (`allow_process`),
    and whether to judge `again` what has been judged before."""

    processes: int | None = None
    allow_process: bool = False
    again: bool = False


@dataclass(frozen=True)
class Graded:
    """The result of a run: where it lies, and whether everybody could be judged."""

    verdicts: tuple[Verdict, ...]
    output: Path
    problems: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """True when every submission was read and judged."""
        return not self.problems


@dataclass(frozen=True)
class Task:
    """One class and one exercise: who handed in what and where, where results go (and whether
    somebody named that folder), where the secret of its inputs lies."""

    exercise: Exercise
    hand_ins: tuple[HandIn, ...]
    graded: Path
    output: Path
    output_named: bool
    secret: Path


def grade_path(
    path: Path,
    *,
    exercise: str | None,
    solutions: Path | None,
    output: Path | None,
    manner: Manner,
    console: Console,
) -> Graded:
    """Grade what lies at `path`, write and print the results; raise `KitError` on bad input.

    Another run on the same class is waited for.
    """
    if not path.is_dir():
        raise KitError(
            "there is no such folder",
            place=str(path),
            cure="name a folder of submissions, or a course",
        )
    # Grader processes do not work in the current folder.
    path, output = path.absolute(), output.absolute() if output else None
    refuse_modules_in(path)
    course = is_course(path)
    waits = Text("another run is grading this class: waiting for it to end")
    with turn(path, lambda: console.print(waits)):
        if course:
            return _grade_course(path, exercise, solutions, output, manner, console)
        return _grade_folder(path, exercise, solutions, output, manner, console)


def _grade_folder(
    path: Path,
    exercise: str | None,
    solutions: Path | None,
    output: Path | None,
    manner: Manner,
    console: Console,
) -> Graded:
    if exercise is None:
        raise KitError(
            "it is not said which exercise this is",
            place=str(path),
            cure="add --exercise, for example --exercise numpy_single_head",
        )
    facts = find_exercise(exercise, find_solutions(solutions, path).absolute())
    target = output or path.resolve().with_name(f"{path.resolve().name}-graded")
    if target.resolve().is_relative_to(path.resolve()):
        raise KitError(
            "the results would lie among the submissions, and be graded as one the next time",
            place=str(target),
            cure="name a folder outside with --output",
        )
    task = Task(facts, flat_roster(path), path, target, output is not None, target)
    with GraderPool(manner.processes) as pool:
        _, verdicts = grade_shown(task, pool, manner, console)
    return report(task, verdicts, console)


def _grade_course(
    path: Path,
    exercise: str | None,
    solutions: Path | None,
    output: Path | None,
    manner: Manner,
    console: Console,
) -> Graded:
    from autograder.course.creation import read_course
    from autograder.course.gradebook import write_gradebook
    from autograder.course.settings import open_gradebook, read_settings

    course = read_course(path)
    if solutions and solutions.resolve() != course.solutions:
        raise KitError(
            "a course says itself where its solutions are, and --solutions names another place",
            place=str(path),
            cure=f"leave --solutions out; the course's are in {course.solutions}",
        )
    if exercise is None and len(course.exercises) != 1:
        raise KitError(
            "the course has several exercises",
            place=str(path),
            cure=f"add --exercise with one of: {', '.join(course.exercises)}",
        )
    facts = course.exercise(exercise or course.exercises[0])
    students = course.students(facts.name)
    if not students:
        raise KitError(
            f"nobody has handed in {facts.name}",
            place=str(path / "submitted"),
            cure=f"collect first, so that there are submitted/STUDENT/{facts.name}/ folders",
        )
    # A course that is not released has no place for grades: better said before than after.
    with open_gradebook(course, read_settings(course), facts.name):
        pass
    folders = [(student, course.submitted(facts.name, student)) for student in students]
    target = output or course.graded(facts.name)
    hand_ins = course_roster(folders)
    task = Task(facts, hand_ins, path, target, output is not None, course.secret_folder)
    with GraderPool(manner.processes) as pool:
        submissions, verdicts = grade_shown(task, pool, manner, console)
        write_gradebook(course, facts.name, verdicts, submissions, pool)
    return report(task, verdicts, console)


def grade_shown(
    task: Task, pool: GraderPool, manner: Manner, console: Console
) -> tuple[tuple[Submission, ...], tuple[Verdict, ...]]:
    """Read and grade with a progress bar; what the journal in the output holds is not judged again."""
    journal, exercise = Journal(task.output / JOURNAL), task.exercise
    if not journal.path.exists() or sys.platform != "linux":
        _demand_protection(task, manner)  # a refusal leaves nothing behind
    claim_output(task.output, task.graded, exercise.name, named=task.output_named)
    if broken := journal.prepare():
        console.print(Text(broken, style="yellow"))
    submissions = read_class(pool, exercise, task.hand_ins)
    kept = _kept(journal, exercise, submissions, manner)
    if kept:
        count = f"{len(kept)} of {len(submissions)} submissions"
        console.print(Text(f"{count} were judged before and have not changed since"))
    left = [submission for submission in submissions if submission.student not in kept]
    run = GradingRun(journal.path, input_secret(task.secret), manner.allow_process, task.graded)
    with Progress(*_COLUMNS, console=console) as progress:
        bar = progress.add_task(exercise.name, total=len(submissions), completed=len(kept))
        judged = grade_class(
            exercise,
            left,
            run=run,
            pool=pool,
            on_verdict=lambda verdict: progress.advance(bar),
        )
    known = kept | {verdict.student: verdict for verdict in judged}
    return submissions, tuple(known[submission.student] for submission in submissions)


def _demand_protection(task: Task, manner: Manner) -> None:
    """Raise `KitError` where this machine does not isolate submissions, whatever their library."""
    if manner.allow_process and sys.platform == "linux":
        return
    exercise, hidden = task.exercise, (task.graded,)
    with Zygote("numpy", exercise.limits, secrets=(exercise.folder.resolve(),), hidden=hidden):
        pass


_COLUMNS = (
    TextColumn("grading {task.description}"),
    BarColumn(),
    MofNCompleteColumn(),
    TimeElapsedColumn(),
)


def _kept(
    journal: Journal, exercise: Exercise, submissions: Sequence[Submission], manner: Manner
) -> dict[str, Verdict]:
    """Return the verdicts that the journal holds, by student; none when all is judged again."""
    digest = exercise_hash(exercise.folder)
    keys = {
        submission.student: judging_key(submission, digest, manner.allow_process)
        for submission in submissions
    }
    try:
        if manner.again:
            journal.forget(keys.values())
        found = {student: journal.find(key, student) for student, key in keys.items()}
    except JournalFault as fault:
        raise KitError(
            str(fault), place=str(journal.path), cure="run the same command again"
        ) from fault
    return {student: verdict for student, verdict in found.items() if verdict}


def report(task: Task, verdicts: tuple[Verdict, ...], console: Console) -> Graded:
    """Write the files of a run, print the class and what could not be judged."""
    exercise, output = task.exercise, task.output
    write_verdicts(output / "verdicts", verdicts)
    write_feedback(output / "feedback", exercise, verdicts)
    write_grades(output / "grades.csv", exercise, verdicts)
    console.print(class_table(exercise, verdicts))
    for line in class_summary(exercise, verdicts):
        console.print(Text(line))
    problems = _not_judged(verdicts)
    for problem in problems:
        console.print(Text(f"not graded: {terminal_line(problem, 500)}", style="bold red"))
    return Graded(verdicts, output, problems)


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
    return tuple(sentences)
