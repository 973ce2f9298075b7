"""Check a learner's file: hand it to a child, and start another where one ends too early.

A step that hangs or ends Python costs only itself: what is left is asked of a new child.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from autograder.errors import KitError
from autograder.learning.runner import messages
from autograder.learning.runner.limits import GRACE, WALL
from autograder.learning.runner.process import STARTING, Child, ChildEnded, Silent, Stop, Stopped
from autograder.learning.runner.results import (
    CheckResult,
    Checkup,
    StepResult,
    read_check,
    read_finding,
)
from autograder.model.exercise import Exercise, Step
from autograder.model.verdict import Finding
from autograder.submission.reading import Submission, read_submission

LOADING = 0.5  # of a submission's seconds: for its top level
WHOLE = 3.0  # of a submission's seconds: for everything together
TICK = 0.1
MARGIN = 2.0  # seconds beyond the child's own limit, before it is ended from here
Tell = Callable[[str], None]


def read_work(exercise: Exercise) -> Submission:
    """Read the learner's file in an exercise's folder; raise `KitError` when there is none to run."""
    if not any(exercise.folder.glob("*.ipynb")) and not any(exercise.folder.glob("*.py")):
        fact = f"there is neither {exercise.name}.ipynb nor {exercise.name}.py here"
        cure = f"`attn reset {exercise.name}` puts a fresh file there"
        raise KitError(fact, place=str(exercise.folder), cure=cure)
    submission = read_submission(exercise.folder, exercise, "you")
    if submission.rejected:
        cure = f"`attn reset {exercise.name}` puts a fresh file there and keeps a copy of yours"
        raise KitError(submission.rejected.fact, place=str(exercise.folder), cure=cure)
    return submission


def check_work(
    exercise: Exercise,
    steps: Sequence[Step],
    *,
    child: Child | None = None,
    tell: Tell = lambda what: None,
    stop: Stop | None = None,
) -> Checkup:
    """Check the learner's file in the exercise's folder.

    `child` is one that is ready already. `tell` is told what is going on, in a few words. `stop`
    gives it up from elsewhere: then it raises `Stopped`. Raises `KitError` when there is nothing
    that can be checked.
    """
    started = child or Child(exercise)
    try:
        submission = read_work(exercise)
    except KitError:
        started.end()
        raise
    return Checking(exercise, submission, steps, tell, stop or Stop()).run(started)


@dataclass
class Checking:
    """One check under way, over as many children as it takes."""

    exercise: Exercise
    submission: Submission
    steps: Sequence[Step]
    tell: Tell
    stop: Stop
    _skipped: set[int] = field(default_factory=set)
    _blocked: list[str] = field(default_factory=list)
    _done: list[StepResult] = field(default_factory=list)
    _asked: list[CheckResult] = field(default_factory=list)
    _troubles: dict[int, Finding] = field(default_factory=dict)
    _printed: dict[int, str] = field(default_factory=dict)
    # Where the child is: the number of a cell, or the step and the title of a check.
    _cell: int | None = None
    _check: tuple[str, str] | None = None

    def run(self, child: Child) -> Checkup:
        """Ask all steps, first of `child`."""
        limits = self.exercise.limits
        most = WHOLE * limits.seconds_per_submission
        self.tell(f"starting Python with {self.exercise.library}")
        self._start(child)
        end = time.monotonic() + most
        while not self._follow(child):
            self.stop.look()
            if time.monotonic() > end:
                break
            if not child.usable:
                child = Child(self.exercise)
            self._start(child)
        late = CheckResult("in time", messages.not_reached(most))
        left = self.steps[len(self._done) :]
        return Checkup(
            self.exercise,
            self.submission.path,
            self.submission.cells,
            (*self._done, *(StepResult(step, (late,)) for step in left)),
            self.submission.remarks,
            tuple(self._troubles[number] for number in sorted(self._troubles)),
            "".join(self._printed[number] for number in sorted(self._printed)),
        )

    def _start(self, child: Child) -> None:
        end = time.monotonic() + STARTING
        try:
            self.stop.follow(child)
            while not child.ready:
                self.stop.look()
                try:
                    _told(child.receive(TICK), self.exercise)
                except Silent:
                    if time.monotonic() > end:
                        raise
        except Stopped:
            child.release()
            raise
        except (ChildEnded, Silent) as error:
            child.end()
            self.stop.look()
            raise KitError(
                f"Python did not start: {error or 'it said nothing'}",
                place=str(self.exercise.folder),
                cure=f"see whether `python -c 'import {self.exercise.library}'` works here",
            ) from None
        except KitError:
            child.end()
            raise

    def _follow(self, child: Child) -> bool:
        """Give the child what is left to do; return whether it came to the end."""
        limits = self.exercise.limits
        self._cell = self._check = None
        try:
            child.send(self._job())
            while True:
                loading = self._check is None
                seconds = limits.seconds_per_call
                if loading:
                    seconds = LOADING * limits.seconds_per_submission
                message = child.receive(WALL * seconds + GRACE + MARGIN)
                if message["event"] == "done":
                    return True
                if message["event"] == "stuck":
                    self._stuck(message["seconds"], tuple(message["place"]))
                    return False
                self._take(message)
        except ChildEnded as ended:
            self._ended(ended.how)
        except Silent:
            self._stuck(WALL * seconds, messages.NOWHERE)
        finally:
            child.release()
        return False

    def _job(self) -> dict[str, Any]:
        limits = self.exercise.limits
        return {
            "file": str(self.submission.path.resolve()),
            "cells": self.submission.cells,
            "skipped": sorted(self._skipped),
            "blocked": self._blocked,
            "steps": [step.name for step in self.steps[len(self._done) :]],
            "seconds": limits.seconds_per_call,
            "loading_seconds": LOADING * limits.seconds_per_submission,
            "megabytes": limits.memory_megabytes,
            "kilobytes": limits.output_kilobytes,
        }

    def _take(self, message: dict[str, Any]) -> None:
        """Note what the child says."""
        match message["event"]:
            case "loading":
                self._cell = message["cell"]
                self.tell("loading your file")
            case "loaded":
                assert self._cell is not None
                self._printed[self._cell] = message["printed"]
                trouble = read_finding(message["trouble"])
                if trouble:
                    self._troubles[self._cell] = trouble
            case "asking":
                self._check = (message["step"], message["title"])
                self.tell(f"checking {message['step']}")
            case "blocked":
                self._blocked.append(message["step"])
            case "checked":
                self._asked.append(read_check(message))
            case "asked":
                findings = map(read_finding, message["findings"])
                checks = (replace(one, finding=two) for one, two in zip(self._asked, findings))
                self._close(message["step"], tuple(checks))

    def _close(self, name: str, checks: tuple[CheckResult, ...]) -> None:
        self._done.append(StepResult(self.exercise.step(name), checks))
        self._asked = []

    def _stuck(self, seconds: float, place: messages.CodePlace) -> None:
        if self._check:
            self._lost(self._check, messages.still_running(self._check[0], seconds, place))
        else:
            self._not_loaded(messages.top_still_running(seconds, place))

    def _ended(self, how: str) -> None:
        if self._check:
            self._lost(self._check, messages.ended_python(self._check[0], how))
        else:
            self._not_loaded(messages.top_ended_python(how=how))

    def _lost(self, check: tuple[str, str], finding: Finding) -> None:
        """The child ended in a check: the step is closed with that, and not called again."""
        name, title = check
        self._close(name, (*self._asked, CheckResult(title, finding)))
        self._blocked.append(name)

    def _not_loaded(self, finding: Finding) -> None:
        """The child ended in a cell: it is left out from now on."""
        number = self._cell or 0
        self._skipped.add(number)
        self._troubles[number] = finding


def _told(message: dict[str, Any], exercise: Exercise) -> None:
    """Raise `KitError` for what a child says in place of being ready."""
    if message["event"] == "error":
        raise KitError(message["fact"], place=message["place"], cure=message["cure"])
    if message["event"] == "no_library":
        extra = "attention-kit[torch]" if exercise.library == "torch" else exercise.library
        raise KitError(
            f"{exercise.title} needs {exercise.library}, and this Python cannot import it "
            f"({message['words']})",
            place=str(Path(exercise.folder)),
            cure=f"run `python -m pip install '{extra}'` and check again",
        )
