"""Grade a whole class: equal submissions once, batches side by side, nobody lost.

A grader process that dies takes only its batch with it; each of that batch is
tried once more on its own, and what fails again is reported as `infrastructure`.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

from autograder.checks.reference import read_reference
from autograder.exercise import Exercise
from autograder.grading.batch import grade_batch, infrastructure
from autograder.submission import Submission
from autograder.verdict import Verdict

LARGEST_BATCH = 16
BATCHES_PER_PROCESS = 4


def grade_class(
    exercise: Exercise,
    submissions: Sequence[Submission],
    *,
    processes: int | None = None,
    allow_process: bool = False,
    on_verdict: Callable[[Verdict], None] = lambda verdict: None,
) -> tuple[Verdict, ...]:
    """Return a verdict for every submission, in their order.

    `on_verdict` is called for each as it becomes known. Raises `KitError` when the
    exercise cannot be used or the sandbox falls short of what is demanded.
    """
    groups = _equal(submissions)
    firsts = [group[0] for group in groups]
    equals = {group[0].student: group for group in groups}
    known: dict[str, Verdict] = {}

    def keep(verdicts: Iterable[Verdict]) -> None:
        for verdict in verdicts:
            for submission in equals[verdict.student]:
                known[submission.student] = replace(verdict, student=submission.student)
                on_verdict(known[submission.student])

    count = max(1, min(processes or os.cpu_count() or 1, len(firsts)))
    with _pool(count) as pool:
        lost = _run(pool, exercise, _batches(firsts, count), allow_process, keep)
    for submission in lost:
        keep([_alone(exercise, submission, allow_process)])
    return tuple(known[submission.student] for submission in submissions)


def _equal(submissions: Sequence[Submission]) -> list[list[Submission]]:
    """Group by all that a verdict says: what is run, and what was found while reading it."""
    groups: dict[object, list[Submission]] = {}
    for submission in submissions:
        key = (submission.code_hash, submission.remarks, submission.rejected)
        groups.setdefault(key, []).append(submission)
    return list(groups.values())


def _batches(submissions: list[Submission], processes: int) -> list[list[Submission]]:
    size = -(-len(submissions) // (processes * BATCHES_PER_PROCESS))
    size = max(1, min(size, LARGEST_BATCH))
    return [submissions[start : start + size] for start in range(0, len(submissions), size)]


def _pool(processes: int) -> Executor:
    # Spawned, not forked: a grader process inherits nothing of its starter's memory.
    return ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"))


def _run(
    pool: Executor,
    exercise: Exercise,
    batches: list[list[Submission]],
    allow_process: bool,
    keep: Callable[[Iterable[Verdict]], None],
) -> list[Submission]:
    """Grade the batches; return the submissions of those whose process died."""
    futures: dict[Future[tuple[Verdict, ...]], list[Submission]] = {
        pool.submit(grade_batch, exercise.folder, batch, allow_process): batch for batch in batches
    }
    lost: list[Submission] = []
    for future in as_completed(futures):
        try:
            keep(future.result())
        except BrokenProcessPool:
            lost += futures[future]
    return lost


def _alone(exercise: Exercise, submission: Submission, allow_process: bool) -> Verdict:
    with _pool(1) as pool:
        try:
            job = pool.submit(grade_batch, exercise.folder, [submission], allow_process)
            return job.result()[0]
        except BrokenProcessPool as error:
            return infrastructure(read_reference(exercise.folder), submission, str(error))
