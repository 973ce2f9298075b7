"""Checks in the background, with a child kept ready so that answers come quickly.

A newer request replaces the one under way, because only the latest save counts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from watchfiles import Change, watch

from autograder.errors import KitError
from autograder.learning.checking import check_work
from autograder.learning.process import Child, Stop, Stopped
from autograder.learning.results import Checkup
from autograder.learning.workspace import WORK
from autograder.values.exercise import Exercise


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
