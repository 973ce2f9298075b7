"""What `attn watch` shows: how far, the step at hand, what is wrong with it, and the keys.

One function from a state to lines, so that a screen that is cleared and a plain log show the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console, RenderableType
from rich.text import Text

from autograder.errors import KitError
from autograder.learning.runner.results import Checkup, StepRun
from autograder.learning.state.session import LearnerSession
from autograder.learning.terminal.listing import bar, overall
from autograder.learning.terminal.screen import (
    show_finding,
    show_printed,
    show_trouble,
    sign,
    worth,
)
from autograder.model.exercise import Exercise, Step
from autograder.model.symbols import HIDDEN
from autograder.model.verdict import Outcome
from autograder.submission.definitions import find_in_piece

KEYS = ("n next", "h hint", "s show", "l list", "r reset", "q quit")


@dataclass(frozen=True)
class View:
    """The state of a watch.

    focus: the step that was asked for with n, or "". news: what changed with the last save.
    extra: what a key has brought up; when `held`, the next answer
    leaves it there. question: what waits for y or n. busy: what goes on.
    """

    desk: LearnerSession
    exercise: Exercise
    outcome: Checkup | KitError | None = None
    focus: str = ""
    news: tuple[str, ...] = ()
    extra: tuple[RenderableType, ...] = ()
    held: bool = False
    question: str = ""
    busy: str = ""

    @property
    def checkup(self) -> Checkup | None:
        """The last answer, when there is one."""
        return self.outcome if isinstance(self.outcome, Checkup) else None

    @property
    def open(self) -> tuple[StepRun, ...]:
        """The steps that do not pass."""
        runs = self.checkup.steps if self.checkup else ()
        return tuple(run for run in runs if not run.verdict.passes)

    @property
    def at(self) -> StepRun | None:
        """The step at hand: the one asked for while it is open, else the first that is open."""
        asked = [run for run in self.open if run.step.name == self.focus]
        return next(iter(asked or self.open), None)

    @property
    def step(self) -> Step:
        """The step at hand; without an answer the first that did not pass; else the last one."""
        if self.at:
            return self.at.step
        return self.exercise.steps[-1] if self.checkup else self.desk.open_step(self.exercise)

    @property
    def following(self) -> str:
        """The name of the open step after the one at hand, or "" when there is no other."""
        names = [run.step.name for run in self.open]
        if len(names) < 2 or not self.at:
            return ""
        return names[(names.index(self.at.step.name) + 1) % len(names)]


def show(console: Console, view: View, *, keys: bool) -> None:
    """Show a view."""
    _show_head(console, view)
    for line in view.news:
        console.print(Text(line, style="green"))
    console.print()
    _show_outcome(console, view)
    if view.extra:
        console.print()
    for piece in view.extra:
        console.print(piece)
    if view.busy:
        console.print(Text(f"… {view.busy}", style="dim"))
    if keys:
        console.print()
        console.print(Text(view.question, style="bold") if view.question else keys_line())


def _show_head(console: Console, view: View) -> None:
    done, of = overall(view.desk)
    head = Text.assemble((view.exercise.name, "bold"), "  all exercises ", bar(done, of))
    console.print(head.append(f" {done} of {of} steps"))
    if view.checkup:
        marks = Text(" ").join(_mark(run, view.at) for run in view.checkup.steps)
        console.print(marks)


def _mark(run: StepRun, at: StepRun | None) -> Text:
    shown = sign(run.verdict.outcome)
    return Text.assemble("[", shown, "]", style="bold") if run is at else shown


def _show_outcome(console: Console, view: View) -> None:
    outcome = view.outcome
    if isinstance(outcome, KitError):
        fact, *rest = outcome.lines
        console.print(Text(fact, style="red"))
        for line in rest:
            console.print(Text(line))
    elif outcome:
        _show_checkup(console, view, outcome)


def _show_checkup(console: Console, view: View, checkup: Checkup) -> None:
    for remark in checkup.remarks:
        console.print(Text(remark))
    for trouble in checkup.troubles:
        show_trouble(console, trouble)
    if not view.at:
        console.print(Text(f"Every step of {view.exercise.name} passes.", style="bold"))
        console.print(Text(HIDDEN))
        after = view.desk.next_exercise(view.exercise)
        if after:
            console.print(Text(f"n goes on to {after.name}."))
        show_printed(console, checkup.printed)
        return
    step = view.at.step
    number = [each.name for each in view.exercise.steps].index(step.name) + 1
    head = Text(f"Step {number} of {len(view.exercise.steps)}: ").append(step.name, "bold")
    console.print(
        head.append(f"  {step.title}, {worth(step)}, about {step.minutes} minutes", "dim")
    )
    console.print(Text(_where(checkup, step.name), style="cyan"), soft_wrap=True)
    show_finding(console, view.at)
    if view.at.verdict.outcome is Outcome.NOT_WRITTEN:
        console.print(Text("  Write it there and save: the answer comes here.", style="dim"))


def _where(checkup: Checkup, name: str) -> str:
    """The file, and the line or the cell that defines a step; a line as editors understand it."""
    file = checkup.file
    if file.is_relative_to(Path.cwd()):
        file = file.relative_to(Path.cwd())
    found = [each for cell in checkup.cells for each in find_in_piece(cell) if each.name == name]
    if found:
        # Cells have no numbers that a learner sees, and not all of them are run.
        return f"{file}:{found[0].line}" if file.suffix == ".py" else f"{file}, code cell of {name}"
    return str(file)


def keys_line(keys: Sequence[str] = KEYS) -> Text:
    """The keys, each with its word."""
    line = Text()
    for number, words in enumerate(keys):
        key, _, what = words.partition(" ")
        line.append("  " if number else "").append(key, "bold cyan").append(f" {what}")
    return line
