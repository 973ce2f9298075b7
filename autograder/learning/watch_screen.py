"""What `attn watch` shows: progress, the current step, what is wrong with it, and the keys.

On a screen with keys nothing scrolls away. What is said of the step comes first; what does not fit
comes with a key, and no sentence is divided. A log has everything.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text

from autograder.errors import KitError
from autograder.learning.progress import LearnerSession
from autograder.learning.results import Checkup, StepRun
from autograder.learning.screen import (
    Indented,
    bar,
    closing_commands,
    command,
    overall,
    points_words,
    printed_pieces,
    show,
    sign_of,
    tally,
    told_pieces,
    trouble_pieces,
    unbroken,
    worth,
)
from autograder.learning.workspace import beyond_the_checks
from autograder.reports.finding import sentences
from autograder.submission.cells import find_in_piece
from autograder.values.exercise import Exercise, Step
from autograder.values.symbols import count as counted
from autograder.values.symbols import mark
from autograder.values.verdict import Outcome

# What is shown on a screen of so many rows: pages that divide no sentence and no picture.

ShownLines = tuple[str, ...]
AGAIN = "… key m: from the beginning"  # below the last of several pages


@contextmanager
def captured(console: Console) -> Iterator[list[str]]:
    """Collect the lines that the body prints, with their colors, instead of showing them."""
    lines: list[str] = []
    with console.capture() as printed:
        yield lines
    lines += printed.get().split("\n")[:-1]


def rows(lines: Sequence[str], width: int) -> int:
    """Return how many rows of a terminal the lines take."""
    return sum(-(-max(cell_len(_plain(line)), 1) // width) for line in lines)


@lru_cache(maxsize=1_024)
def _plain(line: str) -> str:
    return Text.from_ansi(line).plain  # the same lines are measured again and again


@dataclass(frozen=True)
class Piece:
    """A part of a screen, which can be divided between its units: `drawn` gives those of a range.

    count: how many units it has.
    """

    count: int
    drawn: Callable[[int, int], ShownLines]
    is_by_line: bool = False

    def lines(self) -> ShownLines:
        """All of its lines."""
        return self.drawn(0, self.count)

    def behind(self, first: int) -> Piece:
        """The same without its first units."""
        drawn, count = self.drawn, self.count - first
        return replace(self, count=count, drawn=lambda one, end: drawn(one + first, end + first))

    def by_line(self) -> Piece:
        """The same, divided between any two lines: for what no page has room for."""
        lines = self.lines()
        return Piece(len(lines), lambda first, end: lines[first:end], is_by_line=True)


def piece_of(console: Console, shown: RenderableType) -> Piece:
    """Return prose that is divided between sentences, and all else between its paragraphs."""
    frame = shown if isinstance(shown, Indented) else None
    text = frame.text if frame else shown
    if isinstance(text, Text) and text.plain.strip() and not text.no_wrap:
        prose, spans = text, sentences(text.plain)

        def drawn(first: int, end: int) -> ShownLines:
            part = prose[spans[first][0] : spans[end - 1][1]]
            return _printed(console, replace(frame, text=part) if frame else part)

        return Piece(len(spans), drawn)
    blocks = tuple(_blocks(_printed(console, shown)))
    return Piece(len(blocks), lambda first, end: tuple(chain.from_iterable(blocks[first:end])))


def _printed(console: Console, shown: RenderableType) -> ShownLines:
    with captured(console) as lines:
        console.print(shown, crop=False)
    return tuple(lines)


def _blocks(lines: Iterable[str]) -> Iterator[ShownLines]:
    """Give the lines between blank ones, and every run of blank ones by itself."""
    for _, block in groupby(lines, key=_is_blank):
        yield tuple(block)


def _is_blank(line: str) -> bool:
    return not _plain(line).strip()


def pages(pieces: Sequence[Piece], room: int, width: int) -> tuple[ShownLines, ...]:
    """Return what is shown one after the other, each of at most `room` rows.

    If it is more than one page, the last row of each says with which key the next one comes.
    """
    everything = _lines(pieces)
    if rows(everything, width) <= room:
        return (everything,)
    most = _rest(len(everything))
    free = room - max(rows((each,), width) for each in (most, AGAIN))
    found, left = list[ShownLines](), list(pieces)
    while left:
        page, left = _page(left, free, width)
        if not page:  # no room for anything
            return ((most,),) if free >= 0 else ((),)
        found.append((*page, _rest(len(_lines(left))) if left else AGAIN))
    return tuple(found)


def _page(pieces: list[Piece], free: int, width: int) -> tuple[ShownLines, list[Piece]]:
    """Return the lines that fit into `free` rows, and what is left for other pages."""
    shown, left = ShownLines(), pieces
    while left:
        piece, others = left[0], left[1:]
        taken = piece.count
        while taken and rows((*shown, *piece.drawn(0, taken)), width) > free:
            taken -= 1
        if taken:
            shown = _without_blank((*shown, *piece.drawn(0, taken)), at_start=True)
        left = [piece.behind(taken), *others] if taken < piece.count else others
        if taken == piece.count:
            continue
        if shown or piece.is_by_line:
            break
        left = [piece.by_line(), *others]
    while left and all(map(_is_blank, left[0].lines())):
        left = left[1:]
    return _without_blank(shown), left


def _lines(pieces: Sequence[Piece]) -> ShownLines:
    return tuple(line for piece in pieces for line in piece.lines())


def _without_blank(lines: ShownLines, *, at_start: bool = False) -> ShownLines:
    end = 0 if at_start else -1
    while lines and _is_blank(lines[end]):
        lines = lines[1:] if at_start else lines[:-1]
    return lines


def _rest(count: int) -> str:
    return f"… {counted(count, 'more line')}: key m"


# The state of `attn watch`: the answer that is shown, the current step, and how to move.


@dataclass(frozen=True)
class View:
    """The state of a watch.

    focus: the step chosen with n, p or a number, or "". looked: what was checked, and when. news:
    what changed with the last save. passed: the step that passed last, until another is chosen, or
    "". asked: its question, or "". extra: what a key has shown; if `held`, it stays after the next
    answer. leads: whether it stands above what is said of the step. page: which part is shown of
    what does not fit. question: it waits for y or n. busy: what is going on.
    """

    session: LearnerSession
    exercise: Exercise
    outcome: Checkup | KitError | None = None
    focus: str = ""
    looked: str = ""
    news: tuple[str, ...] = ()
    passed: str = ""
    asked: str = ""
    extra: tuple[RenderableType, ...] = ()
    leads: bool = False
    page: int = 0
    held: bool = False
    question: str = ""
    busy: str = ""

    @property
    def checkup(self) -> Checkup | None:
        """The last answer, or None."""
        return self.outcome if isinstance(self.outcome, Checkup) else None

    @property
    def open(self) -> tuple[StepRun, ...]:
        """The steps that are not done."""
        runs = self.checkup.steps if self.checkup else ()
        return tuple(run for run in runs if not run.verdict.is_done)

    @property
    def at(self) -> StepRun | None:
        """The current step: the chosen one, or else the first open one; None if all pass."""
        runs = self.checkup.steps if self.checkup else ()
        chosen = [run for run in runs if run.step.name == self.focus]
        return next(iter(chosen or self.open), None)

    @property
    def stays(self) -> bool:
        """Whether the step that passed last is shown until the learner goes on."""
        passed = bool(self.at and self.at.step.name == self.passed and self.at.verdict.passes)
        return passed and bool(self.open)

    @property
    def step(self) -> Step:
        """The current step, or the chosen or first open one before the first answer."""
        if self.at:
            return self.at.step
        if self.checkup:
            return self.exercise.steps[-1]
        chosen = self.focus and self.exercise.step(self.focus)
        return chosen or self.session.open_step(self.exercise)

    @property
    def number(self) -> int:
        """The number of the current step, from 1."""
        return self.exercise.steps.index(self.step) + 1

    @property
    def following(self) -> str:
        """The name of the step after the current one, open or not, or "" if it is the last."""
        return next((step.name for step in self.exercise.steps[self.number :]), "")

    @property
    def preceding(self) -> str:
        """The name of the step before the current one, open or not, or "" if it is the first."""
        if self.checkup and not self.at:  # behind the last step
            return self.step.name
        return self.exercise.steps[self.number - 2].name if self.number > 1 else ""

    def name_of(self, step: str) -> str:
        """Return what a command calls a step."""
        return self.session.name_of(self.exercise, self.exercise.step(step))

    def moved(self, name: str) -> View:
        """Return the view of another step."""
        return replace(self, focus=name, news=(), passed="", asked="", extra=(), page=0)

    def showing(self, *pieces: RenderableType, leads: bool = False) -> View:
        """Return the view with what a key shows, which `leads` where it needs the room."""
        return replace(self, extra=pieces, leads=leads, page=0)


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
        from autograder.learning.screen import own_drawn

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
    yield from closing_commands(view.exercise)
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


# What `attn watch` says when you leave it: what passes, the points, and what comes next.


def summary(view: View) -> tuple[RenderableType, ...]:
    """Return the last lines of a watch."""
    exercise, session = view.exercise, view.session
    passed = session.progress.passed(exercise)
    points = points_words(session, exercise)
    when = "pass" if view.checkup else "passed when last checked"
    lines: list[RenderableType] = [
        Text(),
        Text(f"{exercise.title}: {len(passed)} of {len(exercise.steps)} steps {when}, {points}."),
    ]
    if 0 < len(passed) < len(exercise.steps):
        lines.append(Text(f"Right so far: {', '.join(passed)}."))
    after = session.next_exercise(exercise)
    if len(passed) < len(exercise.steps):
        step = session.open_step(exercise)
        place = exercise.steps.index(step) + 1
        lines.append(Text(f"Next: step {place}, {step.name}."))
        lines.append(command(f"attn watch {exercise.name}", "goes on there"))
        return tuple(lines)
    lines += closing_commands(exercise)
    if after:
        lines.append(Text(f"Next: {after.title}."))
        lines.append(command(f"attn watch {after.name}", "begins there"))
    else:
        lines.append(Text("Every step of every exercise here passes."))
    return tuple(lines)


# Reads single keys from a terminal, without Enter, on Linux, macOS and Windows.
#
# However the watch ends, the terminal is restored.

ESCAPE = "\x1b"
# Arrow keys and the like, which are not used. Some have digits in them, and digits are keys.
SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|[^\[O])")
BEGUN = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|O)\Z")  # the rest comes with the next read
END_OF_INPUT = "\x04"


class Keyboard:
    """A context in which a thread calls `press` with every key, as one character."""

    def __init__(self, press: Callable[[str], None]) -> None:
        self._press = press
        self._before: Any = None
        read = self._read_windows if sys.platform == "win32" else self._read
        self._thread = threading.Thread(target=read, daemon=True)

    def __enter__(self) -> Keyboard:
        self.take()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        if sys.platform != "win32" and self._before is not None:
            import termios

            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._before)

    def take(self) -> None:
        """Make the terminal send single keys; call this again after the process was suspended."""
        if sys.platform != "win32":
            import termios
            import tty

            if self._before is None:
                self._before = termios.tcgetattr(sys.stdin.fileno())
            # Not raw mode: Ctrl-C still works, and a new line begins at the left.
            tty.setcbreak(sys.stdin.fileno())

    def _read(self) -> None:
        begun = ""
        while data := os.read(sys.stdin.fileno(), 64).decode("utf-8", "replace"):
            keys, begun = single_keys(begun + data)
            for key in keys:
                self._press(key)
        self._press(END_OF_INPUT)

    def _read_windows(self) -> None:
        if sys.platform == "win32":
            import msvcrt

            while True:
                key = msvcrt.getwch()
                if key in "\x00\xe0":  # the first half of an arrow key or the like
                    msvcrt.getwch()
                else:
                    self._press(key)


def single_keys(text: str) -> tuple[str, str]:
    """Return the keys in what a terminal sent, and the beginning of a sequence at its end."""
    keys = SEQUENCE.sub("", text)
    begun = BEGUN.search(keys)
    rest = begun[0] if begun else ""
    return keys.removesuffix(rest).replace(ESCAPE, ""), rest
