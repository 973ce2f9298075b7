"""One class on its way through a cluster: who is given what, and what comes of it.

A worker that ends gives its hand-ins back, one that cannot judge here is not used. The command
alone writes the journal.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

from distributed import Client, Future

from autograder.cluster.remote_grader import Parcel, judge, on_another_machine, pack, receive
from autograder.errors import KitError
from autograder.grading.classroom import ClassJudging, kept_by
from autograder.grading.grader_pool import TICK, Cause, Loss, WaitingItems
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


# Which hand-ins wait for a worker, and how often each was on one that did not finish.
#
# A worker that ends is no verdict on anybody: what it had is handed out again, one by one, and
# after all others, so that a hand-in that ends every worker is found and holds up nobody else.

# Workers that may end with a hand-in before it is given up. Machines that are taken away at any
# moment end workers through no fault of a hand-in, so it is many.
MOST_TRIES = 10


class HandOut:
    """The places of `count` hand-ins, in batches of at most `size`."""

    def __init__(self, count: int, size: int) -> None:
        self._size = size
        self._waiting = WaitingItems(count)
        self._once_more: deque[list[int]] = deque()
        self._unsettled = set(range(count))
        self._tries: Counter[int] = Counter()

    @property
    def over(self) -> bool:
        """Whether every hand-in is settled."""
        return not self._unsettled

    def next(self, worker: Hashable) -> list[int]:
        """Return the next batch for a worker; empty when none waits."""
        if places := self._waiting.take(worker, self._size):
            return places
        return self._once_more.popleft() if self._once_more else []

    def settle(self, place: int) -> bool:
        """Note that a hand-in has its result; return False when it had one before."""
        if place not in self._unsettled:
            return False
        self._unsettled.remove(place)
        return True

    def give_back(self, places: Iterable[int]) -> None:
        """Take back a batch that nobody worked on."""
        self._waiting.put_back([place for place in places if place in self._unsettled])

    def retry(self, places: Iterable[int]) -> list[int]:
        """Take back what was being worked on; return the places that were tried too often.

        Those are not handed out again, and not settled yet.
        """
        given_up = []
        for place in (each for each in places if each in self._unsettled):
            self._tries[place] += 1
            if self._tries[place] < MOST_TRIES:
                self._once_more.append([place])
            else:
                given_up.append(place)
        return given_up


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


# How many seconds may pass without a worker that can judge.
FOR_A_WORKER = 60.0
FOR_A_START = 300.0  # of sandboxes: PyTorch from a slow disk
FOR_ANOTHER = 5.0  # where all that there are have been refused
BEFORE_WORDS = 2.0
_LONGEST = 500


class ClusterRun:
    """The state of one run; `name` is what workers know it by."""

    def __init__(
        self,
        client: Client,
        place: str,
        say: Callable[[str], None],
        *,
        name: str,
        work: ClassJudging,
        items: Sequence[Submission],
        bounds: Bounds,
        result: Callable[[int, Verdict], None],
        lost: Callable[[int, Loss], None],
        batch: int,
    ) -> None:
        self.name = name
        self._client, self._place, self._say = client, place, say
        self._work, self._items, self._bounds = work, items, bounds
        self._result, self._lost = result, lost
        self._out = HandOut(len(items), batch)
        self._workers: dict[str, DaskWorker] = {}
        self._refused: dict[str, KitError] = {}
        self._sent_to: set[str] = set()
        self._news = threading.Event()
        self._since = time.monotonic()  # without a worker that can judge
        self._told = False

    def judge(self) -> None:
        """Settle every item; raise `KitError` when no worker is left that can judge."""
        while True:
            there = workers_of(self._client, self._place)
            for worker in list(self._workers.values()):
                self._listen(worker)
            for address in set(self._workers) - there:
                self._part_with(self._workers.pop(address))
            for address in there - set(self._workers) - set(self._refused):
                self._welcome(address)
            if self._out.over:
                return
            self._hand_out()
            self._demand_workers(there)
            self._news.wait(TICK)
            self._news.clear()

    def close(self) -> set[str]:
        """Drop what is still being done; return the addresses where the exercise may be."""
        for worker in self._workers.values():
            worker.drop()
        try:
            return self._sent_to & workers_of(self._client, self._place)
        except KitError:  # the scheduler is gone, and the Dask workers end with it
            return set()

    @cached_property
    def _parcel(self) -> Parcel:
        return pack(self._work.folder)

    @cached_property
    def _exercise(self) -> Exercise:
        return read_exercise(self._work.folder)

    def _welcome(self, address: str) -> None:
        """Send a new worker the exercise; it is given hand-ins when it can judge them."""
        worker = self._workers[address] = DaskWorker(self._client, address)
        self._send_exercise(worker)

    def _send_exercise(self, worker: DaskWorker) -> None:
        sent, worker.ready = self._parcel, False
        self._sent_to.add(worker.address)
        facts = (sent.name, sent.archive, sent.exercise_hash, sent.versions)
        allowed = self._work.run.allow_process
        worker.give(self._news.set, receive, self.name, *facts, allowed)

    def _hand_out(self) -> None:
        rules = on_another_machine(self._work.run)
        for worker in self._workers.values():
            if worker.idle and (places := self._out.next(worker.address)):
                worker.places = places
                submissions = [self._items[place] for place in places]
                worker.give(self._news.set, judge, self.name, rules, self._bounds, submissions)

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
        places, worker.places = worker.places, []
        sent, run = self._parcel, self._work.run
        asked = [self._items[place] for place in places]
        found = answers if isinstance(answers, tuple) else ()
        if len(found) != len(places) or not all(
            is_answer(answer, item, self._exercise, sent.exercise_hash, run.allow_process)
            for answer, item in zip(found, asked)
        ):
            worker.places = places
            self._refuse(worker, _nonsense())
            return
        for place, answer in zip(places, found):
            if self._out.settle(place):
                self._count(place, answer)

    def _count(self, place: int, answer: object) -> None:
        if isinstance(answer, Verdict):
            kept = kept_by(self._work.run, self._exercise, self._items[place], answer)
            self._result(place, kept)
        elif isinstance(answer, Loss):
            self._lost(place, answer)

    def _part_with(self, worker: DaskWorker) -> None:
        worker.drop()
        self._retry(worker, "its Dask worker ended")

    def _retry(self, worker: DaskWorker, why: str) -> None:
        """Hand out again what a worker was working on, or give it up after many tries."""
        places, worker.places = worker.places, []
        for place in self._out.retry(places):
            self._out.settle(place)
            self._lost(place, Loss(Cause.ENDED, f"{why}, on the last of many tries"))

    def _refuse(self, worker: DaskWorker, error: BaseException) -> None:
        """Use a worker no longer, and say why; others get its work."""
        fault = error if isinstance(error, KitError) else _unfit(error)
        self._out.give_back(worker.places)
        worker.drop()
        del self._workers[worker.address]
        self._refused[worker.address] = fault
        fact = terminal_line(fault.fact, _LONGEST)
        self._say(f"the Dask worker {terminal_line(worker.address, 100)} is not used: {fact}")

    def _demand_workers(self, there: Iterable[str]) -> None:
        """Raise `KitError` when there has been no worker for too long that can judge."""
        now = time.monotonic()
        if any(worker.ready for worker in self._workers.values()):
            self._since, self._told = now, False
            return
        if now - self._since > BEFORE_WORDS and not there and not self._told:
            self._told = True
            self._say(f"no Dask worker is there: waiting up to {FOR_A_WORKER:.0f} seconds for one")
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
                place=self._place,
                cure=faults[0].cure,
            )
        return KitError(
            "no Dask worker is ready to judge" if there else "the scheduler has no Dask worker",
            place=self._place,
            cure="start workers (`dask worker ADDRESS --nthreads 1`, with "
            "DASK_DISTRIBUTED__WORKER__DAEMON=False in their environment), and run the same "
            "command again",
        )


def workers_of(client: Client, place: str) -> set[str]:
    """Return the addresses of the workers; raise `KitError` when the scheduler is gone."""
    try:
        return set(client.nthreads())
    except (OSError, RuntimeError) as error:
        raise KitError(
            f"the scheduler no longer answers: {terminal_line(str(error), _LONGEST)}",
            place=place,
            cure="start it again, and run the same command again: what was judged is kept",
        ) from None


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
