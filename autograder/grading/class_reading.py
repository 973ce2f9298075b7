"""Read a whole class, in watched grader processes: what cannot be read costs only its owner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from autograder.grading.grader_pool import Cause, GraderPool, Loss
from autograder.grading.roster import HandIn
from autograder.grading.watched_process import Bounds, one_by_one
from autograder.model.exercise import Exercise
from autograder.model.symbols import our_fault
from autograder.model.value_file import StoredSequence, ValueFile
from autograder.submission.reading import Submission, read_one_of, unreadable

LARGEST_BATCH = 8
BATCHES_PER_PROCESS = 4
READING = Bounds(seconds=30.0, wall_seconds=120.0, megabytes=1024)


def read_class(
    pool: GraderPool,
    exercise: Exercise,
    hand_ins: Sequence[HandIn],
    *,
    bounds: Bounds = READING,
    file: ValueFile | None = None,
) -> Sequence[Submission]:
    """Read what every student handed in, in their order; what cannot be read is `rejected`.

    So is what a fault of ours kept from being read, as such.

    With a `file`, what was read is kept there, and not in memory: what is judged later is what was
    read now, whatever becomes of the hand-in.
    """
    in_memory: dict[int, Submission] = {}
    stored = StoredSequence[Submission](file, len(hand_ins)) if file else None
    read = in_memory if stored is None else stored

    def lost(place: int, loss: Loss) -> None:
        read[place] = _not_read(exercise, hand_ins[place], loss)

    pool.run(
        partial(one_by_one, partial(_read, exercise)),
        hand_ins,
        bounds,
        result=read.__setitem__,
        lost=lost,
        batch=batch_size(len(hand_ins), pool.processes),
    )
    return tuple(in_memory[place] for place in range(len(hand_ins))) if stored is None else stored


def _read(exercise: Exercise, hand_in: HandIn) -> Submission:
    """Read what one student handed in, in a grader process."""
    submission = read_one_of(hand_in.paths, exercise, hand_in.student, hand_in.root)
    _ = submission.code_hash  # computed here, once: it goes wherever the submission goes
    return submission


def _not_read(exercise: Exercise, hand_in: HandIn, loss: Loss) -> Submission:
    why = why_lost(loss)
    found = unreadable(hand_in.paths, exercise, hand_in.student, why, root=hand_in.root)
    return replace(found, rejected=our_fault((why,))) if loss.cause.ours else found


def why_lost(loss: Loss) -> str:
    """Return why the work on a hand-in has no result, in words."""
    if loss.cause in (Cause.TIME, Cause.MEMORY):
        return f"the grader had used {loss.detail} on it"
    if loss.cause is Cause.DELAY:
        return f"the grader was not done with it after {loss.detail}"
    return f"the grader's own process ended while working on it ({loss.detail})"


def batch_size(items: int, processes: int) -> int:
    """Return how many hand-ins a grader process is given at a time."""
    return max(1, min(-(-items // (processes * BATCHES_PER_PROCESS)), LARGEST_BATCH))
