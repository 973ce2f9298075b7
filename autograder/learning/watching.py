"""`attn watch`: checks in the background on every save, a key for all that a learner may want.

Every event (a save, an answer, a key) goes into one queue, and one thread handles them in order.
Without a keyboard, it prints every answer and needs no keys.
"""

from __future__ import annotations

import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType

from rich.console import Console
from rich.text import Text
from watchfiles import Change, watch

from autograder.errors import KitError
from autograder.learning.checking import check_work
from autograder.learning.climbing import give_hint
from autograder.learning.once import (
    answer_lines,
    lesson_lines,
    put_back,
    question_after,
    reset_question,
)
from autograder.learning.process import Child, Stop, Stopped
from autograder.learning.progress import Say, open_session
from autograder.learning.results import Checkup
from autograder.learning.step_lesson import Lesson, lesson_of
from autograder.learning.watch_screen import END_OF_INPUT, Keyboard, View, screen, summary
from autograder.learning.workspace import WORK, Task
from autograder.submission.cells import find_in_piece
from autograder.values.exercise import Exercise
from autograder.values.symbols import mark
from autograder.values.verdict import Outcome

# Checks in the background, with a child kept ready so that answers come quickly.
#
# A newer request replaces the one under way, because only the latest save counts.


@dataclass(frozen=True)
class BackgroundAnswer:
    """The answer to a request: a checkup, or the reason why there is none."""

    exercise: Exercise
    outcome: Checkup | KitError


