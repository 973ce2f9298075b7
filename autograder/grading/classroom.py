"""Judge a whole class: equal submissions once, many at a time, nobody lost.

All work on a hand-in, reading as well as judging, is done in a watched grader process
(`grader_pool.py`), so that no hand-in can hold up the class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from autograder.grading.class_task import HandIn
from autograder.grading.grader_pool import Cause, GraderPool, Loss, PlacedResult, Pool
from autograder.grading.journal import (
    DEFAULT_RUN,
    GradingRun,
    JudgedStep,
    infrastructure,
    input_seed,
    unfinished,
)
from autograder.grading.watched_process import Bounds, WorkProgress, one_by_one
from autograder.submission.reading import Submission, read_one_of, unreadable
from autograder.values.exercise import Exercise
from autograder.values.symbols import MarkingRules, our_fault
from autograder.values.value_file import LazySequence, StoredSequence, ValueFile
from autograder.values.verdict import Finding, Outcome, Verdict, VerdictOutlines

# Read a whole class, in watched grader processes: what cannot be read costs only its owner.

LARGEST_BATCH = 8
BATCHES_PER_PROCESS = 4
# Of reading a hand-in, and of copying it into a notebook or a page.
HANDLING = Bounds(seconds=30.0, wall_seconds=120.0, megabytes=1024)


def read_class(
    pool: Pool,
    exercise: Exercise,
    hand_ins: Sequence[HandIn],
    *,
    bounds: Bounds = HANDLING,
    file: ValueFile | None = None,
) -> Sequence[Submission]:
    """Read what every student handed in, in their order; what cannot be read is `rejected`.

    So is what a fault of ours kept from being read, as such.

    With a `file`, what was read is kept there, and not in memory: what is judged later is what was
    read now, whatever becomes of the hand-in.
    """
    work, size = partial(one_by_one, partial(_read, exercise)), len(hand_ins)
    read: Any = StoredSequence[Submission](file, size) if file else [None] * size
    for place, found in pool.results(work, hand_ins, bounds, batch_size(size, pool.processes)):
        is_lost = isinstance(found, Loss)
        read[place] = _not_read(exercise, hand_ins[place], found) if is_lost else found
    return cast(Sequence[Submission], read)


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


JUDGING_SECONDS = 60.0
# Wall time is three times a submission's own time, for each of the runs that it may take.
_WALL_PER_SECOND = 3.0 * 5


@dataclass(frozen=True)
class ClassJudging:
    """Judging submissions by the exercise in `folder`: the work of a grader process."""

    folder: Path
    run: GradingRun

    def __call__(self, submissions: Sequence[Submission], progress: WorkProgress) -> None:
        """Judge a batch, and tell `progress` of every verdict."""
        from autograder.grading.batch import grade_batch  # with pytest, which only graders need

        grade_batch(self.folder, submissions, self.run, progress)


def judging_bounds(exercise: Exercise) -> Bounds:
    """Return what judging one submission may use of a grader process."""
    wall = _WALL_PER_SECOND * exercise.limits.seconds_per_submission + JUDGING_SECONDS
    return Bounds(JUDGING_SECONDS, wall)


def grade_class(
    exercise: Exercise,
    submissions: Sequence[Submission],
    *,
    run: GradingRun = DEFAULT_RUN,
    processes: int | None = None,
    pool: Pool | None = None,
    bounds: Bounds | None = None,
) -> tuple[Verdict, ...]:
    """Return what `judge_class` gives, a verdict for every submission, in their order.

    Without a pool, one of `processes` is made (None: as many as are worth their start).
    """
    with nullcontext(pool) if pool else GraderPool(processes) as graders:
        found = judge_class(exercise, submissions, graders, run, bounds)
        known = {verdict.student: verdict for verdict in found}
    return tuple(known[submission.student] for submission in submissions)


def judge_class(
    exercise: Exercise,
    submissions: Sequence[Submission],
    pool: Pool,
    run: GradingRun,
    bounds: Bounds | None = None,
) -> Iterator[Verdict]:
    """Judge every submission in `pool`; give the verdict on each one as it becomes known.

    What the journal holds is not judged. Raises `KitError` when the exercise cannot be used or the
    sandbox falls short of the demand.
    """
    students = _equal(submissions)
    folder, limits = exercise.folder.absolute(), bounds or judging_bounds(exercise)

    def judged(run: GradingRun, places: Sequence[int]) -> Iterator[PlacedResult]:
        items, size = LazySequence.picked(submissions, places), len(places)
        work = ClassJudging(folder, run)
        found = pool.results(work, items, limits, batch_size(size, pool.processes))
        return ((places[number], each) for number, each in found)

    def told(place: int, found: Verdict | Loss) -> Iterator[Verdict]:
        if isinstance(found, Loss):
            found = _stopped(exercise, submissions[place], found, run)
        for student in students[place]:
            yield replace(found, student=student)

    unseen: list[int] = []
    for place, found in judged(run, tuple(students)):
        if isinstance(found, Loss) and _is_unseen(found, run):
            unseen.append(place)
        else:
            yield from told(place, found)
    for place, found in judged(replace(run, together=False), unseen):
        yield from told(place, found)


def _is_unseen(loss: Loss, run: GradingRun) -> bool:
    """Whether what is right in a hand-in was asked, but not judged yet."""
    return run.together and not loss.cause.ours and not _judged_steps(loss)


_ENDS = {
    Cause.TIME: Outcome.TIMED_OUT,
    Cause.MEMORY: Outcome.OUT_OF_MEMORY,
    Cause.CRASH: Outcome.CRASHED,
}


def _stopped(exercise: Exercise, submission: Submission, loss: Loss, run: GradingRun) -> Verdict:
    """Return the verdict on a submission whose judging did not finish, and keep it.

    When the grader was ended from outside or kept waiting, that is no verdict on anybody.
    """
    if loss.cause.ours:
        return infrastructure(exercise, submission, why_lost(loss))
    finding = Finding(
        _ENDS[loss.cause],
        f"Judging your work was stopped here, since {why_lost(loss)}.",
        look="What was judged before counts. Is a result or an error message of yours very large "
        "or deeply nested?",
    )
    steps = _judged_steps(loss)
    seed = input_seed(run.secret, exercise, submission.code_hash)
    verdict = unfinished(exercise, submission, finding, steps, seed)
    return run.kept(verdict, exercise, submission)


def _judged_steps(loss: Loss) -> list[JudgedStep]:
    return [part for part in loss.parts if isinstance(part, JudgedStep)]


def _equal(submissions: Sequence[Submission]) -> dict[int, list[str]]:
    """Return the students whose verdicts will say the same, by the place of the first of them.

    They have equal code, and equal remarks on it.
    """
    firsts: dict[str, int] = {}
    students: dict[int, list[str]] = {}
    for place, submission in enumerate(submissions):
        first = firsts.setdefault(DEFAULT_RUN.key(submission, ""), place)
        students.setdefault(first, []).append(submission.student)
    return students


# A class that is read and judged, of which only outlines are in memory.


@dataclass(frozen=True)
class JudgedClass:
    """What was handed in and the verdicts on it, in the same order.

    Submissions and whole verdicts are read anew whenever one is asked for: go through them one by
    one. What is about all of the class needs only the outlines.
    """

    submissions: Sequence[Submission]
    verdicts: Sequence[Verdict]
    outlines: Sequence[Verdict]

    @classmethod
    def in_memory(
        cls, submissions: Sequence[Submission], verdicts: Sequence[Verdict]
    ) -> JudgedClass:
        """Return a class that is small enough to be held as it is."""
        return cls(submissions, verdicts, verdicts)


class IncomingVerdicts:
    """The verdicts on `submissions` as they come in, marked by `rules` and put into a file."""

    def __init__(
        self, submissions: Sequence[Submission], rules: MarkingRules, file: ValueFile
    ) -> None:
        self._submissions, self._rules = submissions, rules
        self._places = {each.student: place for place, each in enumerate(submissions)}
        self._verdicts = StoredSequence[Verdict](file, len(submissions))
        self._outlines: list[Verdict | None] = [None] * len(submissions)
        self._outline_of = VerdictOutlines().of

    def add(self, verdict: Verdict) -> Verdict:
        """Put a verdict away; return its outline."""
        marked = self._rules.marked(verdict)
        place = self._places[verdict.student]
        self._verdicts[place] = marked
        outline = self._outlines[place] = self._outline_of(marked)
        return outline

    @property
    def outlines(self) -> Iterator[Verdict]:
        """Those of the verdicts that are there."""
        return (each for each in self._outlines if each)

    @property
    def missing(self) -> list[int]:
        """The places of the submissions without a verdict."""
        return [place for place, each in enumerate(self._outlines) if each is None]

    def whole_class(self) -> JudgedClass:
        """Return the class, once no verdict is missing."""
        assert not self.missing
        return JudgedClass(self._submissions, self._verdicts, tuple(self.outlines))
