"""Grader processes that start while the starter still imports what it needs itself."""

from __future__ import annotations

import sys

from autograder.grading.class_task import ClassTask, GradingOptions
from autograder.grading.grader_pool import GraderPool
from autograder.grading.sandbox_start import sandbox_start


def give_head_start(task: ClassTask, pool: GraderPool, options: GradingOptions) -> None:
    """Start the grader processes that `task` needs.

    Where there are no results yet, they also prepare to judge; otherwise, perhaps nobody will be.
    """
    if sys.platform != "linux":
        return
    judged_here = options.cluster is None and not task.output.exists()
    preparation = sandbox_start(task, options).prepare if judged_here else None
    pool.begin(len(task.hand_ins), preparation)
