"""The state of `attn watch`: the answer that is shown, the current step, and how to move."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rich.console import RenderableType

from autograder.errors import KitError
from autograder.learning.runner.results import Checkup, StepRun
from autograder.learning.state.session import LearnerSession
from autograder.model.exercise import Exercise, Step


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
        return self.exercise.step(self.focus) if self.focus else self._first_open

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

    @property
    def _first_open(self) -> Step:
        return self.session.open_step(self.exercise)

    def name_of(self, step: str) -> str:
        """Return what a command calls a step."""
        return self.session.name_of(self.exercise, self.exercise.step(step))

    def moved(self, name: str) -> View:
        """Return the view of another step."""
        return replace(self, focus=name, news=(), passed="", asked="", extra=(), page=0)

    def showing(self, *pieces: RenderableType, leads: bool = False) -> View:
        """Return the view with what a key shows, which `leads` where it needs the room."""
        return replace(self, extra=pieces, leads=leads, page=0)
