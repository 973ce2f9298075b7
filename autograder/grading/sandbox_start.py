"""Starting and measuring the sandbox of an exercise before there is anything to judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.grading.watched_process import WorkProgress
from autograder.model.exercise import read_exercise


@dataclass(frozen=True)
class SandboxStart:
    """The first work of a grader process that will judge by the exercise in `folder`.

    Its items are None.
    """

    folder: Path
    allow_process: bool

    def __call__(self, items: Sequence[None], progress: WorkProgress) -> None:
        """Do it; raise `KitError` when the sandbox falls short of the demand."""
        from autograder.grading.batch import enter_sandbox  # with pytest, which only graders need

        enter_sandbox(read_exercise(self.folder), self.allow_process)
        for number in range(len(items)):
            progress.done(None, number)
