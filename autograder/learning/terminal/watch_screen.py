"""What `attn watch` shows: progress, the current step, what is wrong with it, and the keys.

On a screen with keys nothing scrolls away. What is said of the step comes first; what does not fit
comes with a key, and no sentence is divided. A log has everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console, RenderableType
from rich.text import Text

from autograder.errors import KitError
from autograder.learning.own_work import beyond_the_checks
from autograder.learning.runner.results import Checkup, StepRun
from autograder.learning.terminal.indented import Indented, unbroken
from autograder.learning.terminal.listing import bar, overall
from autograder.learning.terminal.screen import (
    command,
    printed_pieces,
    show,
    sign_of,
    tally,
    told_pieces,
    trouble_pieces,
    worth,
)
from autograder.learning.terminal.screen_rows import ShownLines, captured, pages, piece_of, rows
from autograder.learning.terminal.view import View
from autograder.model.symbols import mark
from autograder.model.verdict import Outcome
from autograder.submission.definitions import find_in_piece

MOVES = ("n next", "p back")
ACTIONS = ("t text", "h hint", "s show", "l list", "r reset", "q quit")


def screen(console: Console, view: View, *, keys: bool) -> ShownLines:
    """Return the lines to show; with keys, no more than the screen has room for."""
    with captured(console) as head:
        _show_head(console, view)
        for line in view.news:
            console.print(Text(line, style="green"))
        console.print()
    with captured(console) as foot:
        _show_foot(console, view, keys=keys)
    if not keys:
        with captured(console) as everything:
            show(console, _body(view))
        return (*head, *everything, *foot)
    # The cursor has a row, too.
    room = console.height - 1 - rows(head, console.width) - rows(foot, console.width)
    found = _pages(console, view, room)
    return (*head, *found[view.page % len(found)], *foot)


def _pages(console: Console, view: View, room: int) -> tuple[ShownLines, ...]:
    """Return the pages of the body; the picture of a step that has passed gives way to words."""
    found = tuple[ShownLines, ...]()
    for pictured in (True, False):
        pieces = [piece_of(console, each) for each in _body(view, pictured=pictured)]
        found = pages(pieces, room, console.width)
        if len(found) == 1 or not view.stays:
            break
    return found


def _body(view: View, *, pictured: bool = True) -> Iterator[RenderableType]:
    """Yield what is said of the step, then what a key has shown, and then the rest."""
    yield from _outcome(view, pictured=pictured)
    if view.extra and not (view.leads and view.at):
        yield from (Text(), *view.extra)
    if view.at and view.checkup:
        yield from _beside(view.checkup, view.at)


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


def _outcome(view: View, *, pictured: bool = True) -> Iterator[RenderableType]:
    outcome = view.outcome
    if isinstance(outcome, KitError):
        fact, *rest = outcome.lines
        yield Text(fact, style="red")
        yield from map(Text, rest)
    elif outcome and view.at:
        yield from _step(view, outcome, view.at, pictured=pictured)
    elif outcome:
        yield from _all_done(view, outcome)


def _step(view: View, checkup: Checkup, at: StepRun, *, pictured: bool) -> Iterator[RenderableType]:
    """Yield what is said of the current step."""
    yield from trouble_pieces(checkup, at)
    step = at.step
    head = Text(f"Step {view.number} of {len(view.exercise.steps)}: ").append(step.name, "bold")
    yield head.append(f"  {step.title}, {worth(step)}, about {step.minutes} minutes", "dim")
    yield unbroken(Text(_where(checkup, step.name), style="cyan"))
    if view.extra and view.leads:
        yield from (*view.extra, Text())
    if view.stays:
        yield from _passed(view, at, pictured=pictured)
    elif at.verdict.passes:
        yield Indented(Text(mark(Outcome.PASSED).sentence))
    else:
        yield from told_pieces(at)
        if at.verdict.outcome is Outcome.NOT_WRITTEN:
            yield Indented(Text("Write it there and save: the answer appears here.", style="dim"))


def _beside(checkup: Checkup, at: StepRun) -> Iterator[RenderableType]:
    """Yield what the step has printed, and what is said of the file."""
    if not at.verdict.passes:
        yield from printed_pieces(at.failing.printed if at.failing else "")
    yield from map(Text, checkup.remarks)


def _passed(view: View, at: StepRun, *, pictured: bool) -> Iterator[RenderableType]:
    """Yield the picture of a step that has just passed, its question, and how to go on."""
    if pictured:
        from autograder.learning.terminal.drawing import own_drawn

        yield from own_drawn(at)
    if view.asked:
        yield Indented(Text.assemble(view.asked, ("  a", "bold cyan"), " the answer"))
    following = view.open[0].step
    number = view.exercise.steps.index(following) + 1
    yield Indented(Text.assemble(("Enter", "bold cyan"), f" for step {number}, {following.name}"))


def _all_done(view: View, checkup: Checkup) -> Iterator[RenderableType]:
    """Yield what is said when every step passes."""
    yield from map(Text, checkup.remarks)
    yield from trouble_pieces(checkup, None)
    name = view.exercise.name
    by_layer = any(run.verdict.by_layer for run in checkup.steps)
    done = f"{name} is done. {tally(checkup)}" if by_layer else f"Every step of {name} passes."
    yield Text(done, style="bold")
    yield Text(beyond_the_checks(view.exercise))
    yield Text("In another terminal, or after q:")
    if view.exercise.plays:
        yield command(f"attn play {name}", "your layer at work")
    yield command(f"attn finish {name}", "what you built, and what to read next")
    after = view.session.next_exercise(view.exercise)
    if after:
        yield Text(f"n continues with {after.name}.")
    yield from printed_pieces(checkup.printed)


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
