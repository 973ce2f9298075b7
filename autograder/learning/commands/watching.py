"""`attn watch`: checks on every save, with a key for everything that a learner may want next.

Every event (a save, an answer, a key) goes into one queue, and one thread handles them in order.
Without a keyboard, it prints every answer and needs no keys.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType

from rich.console import Console
from rich.text import Text

from autograder.errors import KitError
from autograder.learning.commands.once import give_hint, put_back
from autograder.learning.runner.background import Background, BackgroundAnswer
from autograder.learning.runner.results import Checkup
from autograder.learning.state.saves import Saves
from autograder.learning.state.session import Say, open_session
from autograder.learning.state.workspace import Task
from autograder.learning.terminal import view as views
from autograder.learning.terminal.keys import END_OF_INPUT, Keyboard
from autograder.learning.terminal.view import View
from autograder.model.symbols import mark
from autograder.model.verdict import Outcome

SLOW = 0.7  # seconds without an answer before the screen says what is going on
TICK = 0.5  # seconds
MOST_NEWS = 3


@dataclass(frozen=True)
class Key:
    """A key was pressed."""

    name: str


@dataclass(frozen=True)
class Saved:
    """A work file was saved in an exercise's folder."""

    folder: Path


@dataclass(frozen=True)
class Redraw:
    """The size of the terminal changed, or the process was resumed."""


Event = Key | Saved | BackgroundAnswer | Redraw


def watch(folder: Path, words: str | None, console: Console, say: Say) -> None:
    """Watch the workspace around `folder` until q or Ctrl-C; raises `KitError`."""
    session = open_session(folder, say)
    task = session.task(words)
    interactive = sys.stdin is not None and sys.stdin.isatty() and console.is_terminal
    watcher = Watch(
        View(session, task.exercise, focus=task.step.name if task.step else ""), console
    )
    with ExitStack() as stack:
        stack.callback(watcher.close)
        if interactive:
            watcher.keyboard = stack.enter_context(Keyboard(watcher.press))
        folders = [exercise.folder for exercise in session.workspace.exercises]
        stack.enter_context(Saves(folders, watcher.saved))
        stack.enter_context(Signals(watcher))
        with suppress(KeyboardInterrupt):  # Ctrl-C for the second time
            watcher.run()


