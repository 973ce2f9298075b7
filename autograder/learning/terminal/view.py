"""What `attn watch` shows: progress, the current step, what is wrong with it, and the keys.

A single function turns the state into lines, so that a terminal and a plain log show the same.
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

    focus: the step chosen with n, or "". news: what changed with the last save. extra: what a key
    has shown; if `held`, it stays after the next answer. question: it waits for y or n. busy:
    what is going on.
    """

    session: LearnerSession
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
        """The last answer, or None."""
        return self.outcome if isinstance(self.outcome, Checkup) else None

    @property
    def open(self) -> tuple[StepRun, ...]:
        """The steps that do not pass."""
        runs = self.checkup.steps if self.checkup else ()
        return tuple(run for run in runs if not run.verdict.passes)

    @property
    def at(self) -> StepRun | None:
        """The current step: the chosen one while it is open, or else the first open one."""
        asked = [run for run in self.open if run.step.name == self.focus]
        return next(iter(asked or self.open), None)

    @property
    def step(self) -> Step:
        """The current step, or before the first answer the first open one, or else the last."""
        if self.at:
            return self.at.step
        return self.exercise.steps[-1] if self.checkup else self.session.open_step(self.exercise)

    @property
    def following(self) -> str:
        """The name of the open step after the current one, or "" if there is no other."""
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
    done, of = overall(view.session)
    head = Text.assemble((view.exercise.name, "bold"), "  all exercises ", bar(done, of))
    console.print(head.append(f" {done} of {of} steps"))
    if view.checkup:
        marks = Text(" ").join(_mark(run, view.at) for run in view.checkup.steps)
        console.print(marks)


def _mark(run: StepRun, at: StepRun | None) -> Text:
    mark = sign(run.verdict.outcome)
    return Text.assemble("[", mark, "]", style="bold") if run is at else mark


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
        after = view.session.next_exercise(view.exercise)
        if after:
            console.print(Text(f"n continues with {after.name}."))
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
        console.print(Text("  Write it there and save: the answer appears here.", style="dim"))


def _where(checkup: Checkup, name: str) -> str:
    """Return the file with the line (in a form that editors know) or cell that defines a step."""
    file = checkup.file
    if file.is_relative_to(Path.cwd()):
        file = file.relative_to(Path.cwd())
    found = [each for cell in checkup.cells for each in find_in_piece(cell) if each.name == name]
    if found:
        # A learner sees no numbers of cells, and not all cells are run.
        return f"{file}:{found[0].line}" if file.suffix == ".py" else f"{file}, code cell of {name}"
    return str(file)


def keys_line(keys: Sequence[str] = KEYS) -> Text:
    """Return the keys, each with its word."""
    line = Text()
    for number, words in enumerate(keys):
        key, _, what = words.partition(" ")
        line.append("  " if number else "").append(key, "bold cyan").append(f" {what}")
    return line
