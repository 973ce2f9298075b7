"""The workers of a Dask cluster, as a pool that judges a class.

Each worker is given one batch at a time, by name, so that it is known here who works on what. One
that ends gives its hand-ins back, one that cannot judge here is not used. The command alone writes
the journal.
"""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

from distributed import Client, Future, fire_and_forget

from autograder.cluster.connection import connected
from autograder.cluster.remote_grader import (
    Parcel,
    forget,
    judge,
    on_another_machine,
    pack,
    receive,
)
from autograder.errors import KitError
from autograder.grading.classroom import ClassJudging
from autograder.grading.grader_pool import TICK, Cause, Loss, PlacedResult, WaitingItems
from autograder.grading.journal import is_sound
from autograder.grading.watched_process import Bounds
from autograder.submission.reading import Submission
from autograder.values.exercise import Exercise, read_exercise
from autograder.values.sanitize import terminal_line
from autograder.values.symbols import Protection
from autograder.values.verdict import Verdict

# One Dask worker as the command sees it: what it was given, and whether it has answered.

SECONDS_TO_FETCH = 10


class TaskState(Enum):
    """What has come of the last task of a Dask worker."""

    RUNNING = "running, or there is none"
    RESULT = "a result"
    FAULT = "an exception"
    GONE = "nothing, and nothing will"


@dataclass(eq=False)
class DaskWorker:
    """The worker at `address`; `ready` once it has the exercise, and working on `places`."""

    client: Client
    address: str
    ready: bool = False
    places: list[int] = field(default_factory=list)
    _future: Future[Any] | None = None

    @property
    def idle(self) -> bool:
        """Whether it may be given a batch."""
        return self.ready and self._future is None

    def give(self, woken: Callable[[], None], task: Callable[..., Any], *words: Any) -> None:
        """Have it, and nobody else, do a task; `woken` is called when there is news of it."""
        self._future = self.client.submit(
            task, *words, workers=[self.address], allow_other_workers=False, pure=False, retries=0
        )
        self._future.add_done_callback(lambda future: woken())

    def answer(self) -> tuple[TaskState, Any]:
        """Return what came of the task, with its result or exception, and forget the task then."""
        if self._future is None:
            return TaskState.RUNNING, None
        try:
            kind, value = _answer(self._future)
        except (TimeoutError, OSError, asyncio.CancelledError):
            return TaskState.RUNNING, None  # it ended after its work: the next look will show that
        if kind is not TaskState.RUNNING:
            self.drop()
        return kind, value

    def drop(self) -> None:
        """Forget the task; what comes of it later counts for nobody."""
        if self._future is not None:
            self._future.cancel()
            self._future = None


def _answer(future: Future[Any]) -> tuple[TaskState, Any]:
    from distributed.scheduler import KilledWorker

    if future.status == "finished":
        return TaskState.RESULT, future.result(timeout=SECONDS_TO_FETCH)
    if future.status == "error":
        error = future.exception(timeout=SECONDS_TO_FETCH)
        gone = isinstance(error, KilledWorker)
        return (TaskState.GONE, None) if gone else (TaskState.FAULT, error)
    if future.status in ("cancelled", "lost"):
        return TaskState.GONE, None
    return TaskState.RUNNING, None


# Whether what a worker returned is a verdict on what it was asked.


def is_answer(
    returned: object,
    submission: Submission,
    exercise: Exercise,
    exercise_hash: str,
    allow_process: bool,
) -> bool:
    """Whether `returned` is a loss, or a verdict that can be one on `submission`.

    Student, exercise and both hashes have to be those that were asked for, and its protection one
    that is accepted. What was judged agrees with itself, as a verdict of the journal has to.
    """
    if isinstance(returned, Loss):
        return isinstance(returned.cause, Cause) and isinstance(returned.detail, str)
    if not isinstance(returned, Verdict):
        return False
    asked = (submission.student, submission.exercise, submission.code_hash, exercise_hash)
    told = (returned.student, returned.exercise, returned.code_hash, returned.exercise_hash)
    if asked != told or (returned.protection == Protection.PROCESS and not allow_process):
        return False
    if submission.rejected:
        return returned.points == 0
    return returned.infrastructure or is_sound(returned, exercise)


# A worker that dies takes a batch with it.
LARGEST_BATCH = 4
# Workers that may end with a hand-in before it is given up. Machines that are taken away at any
# moment end workers through no fault of a hand-in, so it is many.
MOST_TRIES = 10
# How many seconds may pass without a worker that can judge.
FOR_A_WORKER = 60.0
FOR_A_START = 300.0  # of sandboxes: PyTorch from a slow disk
FOR_ANOTHER = 5.0  # where all that there are have been refused
BEFORE_WORDS = 2.0
_LONGEST = 500


