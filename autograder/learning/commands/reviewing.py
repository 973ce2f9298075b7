"""`attn review`: steps that passed come back after 1, 7 and 30 days, blank and on other inputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

from rich.console import Console
from rich.text import Text

from autograder.learning.own_work import read_work
from autograder.learning.runner.checking import Checking
from autograder.learning.runner.process import Child
from autograder.learning.runner.results import StepRun
from autograder.learning.state.answer_key import WITHOUT
from autograder.learning.state.progress import REVIEW_DAYS, reviewed
from autograder.learning.state.review_file import ReviewFile
from autograder.learning.state.session import LearnerSession, Say, open_session
from autograder.learning.terminal.indented import Indented
from autograder.learning.terminal.screen import command, finding_pieces, show, sign
from autograder.model.exercise import Exercise, Step
from autograder.model.verdict import Outcome

HOW_OFTEN = "A step that passes comes back after {}, {} and {} days.".format(*REVIEW_DAYS)


def due_today(session: LearnerSession, today: date) -> tuple[tuple[Exercise, Step], ...]:
    """Return the steps of the workspace whose review has come."""
    return tuple(
        (exercise, step)
        for exercise in session.workspace.exercises
        for step in session.progress.to_review(exercise, today)
    )


def review_words(session: LearnerSession, today: date) -> str:
    """Return a sentence about what is to be reviewed, "" for nothing."""
    due = due_today(session, today)
    count = "1 step is" if len(due) == 1 else f"{len(due)} steps are"
    return f"{count} to be reviewed today: {', '.join(step.name for _, step in due)}." * bool(due)


def review_command(session: LearnerSession, today: date) -> Indented:
    """Return the command that brings back what is to be reviewed."""
    what = "it" if len(due_today(session, today)) == 1 else "them"
    return command("attn review", f"brings {what} back, blank")


def list_reviews(folder: Path, today: date, console: Console, say: Say) -> None:
    """Make the files of the steps whose review has come, and say where they are."""
    session = open_session(folder, say)
    due = due_today(session, today)
    if not due:
        console.print(Text(_nothing(session)))
        return
    console.print(Text("Write these steps again, from memory:"))
    for exercise, step in due:
        session, file = _begun(session, exercise, step, today)
        console.print(command(_shown(file.path), step.title))
    console.print(Text("Your own work stays as it is. When one is written:"))
    exercise, step = due[0]
    why = "checks it" if len(due) == 1 else "checks it; the others are named in the same way"
    console.print(command(f"attn review {exercise.name}.{step.name}", why))


def _nothing(session: LearnerSession) -> str:
    days = [
        (session.known(exercise, step).review_on, step.name)
        for exercise in session.workspace.exercises
        for step in exercise.steps
        if session.known(exercise, step).passed and session.known(exercise, step).review_on
    ]
    if not days:
        return f"There is nothing to review. {HOW_OFTEN}"
    day, name = min(days, key=lambda each: each[0])
    return f"There is nothing to review today. Next: {name}, on {day}."


def review_step(folder: Path, words: str, today: date, console: Console, say: Say) -> bool:
    """Check a step in its review file, and note when it comes back; return whether it passes."""
    session = open_session(folder, say)
    exercise, step = session.step(words)
    known = session.known(exercise, step)
    is_due = step in session.progress.to_review(exercise, today)
    if not is_due and known.review_begun != today.isoformat():
        console.print(Text(_not_due(session, exercise, step)))
        return False
    session, file = _begun(session, exercise, step, today)
    known = session.known(exercise, step)
    run = _asked(file, today)
    if run.verdict.passes:
        session.noted(exercise, step, replace(reviewed(known, today, passed=True), review_begun=""))
        file.put_away(today)
    elif run.verdict.outcome is not Outcome.NOT_WRITTEN:
        session.noted(exercise, step, reviewed(known, today, passed=False))
    for line in _answer(session, file, run):
        console.print(line)
    if not run.verdict.passes:
        show(console, finding_pieces(run))
    if file.examples(today) is None:
        console.print(Text(f"{WITHOUT}, so the inputs are those of the worked examples.", "dim"))
    _say_when(console, open_session(folder, say), exercise, step, run)
    return run.verdict.passes


def _not_due(session: LearnerSession, exercise: Exercise, step: Step) -> str:
    known = session.known(exercise, step)
    if not known.passed:
        return f"{step.name} does not pass yet. A review is for steps that have passed."
    if known.review_on:
        return f"{step.name} is not to be reviewed today. It comes back on {known.review_on}."
    if known.reviews:
        return f"{step.name} has passed all of its {len(REVIEW_DAYS)} reviews."
    name = session.name_of(exercise, step)
    return f"{step.name} has no review yet. This notes when it comes back:\n  attn check {name}"


def _begun(
    session: LearnerSession, exercise: Exercise, step: Step, today: date
) -> tuple[LearnerSession, ReviewFile]:
    """Make the file of a review, blank, unless it was made on this day."""
    file = ReviewFile(session.workspace, exercise, step)
    known = session.known(exercise, step)
    if known.review_begun != today.isoformat() or not file.path.is_file():
        file.make(today)
        known = replace(known, review_begun=today.isoformat())
        session = session.noted(exercise, step, known)
    return session, file


def _asked(file: ReviewFile, today: date) -> StepRun:
    """Ask the examples of this day of the learner's file, below their own other steps."""
    own = read_work(file.exercise)
    cells = file.cells(own.cells)
    names = (*(f"{own.path.name}, cell {n}" for n in range(1, len(cells))), str(file.path))
    submission = replace(own, cells=cells, path=file.path)
    folder = file.examples(today) or file.exercise.folder
    exercise = replace(file.exercise, folder=folder)
    checking = Checking(exercise, submission, (file.step,), names=names)
    with Child(exercise) as child:
        (run,) = checking.run(child).steps
    return run


def _answer(session: LearnerSession, file: ReviewFile, run: StepRun) -> Iterator[Text]:
    head = Text.assemble(sign(run.verdict.outcome), f" {file.step.name}: {file.step.title}")
    yield head.append("  review", "dim")
    if run.verdict.outcome is Outcome.NOT_WRITTEN:
        yield Text(f"Write it in {_shown(file.path)}")


def _say_when(
    console: Console, session: LearnerSession, exercise: Exercise, step: Step, run: StepRun
) -> None:
    known = session.known(exercise, step)
    if run.verdict.outcome is Outcome.NOT_WRITTEN:
        return
    if run.verdict.passes:
        last = f"That was the last of {len(REVIEW_DAYS)} reviews."
        console.print(Text(f"It comes back on {known.review_on}." if known.review_on else last))
        return
    console.print(Text(f"It comes back on {known.review_on}. You can go on with it now, too."))
    console.print(command(f"attn review {exercise.name}.{step.name}", "after your next change"))


def _shown(path: Path) -> str:
    here = Path.cwd()
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()
