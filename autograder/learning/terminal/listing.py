"""How far the learner is: a bar for each exercise, and the steps of the current one."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from autograder.learning.state.session import LearnerSession
from autograder.learning.terminal.screen import Indented, sign, worth
from autograder.model.exercise import Exercise
from autograder.model.symbols import BY_LAYER, number, style
from autograder.model.verdict import Outcome
from autograder.reports.finish import hints_words

WIDTH = 10
HARDEST = 3
FULL, EMPTY = "━", "·"


def bar(done: int, of: int, width: int = WIDTH) -> Text:
    """Return a bar that can be read without color: `━━━━━··········`."""
    full = round(width * done / of) if of else 0
    full = min(max(full, 1 if done else 0), width - (done < of))
    return Text.assemble((FULL * full, "green"), (EMPTY * (width - full), "dim"))


def overall(session: LearnerSession) -> tuple[int, int]:
    """Return how many steps passed when last checked, and how many there are, in all exercises.

    Optional exercises do not count, unless there are no others.
    """
    there = session.workspace.exercises
    every = [each for each in there if not each.optional] or there
    return sum(len(session.progress.passed(each)) for each in every), sum(
        len(each.steps) for each in every
    )


def listed(session: LearnerSession, current: Exercise) -> tuple[RenderableType, ...]:
    """Return three lines for every exercise, and the steps of the current one."""
    lines: list[RenderableType] = []
    for exercise in session.workspace.exercises:
        lines += _of_exercise(session, exercise)
        if exercise.name == current.name:
            lines += (_of_step(session, exercise, place) for place in range(len(exercise.steps)))
    done, of = overall(session)
    return (*lines, Text(f"{done} of {of} steps passed when last checked."))


def listed_steps(session: LearnerSession, exercise: Exercise) -> tuple[RenderableType, ...]:
    """Return a line for every step of an exercise, and one for all of them."""
    steps = (_of_step(session, exercise, place) for place in range(len(exercise.steps)))
    passed, of = len(session.progress.passed(exercise)), len(exercise.steps)
    return (*steps, Text(f"{passed} of {of} steps passed when last checked."))


def _of_exercise(session: LearnerSession, exercise: Exercise) -> tuple[RenderableType, ...]:
    passed, of = len(session.progress.passed(exercise)), len(exercise.steps)
    line = Text.assemble(bar(passed, of), f" {passed} of {of} steps,")
    line.append(f" {points_words(session, exercise)}")
    about = f"{_left(session, exercise)}, difficulty {exercise.difficulty} of {HARDEST}"
    name = Text.assemble((exercise.name, "bold"), "  ", (exercise.title, "dim"))
    return Indented(name, 0), Indented(line, later=4), Indented(Text(about, style="dim"), later=4)


def points_words(session: LearnerSession, exercise: Exercise) -> str:
    """Return the points so far: `3 of 22 points`, or `optional` where there are none to get."""
    if not exercise.points:
        return "optional"
    return f"{number(session.progress.points(exercise))} of {number(exercise.points)} points"


def _left(session: LearnerSession, exercise: Exercise) -> str:
    passed = session.progress.passed(exercise)
    minutes = sum(step.minutes for step in exercise.steps if step.name not in passed)
    return f"about {minutes} minutes left" if minutes else "done"


def _of_step(session: LearnerSession, exercise: Exercise, place: int) -> Indented:
    step = exercise.steps[place]
    known = session.known(exercise, step)
    last = Outcome(known.outcome) if known.outcome else Outcome.NOT_WRITTEN
    by_layer = Text(BY_LAYER.sign, style(BY_LAYER.sign)) if known.by_layer else None
    line = Text.assemble(by_layer or sign(Outcome.PASSED if known.passed else last))
    line.append(f" {place + 1} {step.name}")
    used = f", {hints_words(known.hints)}" if known.hints else ""
    solution = ", solution shown" if known.solution else ""
    line.append(f"  {worth(step)}, about {step.minutes} minutes{used}{solution}", "dim")
    return Indented(line, later=6)