class ClusterPool:
    """Judges on the workers behind `client`; `say` is told of workers that are not used."""

    def __init__(self, client: Client, place: str, say: Callable[[str], None]) -> None:
        self.client, self.place, self.say = client, place, say
        self._run: ClusterRun | None = None

    @property
    def processes(self) -> int:
        """How many workers there are now; at least one, since others may come."""
        return max(1, len(self.workers()))

    def workers(self) -> set[str]:
        """Return the addresses of the workers; raise `KitError` when the scheduler is gone."""
        try:
            return set(self.client.nthreads())
        except (OSError, RuntimeError) as error:
            raise KitError(
                f"the scheduler no longer answers: {terminal_line(str(error), _LONGEST)}",
                place=self.place,
                cure="start it again, and run the same command again: what was judged is kept",
            ) from None

    def results(
        self, work: ClassJudging, items: Sequence[Submission], bounds: Bounds, batch: int = 1
    ) -> Iterator[PlacedResult]:
        """Have every item judged; see `Pool.results`.

        A verdict is in the journal before it is given. A hand-in with which workers ended again and
        again is a `Loss`. Raises `KitError` when no worker is left that can judge, or the scheduler
        is gone.
        """
        if items:
            self._run = ClusterRun(self, work, items, bounds, min(batch, LARGEST_BATCH))
            try:
                yield from self._run.results()
            finally:
                self.close()

    def close(self) -> None:
        """End a run, also one that was stopped half-way."""
        if self._run:
            self._run.close()
        self._run = None


@contextmanager
def cluster_pool(address: str, processes: int, say: Callable[[str], None]) -> Iterator[ClusterPool]:
    """Connect to a cluster for a run; see `connected`."""
    with connected(address, processes) as client:
        pool = ClusterPool(client, address, say)
        try:
            yield pool
        finally:
            pool.close()


