"""One class on its way through a cluster: who is given what, and what comes of it.

A worker that ends gives its hand-ins back, one that cannot judge here is not used. The command
alone writes the journal.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from distributed import Client

from autograder.cluster.dask_worker import DaskWorker, TaskState
from autograder.cluster.hand_out import HandOut
from autograder.cluster.parcel import Parcel, pack
from autograder.cluster.remote_grader import judge, on_another_machine, receive
from autograder.cluster.returned_verdict import is_answer
from autograder.errors import KitError
from autograder.grading.classroom import ClassJudging, kept_by
from autograder.grading.grader_pool import TICK, Cause, Loss
from autograder.grading.watched_process import Bounds
from autograder.model.exercise import Exercise, read_exercise
from autograder.model.sanitize import terminal_line
from autograder.model.verdict import Verdict
from autograder.submission.reading import Submission

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
