"""What every learner's command begins with: the workspace, the progress, the named task."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.errors import KitError
from autograder.learning.own_work import which_counts
from autograder.learning.runner.results import Checkup
from autograder.learning.state.progress import (
    Progress,
    StepProgress,
    current_exercise,
    noted,
    read_progress,
)
from autograder.learning.state.workspace import Task, Workspace, find_workspace
from autograder.model.exercise import Exercise, Step

Say = Callable[[str], None]


@dataclass(frozen=True)
class LearnerSession:
    """A workspace and the learner's progress in it; `say` shows the learner a sentence."""

    workspace: Workspace
    progress: Progress
    say: Say

    @property
    def current(self) -> Exercise:
        """The exercise that a command without a name is about."""
        return current_exercise(self.workspace, self.progress)

    def task(self, words: str | None) -> Task:
        """Parse EXERCISE, EXERCISE.STEP, STEP or nothing; raise `KitError`."""
        return self.workspace.task(words, self.current)

    def step(self, words: str | None) -> tuple[Exercise, Step]:
        """Parse the name of a step; without a step's name, return the open step.

        Raise `KitError` for an unknown name.
        """
        task = self._without_file(self.task(words), "a step")
        return task.exercise, task.step or self.open_step(task.exercise)

    def exercise(self, words: str | None) -> Exercise:
        """Parse the name of an exercise, or of a step in it; raise `KitError` for another name."""
        steps = {step.name for each in self.workspace.exercises for step in each.steps}
        if words and words.isidentifier() and words not in steps:
            return self.workspace.exercise(words)
        return self._without_file(self.task(words), "an exercise").exercise

    def _without_file(self, task: Task, about: str) -> Task:
        if task.file is None:
            return task
        raise KitError(
            f"{task.file.name} is a file, and this command is about {about}",
            place=str(task.exercise.folder),
            cure="attn list shows the names. Only attn check and attn reset take a file",
        )

    def open_step(self, exercise: Exercise) -> Step:
        """Return the first step that did not pass when last checked, or else the last step."""
        passed = self.progress.passed(exercise)
        left = [step for step in exercise.steps if step.name not in passed]
        return (left or exercise.steps[-1:])[0]

    def name_of(self, exercise: Exercise, step: Step) -> str:
        """Return what a command calls a step: its name, behind that of its exercise if needed.

        A command about a step of another exercise than the current one has to say of which.
        """
        steps = [each.name for exercise in self.workspace.exercises for each in exercise.steps]
        alone = exercise.name == self.current.name or steps.count(step.name) == 1
        return step.name if alone else f"{exercise.name}.{step.name}"

    def known(self, exercise: Exercise, step: Step) -> StepProgress:
        """Return the progress in a step."""
        return self.progress.step(exercise.name, step.name)

    def noted(self, exercise: Exercise, step: Step, known: StepProgress) -> LearnerSession:
        """Save what has changed in the progress in a step, and leave the rest as it is by now."""
        names = (exercise.name, step.name)
        before, after = vars(self.known(exercise, step)), vars(known)
        changed = {field: after[field] for field in after if after[field] != before[field]}
        return self._noted(lambda now: now.with_step(*names, replace(now.step(*names), **changed)))

    def with_words_on_saving(self, checkup: Checkup) -> Checkup:
        """Return the answer to a check, with a remark where its notebook has less than had passed.

        In JupyterLab, steps are checked as they are on the screen, which may not be saved yet.
        """
        runs = [run for run in checkup.steps if not run.verdict.is_done]
        unwritten = [run.step for run in runs if run.verdict.never_written]
        gone = [each.name for each in unwritten if self.known(checkup.exercise, each).passed]
        if checkup.file.suffix != ".ipynb" or not gone or which_counts(checkup.exercise):
            return checkup
        saved = time.strftime("%H:%M", time.localtime(checkup.file.stat().st_mtime))
        steps = "a step that has" if len(gone) == 1 else f"{len(gone)} steps that have"
        words = (
            f"This is {checkup.file.name} as it was saved at {saved}, and {steps} passed before "
            f"{'is' if len(gone) == 1 else 'are'} not written in it. If you see your code in "
            "JupyterLab, save the notebook there and check again."
        )
        return replace(checkup, remarks=(*checkup.remarks, words))

    def checked(self, checkup: Checkup) -> LearnerSession:
        """Save what a check found, and when."""
        name = checkup.exercise.name
        return self._noted(lambda now: now.with_checkup(checkup).with_check_at(name, time.time()))

    def passed(self, checkup: Checkup) -> LearnerSession:
        """Save which steps pass; this is no check on the way, so no time is noted."""
        return self._noted(lambda now: now.with_checkup(checkup))

    def opened(self, exercise: Exercise) -> LearnerSession:
        """Save which exercise is worked on."""
        return self._noted(lambda now: now.with_current(exercise.name))

    def next_exercise(self, after: Exercise) -> Exercise | None:
        """Return the first other exercise with an open step, searching from `after` on, or None.

        An optional one comes when nothing else is open.
        """
        every = self.workspace.exercises
        start = [each.name for each in every].index(after.name)
        others = (*every[start + 1 :], *every[:start])
        for each in sorted(others, key=lambda exercise: exercise.optional):
            if len(self.progress.passed(each)) < len(each.steps):
                return each
        return None

    def _noted(self, change: Callable[[Progress], Progress]) -> LearnerSession:
        return replace(self, progress=noted(self.progress, change, self.say))


def open_session(folder: Path, say: Say) -> LearnerSession:
    """Find the workspace around `folder`, read its progress; raise `KitError` if there is none."""
    workspace = find_workspace(folder)
    return LearnerSession(workspace, read_progress(workspace.root, say), say)
