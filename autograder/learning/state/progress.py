"""How far a learner is: one small, readable file in the workspace.

It must survive upgrades and accidents. Entries that this version does not know are kept. A file
that cannot be read is set aside, and the learner is told. Writing replaces the whole file at once.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from autograder.errors import KitError
from autograder.learning.runner.results import Checkup
from autograder.learning.state.workspace import MARK, Workspace
from autograder.model.exercise import Exercise
from autograder.model.files import read_small, replace_file
from autograder.model.work_time import WorkTime, read_work_time

FILE = "progress.json"
VERSION = 1
MOST_BYTES = 1_000_000  # a step needs about 100
MOST_MISTAKES = 20  # of a step: the last ones


@dataclass(frozen=True)
class StepProgress:
    """The progress in one step: whether it last passed, hints given, solution shown.

    mistakes: the names of the known mistakes that checks found in it, in the order of their coming.
    """

    passed: bool = False
    hints: int = 0
    solution: bool = False
    mistakes: tuple[str, ...] = ()

    def with_hints(self, number: int) -> StepProgress:
        """Return the progress after this many hints."""
        return replace(self, hints=number)

    def with_solution(self) -> StepProgress:
        """Return the progress after the solution was shown."""
        return replace(self, solution=True)

    def with_passed(self, passed: bool) -> StepProgress:
        """Return the progress after a check."""
        return replace(self, passed=passed)

    def with_mistake(self, name: str | None) -> StepProgress:
        """Return the progress after a check that found the mistake `name`, or none by name."""
        if not name or name in self.mistakes:
            return self
        return replace(self, mistakes=(*self.mistakes, name)[-MOST_MISTAKES:])


@dataclass(frozen=True)
class Progress:
    """The progress in a workspace; changes return a new object, and `save` writes it."""

    file: Path
    facts: Mapping[str, Any]

    @property
    def current(self) -> str:
        """The name of the exercise worked on last, or ""."""
        name = self.facts.get("current")
        return name if isinstance(name, str) else ""

    def step(self, exercise: str, step: str) -> StepProgress:
        """Return the progress in a step."""
        facts = _inner(self.facts, "exercises", exercise, step)
        hints = facts.get("hints")
        return StepProgress(
            facts.get("passed") is True,
            hints if type(hints) is int and hints > 0 else 0,
            facts.get("solution") is True,
            _names(facts.get("mistakes")),
        )

    def with_step(self, exercise: str, step: str, known: StepProgress) -> Progress:
        """Return the progress with one step changed."""
        facts = copy.deepcopy(dict(self.facts))
        inner = facts
        for name in ("exercises", exercise, step):
            if not isinstance(inner.get(name), dict):
                inner[name] = {}
            inner = inner[name]
        inner.update(asdict(known))
        return Progress(self.file, facts)

    def with_current(self, exercise: str) -> Progress:
        """Return the progress with `exercise` as the one worked on last."""
        return Progress(self.file, {**self.facts, "current": exercise})

    def with_checkup(self, checkup: Checkup) -> Progress:
        """Return the progress after a check."""
        name = checkup.exercise.name
        progress = self.with_current(name)
        for run in checkup.steps:
            finding = run.verdict.finding
            now = progress.step(name, run.step.name).with_passed(run.verdict.passes)
            now = now.with_mistake(finding.misconception if finding else None)
            progress = progress.with_step(name, run.step.name, now)
        return progress

    def work_time(self, exercise: str) -> WorkTime:
        """Return how long an exercise was worked on, as far as its checks tell."""
        return read_work_time(_inner(self.facts, "work_time", exercise))

    def with_check_at(self, exercise: str, now: float) -> Progress:
        """Return the progress with the time of one more check."""
        after = asdict(self.work_time(exercise).after_check(now))
        return Progress(
            self.file,
            {**self.facts, "work_time": {**_inner(self.facts, "work_time"), exercise: after}},
        )

    def mistakes(self, exercise: Exercise) -> tuple[str, ...]:
        """Return the names of the known mistakes that were met, step by step."""
        steps = (self.step(exercise.name, step.name) for step in exercise.steps)
        return tuple(name for step in steps for name in step.mistakes)

    def passed(self, exercise: Exercise) -> tuple[str, ...]:
        """Return the names of the steps that passed when last checked, in order."""
        return tuple(
            step.name for step in exercise.steps if self.step(exercise.name, step.name).passed
        )

    def points(self, exercise: Exercise) -> float:
        """Return the points of the steps that passed when last checked."""
        passed = self.passed(exercise)
        return sum(step.points for step in exercise.steps if step.name in passed)

    def save(self) -> None:
        """Write the file; raises `OSError`."""
        self.file.parent.mkdir(exist_ok=True)
        ignore = self.file.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
        text = json.dumps({"version": VERSION, **self.facts}, indent=2, ensure_ascii=False) + "\n"
        replace_file(self.file, text.encode("utf-8", "backslashreplace"))


def _names(listed: Any) -> tuple[str, ...]:
    found = listed if isinstance(listed, list | tuple) else []
    return tuple(name for name in found if isinstance(name, str))


def _inner(facts: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    for name in names:
        inner = facts.get(name)
        facts = inner if isinstance(inner, dict) else {}
    return facts


def read_progress(root: Path, tell: Callable[[str], None]) -> Progress:
    """Read a workspace's progress; set an unreadable file aside, and pass `tell` a sentence."""
    file = root / MARK / FILE
    try:
        facts = json.loads(read_small(file, MOST_BYTES).decode("utf-8"))
        if not isinstance(facts, dict):
            raise ValueError("it holds no JSON object")
    except FileNotFoundError:
        facts = {}
    except OSError as error:
        tell(f"The record of your progress could not be opened: {error.strerror} ({file}).")
        facts = {}
    except (ValueError, RecursionError, KitError) as error:
        aside = _set_aside(file)
        why = error.fact if isinstance(error, KitError) else error
        tell(
            f"The record of your progress could not be read ({why}). It is kept as {aside}, "
            "and a new record begins. Your code is untouched."
        )
        facts = {}
    return Progress(file, facts)


def _set_aside(file: Path) -> Path:
    number = 1
    while os.path.lexists(aside := file.with_name(f"{file.name}.unreadable-{number}")):
        number += 1
    os.replace(file, aside)
    return aside


def save(progress: Progress, tell: Callable[[str], None]) -> None:
    """Write the progress; if that fails, only say so, because the check has its answer anyway."""
    try:
        progress.save()
    except OSError as error:
        tell(f"Your progress could not be saved in {progress.file.parent}: {error.strerror}.")


def current_exercise(workspace: Workspace, progress: Progress) -> Exercise:
    """Return the exercise of the current folder, or the one worked on last, or the first."""
    if workspace.here:
        return workspace.here
    if progress.current in workspace.names:
        return workspace.exercise(progress.current)
    return workspace.exercises[0]
