"""Checks in the background, with a child kept ready: an answer comes as soon as there is one.

A newer request replaces the one under way: what was saved last is what counts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from autograder.errors import KitError
from autograder.learning.runner.checking import check_work
from autograder.learning.runner.process import Child, Stop, Stopped
from autograder.learning.runner.results import Checkup
from autograder.learning.runner.start_method import kept_ready
from autograder.model.exercise import Exercise


@dataclass(frozen=True)
class BackgroundAnswer:
    """What came of a request: a checkup, or the reason why there is none."""

    exercise: Exercise
    outcome: Checkup | KitError


class Background:
    """Checks what is asked last; `answer` gets the answers, `tell` what is going on; from a thread."""

    def __init__(
        self, answer: Callable[[BackgroundAnswer], None], tell: Callable[[str], None]
    ) -> None:
        self._answer = answer
        self._tell = tell
        self._exercise = ""
        self._child: Child | None = None
        self._stop = Stop()
        self._thread: threading.Thread | None = None

    def check(self, exercise: Exercise) -> None:
        """Check a whole exercise; what is under way is given up."""
        self._give_up()
        self._stop = Stop()
        work = (exercise, self._taken(exercise), self._stop)
        self._thread = threading.Thread(target=self._work, args=work, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End every child."""
        self._give_up()
        if self._child:
            self._child.end()
            self._child = None

    def _give_up(self) -> None:
        if self._thread:
            self._stop.give()
            self._thread.join()
            self._thread = None

    def _taken(self, exercise: Exercise) -> Child:
        """The child that is kept ready, when it is for this exercise; else a new one."""
        kept = self._child
        if kept and (self._exercise != exercise.name or kept.ended):
            kept.end()
            kept = None
        self._exercise = exercise.name
        self._child = kept or Child(exercise, kept_ready())
        return self._child

    def _work(self, exercise: Exercise, child: Child, stop: Stop) -> None:
        outcome: Checkup | KitError
        try:
            outcome = check_work(exercise, exercise.steps, child=child, tell=self._tell, stop=stop)
            stop.look()
        except KitError as error:
            outcome = error
        except Stopped:
            return  # a newer request is on its way
        self._answer(BackgroundAnswer(exercise, outcome))
        if child.ended:
            self._child = Child(exercise, kept_ready())