class Watch:
    """The queue of events, what is shown, and the check in the background."""

    def __init__(self, view: View, console: Console) -> None:
        self.view = view
        self.keyboard: Keyboard | None = None
        self._console = console
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._doing = ""
        self._since = 0.0
        self._background = Background(self._events.put, self._tell)

    def press(self, key: str) -> None:
        """Note that a key was pressed; may be called from any thread."""
        self._events.put(Key(key))

    def saved(self, folder: Path) -> None:
        """Note that a file in `folder` was saved; may be called from any thread."""
        self._events.put(Saved(folder))

    def redraw(self) -> None:
        """Draw again; called from a signal handler."""
        self._events.put(Redraw())

    def close(self) -> None:
        """End the check that is running."""
        self._background.close()

    def run(self) -> None:
        """Handle events until the learner quits."""
        self._check()
        while True:
            try:
                event = self._events.get(timeout=TICK)
            except Empty:
                self._still_busy()
                continue
            if not self._handle(event):
                return

    def _tell(self, what: str) -> None:
        self._doing = what

    def _check(self) -> None:
        self._since = time.monotonic()
        self._background.check(self.view.exercise)

    def _still_busy(self) -> None:
        """Say what is going on when an answer is slow."""
        waited = time.monotonic() - self._since
        if self._since and waited > SLOW and self.keyboard:
            self.view = replace(self.view, busy=f"{self._doing}, {waited:.0f} s")
            self._draw()

    def _handle(self, event: Event) -> bool:
        """Handle one event; return whether to go on."""
        match event:
            case Saved(folder):
                self._open(folder)
                self._check()
            case BackgroundAnswer():
                self._since = 0.0
                self.view = answered(self.view, event)
                self._draw()
            case Redraw():
                if self.keyboard:
                    self.keyboard.take()
                self._draw()
            case Key(name):
                return self._pressed(name)
        return True

    def _open(self, folder: Path) -> None:
        """Switch to the exercise in which something was saved."""
        for exercise in self.view.session.workspace.exercises:
            if exercise.folder == folder and exercise.name != self.view.exercise.name:
                self.view = View(self.view.session.opened(exercise), exercise)

    def _pressed(self, key: str) -> bool:
        if key == END_OF_INPUT or (key == "q" and not self.view.question):
            return False
        if self.view.question:
            self._decide(key)
            return True
        actions = {"n": self._next, "h": self._hint, "s": self._show, "l": self._list}
        actions["r"] = self._ask_reset
        if key in actions:
            self.view = replace(self.view, extra=())
            actions[key]()
            self._draw()
        return True

    def _next(self) -> None:
        view = self.view
        after = view.session.next_exercise(view.exercise)
        if view.following:
            self.view = replace(view, focus=view.following, news=())
        elif view.checkup and not view.open and after:
            self.view = View(view.session.opened(after), after)
            self._check()
        else:
            words = "This is the only step left." if view.open else "There is no other step."
            self.view = replace(view, extra=(Text(words),))

    def _hint(self) -> None:
        session, lines = give_hint(self.view.session, self.view.exercise, self.view.step)
        self.view = replace(self.view, session=session, extra=(Text("\n").join(lines),))

    def _show(self) -> None:
        from autograder.learning.terminal.drawing import drawn

        run = self.view.at or (self.view.checkup and self.view.checkup.steps[-1])
        if run:
            self.view = replace(self.view, extra=drawn(run))

    def _list(self) -> None:
        from autograder.learning.terminal.listing import listed

        self.view = replace(self.view, extra=listed(self.view.session, self.view.exercise))

    def _ask_reset(self) -> None:
        name = self.view.step.name
        question = f"Put the stub of {name} back? A copy of your file is kept. y yes  n no"
        self.view = replace(self.view, question=question)

    def _decide(self, key: str) -> None:
        view = replace(self.view, question="", extra=(Text("Nothing was changed."),))
        if key in "yY":
            try:
                session, lines = put_back(view.session, Task(view.exercise, view.step))
                view = replace(view, session=session, extra=(Text("\n").join(lines),), held=True)
            except KitError as error:
                view = replace(view, extra=(Text(f"{error.fact}: {error.cure}"),))
        self.view = view
        self._draw()

    def _draw(self) -> None:
        clear = self.keyboard is not None and not self._console.is_dumb_terminal
        with self._console:  # a single write, so that nothing flickers
            if clear:
                self._console.clear()
            else:
                self._console.rule(style="dim")
            views.show(self._console, self.view, keys=self.keyboard is not None)


def answered(view: View, answer: BackgroundAnswer) -> View:
    """Return the view after an answer, with saved progress and the news."""
    if answer.exercise.name != view.exercise.name:
        return view
    outcome = answer.outcome
    if not isinstance(outcome, Checkup):
        return replace(view, outcome=outcome, news=(), extra=(), held=False, busy="")
    before = set(view.session.progress.passed(view.exercise))
    session = view.session.checked(outcome)
    new = [run.step.name for run in outcome.steps if run.verdict.passes]
    right = mark(Outcome.PASSED).sign
    news = tuple(f"{right} {name} passes." for name in new if name not in before)
    if len(news) > MOST_NEWS:
        news = (f"{right} {len(new)} of {len(outcome.steps)} steps pass.",)
    extra = view.extra if view.held else ()
    seen = replace(view, session=session, outcome=outcome, news=news)
    return replace(seen, extra=extra, held=False, busy="")


class Signals:
    """A context in which signals become events; Ctrl-C quits like q.

    An exception raised by a handler would be lost if Python were just running a destructor. So only
    the second request to end raises one, in case nobody handles events any more.
    """

    def __init__(self, watcher: Watch) -> None:
        self._watcher = watcher
        self._leaving = False
        self._before: dict[int, signal._HANDLER] = {}

    def __enter__(self) -> None:
        for name in ("SIGWINCH", "SIGCONT"):
            self._take(name, lambda number, frame: self._watcher.redraw())
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            self._take(name, self._leave)

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, name: str, handler: Callable[[int, FrameType | None], None]) -> None:
        number = getattr(signal, name, None)  # Windows has only a few of them
        if number is not None:
            self._before[number] = signal.signal(number, handler)

    def _leave(self, number: int, frame: FrameType | None) -> None:
        if self._leaving:
            raise KeyboardInterrupt
        self._leaving = True
        self._watcher.press(END_OF_INPUT)