class ClusterRun:
    """One class on its way through a cluster: who is given what, and what comes of it."""

    def __init__(
        self,
        pool: ClusterPool,
        work: ClassJudging,
        items: Sequence[Submission],
        bounds: Bounds,
        batch: int,
    ) -> None:
        self._pool, self._client = pool, pool.client
        self._name = uuid.uuid4().hex  # what workers know the run by
        self._work, self._items, self._bounds, self._batch = work, items, bounds, batch
        self._waiting = WaitingItems(len(items), MOST_TRIES)
        self._found: deque[PlacedResult] = deque()
        self._workers: dict[str, DaskWorker] = {}
        self._refused: dict[str, KitError] = {}
        self._sent_to: set[str] = set()
        self._news = threading.Event()
        self._since = time.monotonic()  # without a worker that can judge
        self._told = False

    def results(self) -> Iterator[PlacedResult]:
        """Give what came of every item; raise `KitError` when no worker is left that can judge."""
        while True:
            there = self._pool.workers()
            for worker in list(self._workers.values()):
                self._listen(worker)
            for address in set(self._workers) - there:
                self._part_with(self._workers.pop(address))
            for address in there - set(self._workers) - set(self._refused):
                self._workers[address] = DaskWorker(self._client, address)
                self._send_exercise(self._workers[address])
            while self._found:
                yield self._found.popleft()
            if not self._waiting and not any(each.places for each in self._workers.values()):
                return
            self._hand_out()
            self._demand_workers(there)
            self._news.wait(TICK)
            self._news.clear()

    def close(self) -> None:
        """Drop what is still being done, and have workers remove the exercise."""
        for worker in self._workers.values():
            worker.drop()
        try:
            there = self._sent_to & self._pool.workers()
        except KitError:  # the scheduler is gone, and the Dask workers end with it
            return
        for address in there:
            # It may still be busy, and nobody waits for that.
            fire_and_forget(self._client.submit(forget, self._name, workers=[address], pure=False))

    @cached_property
    def _parcel(self) -> Parcel:
        return pack(self._work.folder)

    @cached_property
    def _exercise(self) -> Exercise:
        return read_exercise(self._work.folder)

    def _send_exercise(self, worker: DaskWorker) -> None:
        """Send a worker the exercise; it is given hand-ins when it can judge them."""
        sent, worker.ready = self._parcel, False
        self._sent_to.add(worker.address)
        facts = (sent.name, sent.archive, sent.exercise_hash, sent.versions)
        allowed = self._work.run.allow_process
        worker.give(self._news.set, receive, self._name, *facts, allowed)

    def _hand_out(self) -> None:
        rules = on_another_machine(self._work.run)
        for worker in self._workers.values():
            if worker.idle:
                worker.places = self._waiting.take(self._batch)
            if worker.idle and worker.places:
                submissions = [self._items[place] for place in worker.places]
                worker.give(self._news.set, judge, self._name, rules, self._bounds, submissions)

    def _listen(self, worker: DaskWorker) -> None:
        kind, value = worker.answer()
        match kind, worker.ready:
            case TaskState.RESULT, False:
                worker.ready = True
            case TaskState.RESULT, True if value is None:  # started anew at the same address
                self._part_with(worker)
                self._send_exercise(worker)
            case TaskState.RESULT, True:
                self._take(worker, value)
            case TaskState.FAULT, True if not isinstance(value, KitError):
                self._retry(worker, terminal_line(repr(value), _LONGEST))
            case TaskState.FAULT, _:
                self._refuse(worker, value)
            case TaskState.GONE, _:
                self._part_with(worker)
                self._send_exercise(worker)

    def _take(self, worker: DaskWorker, answers: object) -> None:
        sent, run = self._parcel, self._work.run
        asked = [self._items[place] for place in worker.places]
        found = answers if isinstance(answers, tuple) else ()
        if len(found) != len(asked) or not all(
            is_answer(answer, item, self._exercise, sent.exercise_hash, run.allow_process)
            for answer, item in zip(found, asked)
        ):
            self._refuse(worker, _nonsense())
            return
        places, worker.places = worker.places, []
        for place, answer in zip(places, found):
            self._count(place, answer)

    def _count(self, place: int, answer: Verdict | Loss) -> None:
        if isinstance(answer, Verdict):
            answer = self._work.run.kept(answer, self._exercise, self._items[place])
        self._found.append((place, answer))

    def _part_with(self, worker: DaskWorker) -> None:
        worker.drop()
        self._retry(worker, "its Dask worker ended")

    def _retry(self, worker: DaskWorker, why: str) -> None:
        """Have others try what a worker was working on, or give it up after many tries."""
        places, worker.places = worker.places, []
        loss = Loss(Cause.ENDED, f"{why}, on the last of many tries")
        self._found += [(place, loss) for place in places if not self._waiting.try_again(place)]

    def _refuse(self, worker: DaskWorker, error: BaseException) -> None:
        """Use a worker no longer, and say why; others get its work."""
        fault = error if isinstance(error, KitError) else _unfit(error)
        self._waiting.put_back(worker.places)
        worker.drop()
        del self._workers[worker.address]
        self._refused[worker.address] = fault
        fact = terminal_line(fault.fact, _LONGEST)
        self._pool.say(f"the Dask worker {terminal_line(worker.address, 100)} is not used: {fact}")

    def _demand_workers(self, there: Iterable[str]) -> None:
        """Raise `KitError` when there has been no worker for too long that can judge."""
        now = time.monotonic()
        if any(worker.ready for worker in self._workers.values()):
            self._since, self._told = now, False
            return
        if now - self._since > BEFORE_WORDS and not there and not self._told:
            self._told = True
            self._pool.say(
                f"no Dask worker is there: waiting up to {FOR_A_WORKER:.0f} seconds for one"
            )
        if now - self._since > self._patience(set(there)):
            raise self._nobody(there)

    def _patience(self, there: set[str]) -> float:
        if not there:
            return FOR_A_WORKER
        return FOR_A_START if self._workers else FOR_ANOTHER

    def _nobody(self, there: Iterable[str]) -> KitError:
        faults = list({str(fault): fault for fault in self._refused.values()}.values())
        if len(faults) == 1:
            return faults[0]
        if faults:
            return KitError(
                "none of the Dask workers can judge: " + "; ".join(fault.fact for fault in faults),
                place=self._pool.place,
                cure=faults[0].cure,
            )
        return KitError(
            "no Dask worker is ready to judge" if there else "the scheduler has no Dask worker",
            place=self._pool.place,
            cure="start workers (`dask worker ADDRESS --nthreads 1`, with "
            "DASK_DISTRIBUTED__WORKER__DAEMON=False in their environment), and run the same "
            "command again",
        )


def _unfit(error: BaseException) -> KitError:
    return KitError(
        f"it cannot judge: {type(error).__name__}: {terminal_line(str(error), _LONGEST)}",
        place="the Dask worker",
        cure="install the same kit there, with all that it needs, and start the worker again",
    )


def _nonsense() -> KitError:
    return KitError(
        "it returned something else than verdicts on what it was asked",
        place="the Dask worker",
        cure="find out what runs there; start it again with the same kit",
    )
