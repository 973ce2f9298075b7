"""Grade a whole class: equal submissions once, batches side by side, nobody lost.

A grader process that dies takes only its batch with it; each of that batch is
tried once more on its own, and what fails again is reported as `infrastructure`.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import partial
from multiprocessing import connection
from pathlib import Path

from autograder.checks.reference import read_reference
from autograder.exercise import Exercise
from autograder.grading.batch import grade_batch, infrastructure
from autograder.reading.submission import Submission
from autograder.verdict import Verdict

LARGEST_BATCH = 16
BATCHES_PER_PROCESS = 4

GradeBatch = Callable[[Sequence[Submission]], tuple[Verdict, ...]]


def grade_class(
    exercise: Exercise,
    submissions: Sequence[Submission],
    *,
    processes: int | None = None,
    allow_process: bool = False,
    journal: Path | None = None,
    on_verdict: Callable[[Verdict], None] = lambda verdict: None,
) -> tuple[Verdict, ...]:
    """Return a verdict for every submission, in their order.

    `on_verdict` is called for each as it becomes known; what the `journal` holds is not judged
    again. Raises `KitError` when the
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
    grade = partial(grade_batch, exercise.folder, allow_process=allow_process, journal=journal)
    with _pool(count) as pool:
        lost = _run(pool, grade, _batches(firsts, count), keep)
    for submission in lost:
        keep([_alone(exercise, grade, submission)])
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
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(processes, mp_context=context, initializer=_end_with_starter)


def _end_with_starter() -> None:
    """Have this process end when the one that started it is killed: else it would wait for ever."""
    starter = multiprocessing.parent_process()
    assert starter is not None

    def watch() -> None:
        connection.wait([starter.sentinel])
        os._exit(1)

    threading.Thread(target=watch, name="end with starter", daemon=True).start()


def _run(
    pool: Executor,
    grade: GradeBatch,
    batches: list[list[Submission]],
    keep: Callable[[Iterable[Verdict]], None],
) -> list[Submission]:
    """Grade the batches; return the submissions of those whose process died."""
    futures: dict[Future[tuple[Verdict, ...]], list[Submission]] = {
        pool.submit(grade, batch): batch for batch in batches
    }
    lost: list[Submission] = []
    for future in as_completed(futures):
        try:
            keep(future.result())
        except BrokenProcessPool:
            lost += futures[future]
    return lost


def _alone(exercise: Exercise, grade: GradeBatch, submission: Submission) -> Verdict:
    with _pool(1) as pool:
        try:
            return pool.submit(grade, [submission]).result()[0]
        except BrokenProcessPool as error:
            return infrastructure(read_reference(exercise.folder), submission, str(error))
