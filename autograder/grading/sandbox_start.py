"""Starting and measuring the sandbox of an exercise before there is anything to judge."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from autograder.grading.class_task import ClassTask, GradingOptions
from autograder.grading.grader_pool import GraderPool
from autograder.grading.watched_process import WorkProgress
from autograder.values.exercise import Exercise, read_exercise


@dataclass(frozen=True)
class SandboxStart:
    """The first work of a grader process that will judge by the exercise in `folder`.

    Its items are None. All hand-ins lie in `graded`, where this is known.
    """

    folder: Path
    allow_process: bool
    graded: Path | None = None

    def prepare(self) -> None:
        """Begin the sandbox, and import here what judging needs while the library loads there."""
        from autograder.grading.batch import begun_sandbox

        exercise = read_exercise(self.folder)
        begun_sandbox(exercise, self.allow_process, self.graded)
        import_module("autograder.grading.batch")  # with pytest, which only graders need
        import_module(exercise.library)

    def __call__(self, items: Sequence[None], progress: WorkProgress) -> None:
        """Do it; raise `KitError` when the sandbox falls short of the demand."""
        from autograder.grading.batch import begun_sandbox, entered_sandbox

        exercise = _with_a_library(read_exercise(self.folder))
        entered_sandbox(begun_sandbox(exercise, self.allow_process, self.graded))
        for number in range(len(items)):
            progress.done(None, number)


def sandbox_start(task: ClassTask, options: GradingOptions) -> SandboxStart:
    """Return how the sandbox is started that `task` is judged in."""
    return SandboxStart(task.exercise.folder.absolute(), options.allow_process, task.graded)


def _with_a_library(exercise: Exercise) -> Exercise:
    """Return the exercise, with NumPy where its own library cannot be imported in this process.

    What isolates does not depend on the library, and judging says best what is missing.
    """
    try:
        import_module(exercise.library)
    except Exception:  # a library may raise anything
        return replace(exercise, library="numpy")
    return exercise


# Grader processes that start while the starter still imports what it needs itself.


def give_head_start(task: ClassTask, pool: GraderPool, options: GradingOptions) -> None:
    """Start the grader processes that `task` needs.

    Where there are no results yet, they also prepare to judge; otherwise, perhaps nobody will be.
    """
    if sys.platform != "linux":
        return
    judged_here = options.cluster is None and not task.output.exists()
    preparation = sandbox_start(task, options).prepare if judged_here else None
    pool.begin(len(task.hand_ins), preparation)
