"""Grade a path and write down all that follows from it: the work behind `attn grade`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from autograder.errors import KitError
from autograder.exercise import Exercise, find_exercise
from autograder.grading.classroom import grade_class
from autograder.grading.roster import Roster, course_roster, flat_roster
from autograder.reports.feedback import write_feedback
from autograder.reports.grades_csv import write_grades
from autograder.reports.summary import class_summary
from autograder.reports.table import class_table
from autograder.reports.verdict_files import write_verdicts
from autograder.submission import Submission
from autograder.verdict import Outcome, Verdict

COURSE = "attn.toml"


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


def grade_path(
    path: Path,
    *,
    exercise: str | None,
    solutions: Path | None,
    output: Path | None,
    processes: int | None,
    allow_process: bool,
    console: Console,
) -> Graded:
    """Grade what lies at `path`, write and print the results; raise `KitError` on bad input."""
    if (path / COURSE).is_file():
        return _grade_course(path, exercise, output, processes, allow_process, console)
    if exercise is None:
        raise KitError(
            "it is not said which exercise this is",
            place=str(path),
            cure="add --exercise, for example --exercise numpy_single_head",
        )
    facts = find_exercise(exercise, solutions or Path("solutions"))
    roster = flat_roster(path, facts)
    target = output or path.resolve().with_name(f"{path.resolve().name}-graded")
    verdicts = grade_shown(facts, roster.submissions, processes, allow_process, console)
    return report(facts, roster, verdicts, target, console)


def _grade_course(
    path: Path,
    exercise: str | None,
    output: Path | None,
    processes: int | None,
    allow_process: bool,
    console: Console,
) -> Graded:
    from autograder.course.creation import read_course
    from autograder.course.gradebook import write_gradebook
    from autograder.course.settings import open_gradebook, read_settings

    course = read_course(path)
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
    roster = course_roster(folders, facts)
    verdicts = grade_shown(facts, roster.submissions, processes, allow_process, console)
    write_gradebook(course, facts.name, verdicts, roster.submissions)
    return report(facts, roster, verdicts, output or path / "graded" / facts.name, console)


def grade_shown(
    exercise: Exercise,
    submissions: Sequence[Submission],
    processes: int | None,
    allow_process: bool,
    console: Console,
) -> tuple[Verdict, ...]:
    """Grade with a progress bar."""
    columns = (
        TextColumn("grading {task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(exercise.name, total=len(submissions))
        return grade_class(
            exercise,
            submissions,
            processes=processes,
            allow_process=allow_process,
            on_verdict=lambda verdict: progress.advance(task),
        )


def report(
    exercise: Exercise,
    roster: Roster,
    verdicts: tuple[Verdict, ...],
    output: Path,
    console: Console,
) -> Graded:
    """Write the files of a run, print the class and what could not be judged."""
    write_verdicts(output / "verdicts", verdicts)
    write_feedback(output / "feedback", exercise, verdicts)
    write_grades(output / "grades.csv", exercise, verdicts)
    console.print(class_table(exercise, verdicts))
    for line in class_summary(exercise, verdicts):
        console.print(Text(line))
    problems = (*roster.problems, *_not_judged(verdicts))
    for problem in problems:
        console.print(Text(f"not graded: {problem}", style="bold red"))
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
