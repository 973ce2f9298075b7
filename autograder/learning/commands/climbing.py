"""`attn hint`: the hints in words, then lines to sort, then a gap to fill."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rich.console import Console, RenderableType
from rich.text import Text

from autograder.ladder.rungs import Rungs
from autograder.learning.runner.results import Checkup
from autograder.learning.state.answer_key import (
    WITHOUT,
    solution_folder,
    step_rungs,
)
from autograder.learning.state.session import LearnerSession, Say, open_session
from autograder.learning.terminal.indented import Indented
from autograder.learning.terminal.rung_screen import gap_lines, puzzle_lines
from autograder.learning.terminal.screen import command, hint
from autograder.model.exercise import Exercise, Step
from autograder.model.verdict import Outcome


def next_hint(
    folder: Path, words: str | None, console: Console, say: Say, *, again: bool = False
) -> None:
    """Show the next hint for a step, or all when none are left; or the last one `again`."""
    session = open_session(folder, say)
    exercise, step = session.step(words)
    pieces = (last_hint if again else _next)(session, exercise, step)
    for piece in pieces:
        console.print(piece, crop=False)


def _next(session: LearnerSession, exercise: Exercise, step: Step) -> tuple[RenderableType, ...]:
    return give_hint(session, exercise, step)[1]


def last_hint(
    session: LearnerSession, exercise: Exercise, step: Step
) -> tuple[RenderableType, ...]:
    """Return the lines of the last hint that was given for a step."""
    rungs, known = step_rungs(session.workspace, exercise, step), session.known(exercise, step)
    highest = len(step.hints) + _higher(rungs)
    number = min(max(known.hints, known.seen_hints), highest)
    name = session.name_of(exercise, step)
    if number:
        return _told(step, rungs, number, name)
    words = Text(f"There was no hint for {step.name} yet.")
    return (words, command(f"attn hint {name}", "gives the first"))


def give_hint(
    session: LearnerSession, exercise: Exercise, step: Step
) -> tuple[LearnerSession, tuple[RenderableType, ...]]:
    """Climb one rung for a step: save that it was given, and return its lines."""
    rungs = step_rungs(session.workspace, exercise, step)
    known, count = session.known(exercise, step), len(step.hints)
    highest = count + _higher(rungs)
    if max(known.hints, known.seen_hints) >= highest:
        every = (piece for n in range(1, count + 1) for piece in hint(step, n, highest))
        return session, (_title(step), *every, *_after_all(session, exercise, step, rungs))
    number = max(known.hints, known.seen_hints) + 1
    name = session.name_of(exercise, step)
    if known.passed:  # afterwards, to look is no help
        seen = replace(known, seen_hints=number)
        return session.noted(exercise, step, seen), _told(step, rungs, number, name)
    session = session.noted(exercise, step, known.with_hints(number))
    return session, _told(step, rungs, number, name)


def _told(step: Step, rungs: Rungs | None, number: int, name: str) -> tuple[RenderableType, ...]:
    highest = len(step.hints) + _higher(rungs)
    left = highest - number
    more = f"{left} more if you ask again." if left else "That was the last one."
    if rungs and number == len(step.hints):
        more = f"{left} more if you ask again: lines of code to sort, then the step with a gap."
    rung = _rung(step, rungs, number, highest, name)
    return (_title(step), *rung, Indented(Text(more), 0, 2))


def _title(step: Step) -> Indented:
    return Indented(Text(f"{step.name}: {step.title}", style="bold"), 0, 2)


def unasked_hint(
    session: LearnerSession, checkup: Checkup
) -> tuple[LearnerSession, tuple[RenderableType, ...]]:
    """Note the first hint as seen, and return it, for a check that can say nothing more.

    Where a check names what is wrong, the hint would be about something else. It is shown until the
    first hint is asked for, and is not counted as help.
    """
    run = checkup.next
    if run is None or not run.step.hints or checkup.troubles:
        return session, ()
    known, finding = session.known(checkup.exercise, run.step), run.verdict.finding
    not_written = run.verdict.outcome is Outcome.NOT_WRITTEN
    unexplained = finding is not None and finding.vague and not finding.misconception
    if known.hints or not (not_written or unexplained):
        return session, ()
    rungs = step_rungs(session.workspace, checkup.exercise, run.step)
    session = session.noted(checkup.exercise, run.step, replace(known, seen_hints=1))
    return session, (*hint(run.step, 1, len(run.step.hints) + _higher(rungs)), Text())


def _higher(rungs: Rungs | None) -> int:
    """Return how many rungs there are above the hints in words."""
    return 0 if rungs is None else 1 if rungs.gap is None else 2


def _rung(
    step: Step, rungs: Rungs | None, number: int, highest: int, name: str
) -> tuple[RenderableType, ...]:
    if number <= len(step.hints) or rungs is None:
        return tuple(hint(step, number, highest))
    head = Text(f"Hint {number} of {highest}:", "dim")
    lines = puzzle_lines(rungs, name) if number == len(step.hints) + 1 else gap_lines(rungs)
    return (head, *lines)


def _after_all(
    session: LearnerSession, exercise: Exercise, step: Step, rungs: Rungs | None
) -> tuple[RenderableType, ...]:
    if rungs:
        name = session.name_of(exercise, step)
        return (
            *(gap_lines(rungs) if rungs.gap is not None else ()),
            Indented(Text("Those are all the hints for this step."), 0, 0),
            command(f"attn puzzle {name}", "shows the lines to sort again"),
            command(f"attn solution {name}", "shows the solution"),
        )
    words = "Those are all the hints for this step."
    if step.hints and solution_folder(session.workspace, exercise) is None:
        words = f"{words} {WITHOUT}, so there are no lines to sort."
    return (Indented(Text(words), 0, 0),)