class Background:
    """Runs the latest request in a thread; calls `answer` with answers, `tell` with progress."""

    def __init__(
        self, answer: Callable[[BackgroundAnswer], None], tell: Callable[[str], None]
    ) -> None:
        self._answer = answer
        self._tell = tell
        self._stop = Stop()
        self._thread: threading.Thread | None = None
        self._child: Child | None = None

    def check(self, exercise: Exercise) -> None:
        """Check a whole exercise; stop the check under way."""
        self._give_up()
        self._stop = Stop()
        work = (exercise, self._stop)
        self._thread = threading.Thread(target=self._work, args=work, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the check under way and end the child."""
        self._give_up()
        if self._child:
            self._child.end()

    def _give_up(self) -> None:
        if self._thread:
            self._stop.give()
            self._thread.join()

    def _work(self, exercise: Exercise, stop: Stop) -> None:
        self._child = _child_for(exercise, self._child)
        with suppress(Stopped):  # a newer request is on its way
            self._check(exercise, self._child, stop)
        self._child = _child_for(exercise, self._child)  # it is ready before the next save

    def _check(self, exercise: Exercise, child: Child, stop: Stop) -> None:
        outcome: Checkup | KitError
        try:
            outcome = check_work(exercise, exercise.steps, child=child, tell=self._tell, stop=stop)
        except KitError as error:
            outcome = error
        stop.look()
        self._answer(BackgroundAnswer(exercise, outcome))


def _child_for(exercise: Exercise, kept: Child | None) -> Child:
    """Return the kept child if it is for this exercise, or else a new one."""
    if kept and kept.usable and kept.exercise == exercise:
        return kept
    if kept:
        kept.end()
    return Child(exercise, before=kept)


# Notices when a learner's file is saved, however the editor does it.
#
# Editors write in place, or write another file and rename it; JupyterLab saves notebooks. All
# that counts is that the file with that name has changed.

STEP = 15  # milliseconds without a change before the changes are reported
DEBOUNCE = 200  # milliseconds of constant changes before they are reported anyway


class Saves:
    """A context in which a thread calls `saved` with each work file that was saved."""

    def __init__(self, folders: Sequence[Path], saved: Callable[[Path], None]) -> None:
        self._folders = {folder.resolve(): folder for folder in folders}
        self._saved = saved
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Saves:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        changes = watch(
            *self._folders,
            watch_filter=_is_work,
            step=STEP,
            debounce=DEBOUNCE,
            stop_event=self._stop,
            recursive=False,
            raise_interrupt=False,
        )
        for change in changes:
            for path in sorted({Path(path) for _, path in change}):
                if path.parent in self._folders:
                    self._saved(self._folders[path.parent] / path.name)


def _is_work(change: Change, path: str) -> bool:
    name = Path(path).name
    return name.endswith(WORK) and not name.startswith(".")


# What an answer to a save changes in a watch: the progress, the news, the current step.

MOST_NEWS = 3


def answered(view: View, answer: BackgroundAnswer, *, keys: bool = False) -> View:
    """Return the view after an answer, with saved progress and the news.

    With `keys`, a step that passes is shown until the learner goes on.
    """
    if answer.exercise.name != view.exercise.name:
        return view
    outcome = answer.outcome
    if not isinstance(outcome, Checkup):
        return replace(view, outcome=outcome, news=(), extra=(), held=False, busy="", page=0)
    outcome = view.session.with_words_on_saving(outcome)
    before = set(view.session.progress.passed(view.exercise))
    session = view.session.checked(outcome)
    new = [run.step.name for run in outcome.steps if run.verdict.is_done]
    passing = [run.step.name for run in outcome.steps if run.verdict.passes]
    right = mark(Outcome.PASSED).sign
    now = [name for name in passing if name not in before]
    news = tuple(f"{right} {name} passes." for name in now)
    if len(news) > MOST_NEWS:
        news = (f"{right} {len(passing)} of {len(outcome.steps)} steps pass.",)
    focus = "" if view.focus in new else view.focus  # on to what is not right yet
    seen = replace(view, session=session, outcome=outcome, focus=focus, news=news)
    if now:
        seen = _passed(seen, now[-1], stays=keys and view.checkup is not None and not focus)
    elif view.stays and not _goes_on(view, outcome):
        seen = replace(seen, focus=view.passed)
    else:
        seen = replace(seen, focus=_worked_on(view, seen), passed="", asked="")
    extra = view.extra if view.held else ()
    return replace(seen, extra=extra, held=False, busy="", page=0)


def _passed(view: View, step: str, *, stays: bool) -> View:
    """Return the view of a step that has just passed; where it does not stay, with its question."""
    view = replace(view, passed=step, asked=question_after(view.exercise, step))
    if stays and view.open:
        return replace(view, focus=step)
    more = (f"{view.asked}  (a: the answer)",) if view.asked else ()
    return replace(view, news=(*view.news, *more))


def _worked_on(before: View, now: View) -> str:
    """Return the step to look at: the open one whose code was changed by the last save, if any."""
    if before.checkup is None or now.checkup is None or before.checkup.file != now.checkup.file:
        return now.focus
    old, new = _code_of(before.checkup), _code_of(now.checkup)
    names = [run.step.name for run in now.open]
    changed = [name for name in names if name in new and new[name] != old.get(name)]
    if not changed or (now.at and now.at.step.name in changed):
        return now.focus
    return changed[0]


def _code_of(checkup: Checkup) -> dict[str, str]:
    """Return the text of every definition in a file, by its name."""
    return {
        each.name: "\n".join(cell.split("\n")[each.first - 1 : each.last])
        for cell in checkup.cells
        for each in find_in_piece(cell)
    }


def _goes_on(view: View, outcome: Checkup) -> bool:
    """Whether the learner has changed anything but the step that is shown since it passed."""
    before = _beside(view.checkup, view.passed) if view.checkup else []
    return before != _beside(outcome, view.passed)


def _beside(checkup: Checkup, name: str) -> list[str]:
    """Return the lines of a file that do not define a step, without blank ones."""
    lines = list[str]()
    for cell in checkup.cells:
        own = next((each for each in find_in_piece(cell) if each.name == name), None)
        text = cell.split("\n")
        lines += text[: own.first - 1] + text[own.last :] if own else text
    return [line for line in lines if line.strip()]


# Signals to `attn watch`: Ctrl-C, the end of the terminal, another size.


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
            self._take(name, lambda number, frame: self._watcher.put(Redraw()))
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
        self._watcher.put(Key(END_OF_INPUT))


SLOW = 0.7  # seconds without an answer before the screen says what is going on
TICK = 0.5  # seconds
ENTER = "\r\n"  # the key sends one of them
PAUSE = 1.0  # seconds between two digits of one number, or two letters of one word
# What is typed as at a shell: `attn`, or three keys with a letter that does nothing.
WORDS = re.compile(r"attn|(?=...).*[bcdefgijkouvwxz ]")
NO_SHELL = "This is the watch, not the shell: each letter is a key. h gives a hint, q leaves."


@dataclass(frozen=True)
class Key:
    """A key was pressed."""

    name: str


@dataclass(frozen=True)
class Saved:
    """A work file was saved in an exercise's folder."""

    file: Path


@dataclass(frozen=True)
class Redraw:
    """The size of the terminal changed, or the process was resumed."""


Event = Key | Saved | BackgroundAnswer | Redraw


def watch_work(folder: Path, words: str | None, console: Console, say: Say) -> None:
    """Watch the workspace around `folder` until q or Ctrl-C; raises `KitError`."""
    session = open_session(folder, say)
    task = session.task(words)
    interactive = sys.stdin is not None and sys.stdin.isatty() and console.is_terminal
    watcher = Watch(
        View(session, task.exercise, focus=task.step.name if task.step else ""), console
    )
    with ExitStack() as stack:
        stack.enter_context(Signals(watcher))  # first: Ctrl-C leaves nothing half begun
        stack.callback(watcher.close)
        if interactive:
            keyboard = Keyboard(lambda key: watcher.put(Key(key)))
            watcher.keyboard = stack.enter_context(keyboard)
        folders = [exercise.folder for exercise in session.workspace.exercises]
        stack.enter_context(Saves(folders, lambda file: watcher.put(Saved(file))))
        with suppress(KeyboardInterrupt):  # Ctrl-C for the second time
            watcher.run()
    with suppress(OSError):  # the terminal may be gone
        for line in summary(watcher.view):
            console.print(line)


class Watch:
    """The queue of events, what is shown, and the check in the background."""

    def __init__(self, view: View, console: Console) -> None:
        self.view = view
        self.keyboard: Keyboard | None = None
        self._console = console
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._doing = ""
        self._since = 0.0
        self._save = ""  # the name of the file that was saved last
        self._at = _clock()
        self._typed, self._typed_at, self._before = "", 0.0, view
        self._background = Background(self._events.put, self._tell)

    def put(self, event: Event) -> None:
        """Have an event handled; may be called from any thread and from a signal handler."""
        self._events.put(event)

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
            case Saved(file):
                self._save, self._at = file.name, _clock()
                self._open(file.parent)
                self._check()
            case BackgroundAnswer():
                self._since = 0.0
                view = answered(self.view, event, keys=self.keyboard is not None)
                self.view = replace(view, looked=self._looked(event))
                self._draw()
            case Redraw():
                if self.keyboard:
                    self.keyboard.take()
                self._draw()
            case Key(name):
                return self._pressed(name)
        return True

    def _looked(self, answer: BackgroundAnswer) -> str:
        """Return what was checked, and when: the file that was saved, or another one."""
        read = answer.outcome.file.name if isinstance(answer.outcome, Checkup) else self._save
        if self._save and read != self._save:
            return f"checked: {read}, after your save of {self._save} at {self._at}"
        return f"checked: your save of {self._at}" if self._save else f"checked at {self._at}"

    def _open(self, folder: Path) -> None:
        """Switch to the exercise in which something was saved."""
        for exercise in self.view.session.workspace.exercises:
            if exercise.folder == folder and exercise.name != self.view.exercise.name:
                self.view = View(self.view.session.opened(exercise), exercise)

    def _pressed(self, key: str) -> bool:
        if key != END_OF_INPUT and self._in_words(key):
            return True
        if key == END_OF_INPUT or (key == "q" and not self.view.question):
            return False
        if self.view.question:
            self._decide(key)
            return True
        actions = {"n": self._next, "p": self._previous, "h": self._hint, "s": self._show}
        actions |= {"t": self._text, "a": self._answers, "l": self._list, "r": self._ask_reset}
        actions |= dict.fromkeys(ENTER, self._go_on) if self.view.stays else {}
        if key == "m":
            self.view = replace(self.view, page=self.view.page + 1)
            self._draw()
        elif key in actions:
            self.view = replace(self.view, extra=())
            actions[key]()
            self._draw()
        elif key.isascii() and key.isdecimal():
            self._go_to(key)
            self._draw()
        return True

    def _in_words(self, key: str) -> bool:
        """Note a key; return whether it belongs to words that are typed as at a shell.

        What their first letters did is undone, and their end is Enter or a pause.
        """
        now = time.monotonic()
        if not self._typed or now - self._typed_at > PAUSE:
            self._typed, self._before = "", self.view
        were = WORDS.search(self._typed)
        self._typed = "" if key in ENTER else self._typed + key
        self._typed_at = now
        if not were and WORDS.search(self._typed):
            self._undo()
            self.view = self.view.showing(Text(NO_SHELL))
            self._draw()
            return True
        return bool(were)

    def _undo(self) -> None:
        """Go back to where the typing began, and take back the hints that it asked for."""
        before, session = self._before, self.view.session
        if before.exercise is self.view.exercise:
            self.view = replace(self.view, question="").moved(before.focus)
            self.view = replace(self.view, passed=before.passed, asked=before.asked)
        for step in before.exercise.steps:
            known, was = (
                session.known(before.exercise, step),
                before.session.known(before.exercise, step),
            )
            session = session.noted(
                before.exercise, step, replace(known, hints=was.hints, seen_hints=was.seen_hints)
            )
        self.view = replace(self.view, session=session)

    def _next(self) -> None:
        view = self.view
        after = view.session.next_exercise(view.exercise)
        if view.following:
            self.view = view.moved(view.following)
        elif view.checkup and not view.open and after:
            self.view = View(view.session.opened(after), after)
            self._check()
        else:
            self.view = view.showing(Text(f"This is the last step.{_left(view)}"))

    def _go_on(self) -> None:
        """Go from the step that has passed to the first that does not pass yet."""
        self.view = self.view.moved("")

    def _previous(self) -> None:
        name = self.view.preceding
        here = self.view.showing(Text("This is the first step."))
        self.view = self.view.moved(name) if name else here

    def _go_to(self, digit: str) -> None:
        """Go to the step of a number, whose digits come one by one."""
        steps = self.view.exercise.steps
        numbers = {str(number): step.name for number, step in enumerate(steps, 1)}
        typed = self._typed[len(self._typed.rstrip("0123456789")) :]
        ends = (typed[first:] for first in range(len(typed)))
        name = next((numbers[end] for end in ends if end in numbers), "")
        words = f"There is no step {digit}: this exercise has the steps 1 to {len(steps)}."
        self.view = self.view.moved(name) if name else self.view.showing(Text(words))

    def _hint(self) -> None:
        session, lines = give_hint(self.view.session, self.view.exercise, self.view.step)
        self.view = replace(self.view, session=session).showing(*lines)

    def _text(self) -> None:
        lesson = self._lesson(self.view.step.name)
        if lesson:
            self.view = self.view.showing(*lesson_lines(lesson))

    def _answers(self) -> None:
        """Show the answer to the question after a pass, or the answers at the current step."""
        lesson = self._lesson(self.view.passed or self.view.step.name)
        if lesson:
            at = self.view.at
            written = at is None or at.verdict.is_done
            lines = answer_lines(lesson, after=bool(self.view.asked), written=written)
            self.view = self.view.showing(*lines)

    def _lesson(self, step: str) -> Lesson | None:
        try:
            return lesson_of(self.view.exercise, step)
        except KitError as error:
            self.view = self.view.showing(*map(Text, error.lines))
            return None

    def _show(self) -> None:
        from autograder.learning.screen import drawn

        run = self.view.at or (self.view.checkup and self.view.checkup.steps[-1])
        if run:
            self.view = self.view.showing(*drawn(run), leads=True)

    def _list(self) -> None:
        from autograder.learning.screen import listed_steps

        lines = listed_steps(self.view.session, self.view.exercise)
        self.view = self.view.showing(*lines)

    def _ask_reset(self) -> None:
        question = reset_question(Task(self.view.exercise, self.view.step))
        self.view = replace(self.view, question=f"{question} y yes  n no")

    def _decide(self, key: str) -> None:
        view = replace(self.view, question="").showing(Text("Nothing was changed."))
        if key in "yY":
            try:
                session, lines = put_back(view.session, Task(view.exercise, view.step))
                view = replace(view, session=session, held=True)
                view = view.showing(Text("\n").join(lines))
            except KitError as error:
                view = view.showing(Text(f"{error.fact}: {error.cure}"))
        self.view = view
        self._draw()

    def _draw(self) -> None:
        keys = self.keyboard is not None
        lines = screen(self._console, self.view, keys=keys)
        with self._console:  # a single write, so that nothing flickers
            if keys and not self._console.is_dumb_terminal:
                self._console.clear()
            else:
                self._console.rule(style="dim")
            for line in lines:
                self._console.print(Text.from_ansi(line), soft_wrap=True)


def _left(view: View) -> str:
    """Return a sentence about the first step before the current one that does not pass, if any."""
    for run in view.open:
        if run is not view.at:
            number = view.exercise.steps.index(run.step) + 1
            return f" Step {number}, {run.step.name}, is the first that does not pass."
    return ""


def _clock() -> str:
    return time.strftime("%H:%M:%S")
