"""What `attn watch` shows: progress, the current step, what is wrong with it, and the keys.

On a screen with keys nothing scrolls away: what does not fit is cut, and it is said where the rest
is. A log has everything.
"""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from autograder.errors import KitError
from autograder.learning.own_work import beyond_the_checks
from autograder.learning.runner.results import Checkup, StepRun
from autograder.learning.terminal.listing import bar, overall
from autograder.learning.terminal.screen import (
    show_finding,
    show_printed,
    show_troubles,
    sign_of,
    tally,
    worth,
)
from autograder.learning.terminal.screen_rows import ShownLines, captured, cut, rows
from autograder.learning.terminal.view import View
from autograder.model.symbols import mark
from autograder.model.verdict import Outcome
from autograder.submission.definitions import find_in_piece

MOVES = ("n next", "p back")
ACTIONS = ("t text", "h hint", "s show", "l list", "r reset", "q quit")
LEAST = 5  # rows that the current step keeps when a key shows something long


def screen(console: Console, view: View, *, keys: bool) -> ShownLines:
    """Return the lines to show; with keys, no more than the screen has room for."""
    with captured(console) as head:
        _show_head(console, view)
        for line in view.news:
            console.print(Text(line, style="green"))
        console.print()
    with captured(console) as outcome:
        _show_outcome(console, view)
    with captured(console) as extra:
        for piece in view.extra:
            console.print(piece, crop=False)
    with captured(console) as foot:
        _show_foot(console, view, keys=keys)
    above = ("", *extra) if extra else ()
    if keys:
        width = console.width
        # The cursor has a row, too.
        room = console.height - 1 - rows(head, width) - rows(foot, width)
        kept = min(LEAST, rows(outcome, width)) if above else 0
        check = f"attn check {view.step.name}"
        outcome = list(cut(outcome, max(room - rows(above, width), kept), width, check))
        above = cut(above, room - rows(outcome, width), width, view.whole)
    return (*head, *outcome, *above, *foot)


def _show_head(console: Console, view: View) -> None:
    done, of = overall(view.session)
    head = Text.assemble((view.exercise.name, "bold"), "  all exercises ", bar(done, of))
    console.print(head.append(f" {done} of {of} steps"))
    runs = view.checkup.steps if view.checkup else ()
    marks = Text(" ").join(_mark(run, view.at) for run in runs)
    console.print(Text("  ").join(each for each in (marks, Text(view.looked, "dim")) if each))


def _show_foot(console: Console, view: View, *, keys: bool) -> None:
    if view.busy:
        console.print(Text(f"… {view.busy}", style="dim"))
    if keys:
        console.print()
        known = keys_line(len(view.exercise.steps))
        console.print(Text(view.question, style="bold") if view.question else known)


def _mark(run: StepRun, at: StepRun | None) -> Text:
    mark = sign_of(run)
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
    show_troubles(console, checkup, view.at)
    if not view.at:
        name = view.exercise.name
        by_layer = any(run.verdict.by_layer for run in checkup.steps)
        done = f"{name} is done. {tally(checkup)}" if by_layer else f"Every step of {name} passes."
        console.print(Text(done, style="bold"))
        console.print(Text(beyond_the_checks(view.exercise)))
        commands = (
            f"attn play {name}, then attn finish" if view.exercise.plays else f"attn finish {name}"
        )
        console.print(Text(f"In another terminal, or after q: {commands}"))
        after = view.session.next_exercise(view.exercise)
        if after:
            console.print(Text(f"n continues with {after.name}."))
        show_printed(console, checkup.printed)
        return
    step = view.at.step
    head = Text(f"Step {view.number} of {len(view.exercise.steps)}: ").append(step.name, "bold")
    console.print(
        head.append(f"  {step.title}, {worth(step)}, about {step.minutes} minutes", "dim")
    )
    console.print(Text(_where(checkup, step.name), style="cyan"), soft_wrap=True)
    if view.at.verdict.passes:
        console.print(Text(f"  {mark(Outcome.PASSED).sentence}"))
        return
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


def keys_line(steps: int) -> Text:
    """Return the keys, each with its word."""
    line = Text()
    for words in (*MOVES, f"1-{steps} step", *ACTIONS):
        key, _, what = words.partition(" ")
        line.append("  " if line else "").append(key, "bold cyan").append(f" {what}")
    return line
