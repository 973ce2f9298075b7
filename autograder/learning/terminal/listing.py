"""How far the learner is, over all exercises: a bar each, and the steps of one."""

from __future__ import annotations

from rich.text import Text

from autograder.learning.state.session import LearnerSession
from autograder.learning.terminal.screen import sign, worth
from autograder.model.exercise import Exercise
from autograder.model.symbols import number
from autograder.model.verdict import Outcome

WIDTH = 10
HARDEST = 3
FULL, EMPTY = "━", "·"


def bar(done: int, of: int, width: int = WIDTH) -> Text:
    """A bar that reads without color: `━━━━━··········`."""
    full = round(width * done / of) if of else 0
    full = min(max(full, 1 if done else 0), width - (done < of))
    return Text.assemble((FULL * full, "green"), (EMPTY * (width - full), "dim"))


def overall(desk: LearnerSession) -> tuple[int, int]:
    """The steps that passed last, and all there are, over all exercises."""
    every = desk.workspace.exercises
    return sum(len(desk.progress.passed(each)) for each in every), sum(
        len(each.steps) for each in every
    )


def listed(desk: LearnerSession, current: Exercise) -> tuple[Text, ...]:
    """Every exercise in three lines, with the steps of the current one."""
    lines: list[Text] = []
    for exercise in desk.workspace.exercises:
        lines += _of_exercise(desk, exercise)
        if exercise.name == current.name:
            lines += (_of_step(desk, exercise, place) for place in range(len(exercise.steps)))
    done, of = overall(desk)
    return (*lines, Text(f"{done} of {of} steps passed when they were checked last."))


def _of_exercise(desk: LearnerSession, exercise: Exercise) -> tuple[Text, ...]:
    passed, of = len(desk.progress.passed(exercise)), len(exercise.steps)
    line = Text.assemble("  ", bar(passed, of), f" {passed} of {of} steps,")
    line.append(f" {number(desk.progress.points(exercise))} of {number(exercise.points)} points")
    about = f"  {_left(desk, exercise)}, difficulty {exercise.difficulty} of {HARDEST}"
    name = Text.assemble((exercise.name, "bold"), "  ", (exercise.title, "dim"))
    return name, line, Text(about, style="dim")


def _left(desk: LearnerSession, exercise: Exercise) -> str:
    passed = desk.progress.passed(exercise)
    minutes = sum(step.minutes for step in exercise.steps if step.name not in passed)
    return f"about {minutes} minutes left" if minutes else "done"


def _of_step(desk: LearnerSession, exercise: Exercise, place: int) -> Text:
    step = exercise.steps[place]
    known = desk.known(exercise, step)
    line = Text.assemble("  ", sign(Outcome.PASSED if known.passed else Outcome.NOT_WRITTEN))
    line.append(f" {place + 1} {step.name}")
    used = f", {known.hints} of {len(step.hints)} hints" if known.hints else ""
    shown = ", solution shown" if known.solution else ""
    return line.append(f"  {worth(step)}, about {step.minutes} minutes{used}{shown}", "dim")
