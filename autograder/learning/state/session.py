"""What every command of a learner's begins with: the workspace, the progress, the task named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.learning.runner.results import Checkup
from autograder.learning.state.progress import (
    Progress,
    StepProgress,
    current_exercise,
    read_progress,
    save,
)
from autograder.learning.state.workspace import Task, Workspace, find_workspace
from autograder.model.exercise import Exercise, Step

Say = Callable[[str], None]


@dataclass(frozen=True)
class LearnerSession:
    """A workspace and how far one is in it; `say` is for what the learner should know."""

    workspace: Workspace
    progress: Progress
    say: Say

    @property
    def current(self) -> Exercise:
        """The exercise that a command without a name is about."""
        return current_exercise(self.workspace, self.progress)

    def task(self, words: str | None) -> Task:
        """Understand EXERCISE, EXERCISE.STEP, STEP or nothing; raise `KitError`."""
        return self.workspace.task(words, self.current)

    def step(self, words: str | None) -> tuple[Exercise, Step]:
        """Understand the name of a step; without one, or with an exercise's, it is the open one."""
        task = self.task(words)
        return task.exercise, task.step or self.open_step(task.exercise)

    def open_step(self, exercise: Exercise) -> Step:
        """The first step that did not pass last; the last one when all did."""
        passed = self.progress.passed(exercise)
        left = [step for step in exercise.steps if step.name not in passed]
        return (left or exercise.steps[-1:])[0]

    def known(self, exercise: Exercise, step: Step) -> StepProgress:
        """What is known of a step."""
        return self.progress.step(exercise.name, step.name)

    def noted(self, exercise: Exercise, step: Step, known: StepProgress) -> LearnerSession:
        """Save what is known of a step."""
        return self._saved(self.progress.with_step(exercise.name, step.name, known))

    def checked(self, checkup: Checkup) -> LearnerSession:
        """Save what a check found."""
        return self._saved(self.progress.with_checkup(checkup))

    def opened(self, exercise: Exercise) -> LearnerSession:
        """Save which exercise is worked on."""
        return self._saved(self.progress.with_current(exercise.name))

    def next_exercise(self, after: Exercise) -> Exercise | None:
        """The first exercise with an open step, from `after` on; None when there is none."""
        every = self.workspace.exercises
        start = [each.name for each in every].index(after.name)
        for each in (*every[start + 1 :], *every[:start]):
            if len(self.progress.passed(each)) < len(each.steps):
                return each
        return None

    def _saved(self, progress: Progress) -> LearnerSession:
        if progress.facts != self.progress.facts:
            save(progress, self.say)
        return replace(self, progress=progress)


def open_session(folder: Path, say: Say) -> LearnerSession:
    """Find the workspace of `folder` and read its progress; raise `KitError` when there is none."""
    workspace = find_workspace(folder)
    return LearnerSession(workspace, read_progress(workspace.root, say), say)
