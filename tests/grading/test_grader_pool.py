"""Grader processes under watch: who exceeds a bound loses only the rest of their own hand-in."""

from __future__ import annotations

import errno
import multiprocessing
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from autograder.errors import KitError
from autograder.grading import grader_pool
from autograder.grading.grader_pool import Cause, GraderPool, Loss, WaitingItems
from autograder.grading.watched_process import Bounds, WatchedProcess, keep_to, usable_cores
from grading import grader_work
from support.processes import wait_for

BOUNDS = Bounds(seconds=0.2, wall_seconds=120.0, megabytes=256)
HURRIED = Bounds(seconds=60.0, wall_seconds=4.0, megabytes=256)  # on the clock, however busy it is


def run(
    items: Sequence[str],
    work: Callable[..., None] = grader_work.do,
    batch: int = 1,
    processes: int | None = 2,
    bounds: Bounds = BOUNDS,
) -> tuple[dict[int, Any], dict[int, Loss]]:
    found: dict[int, Any] = {}
    lost: dict[int, Loss] = {}
    with GraderPool(processes) as pool:
        for place, each in pool.results(work, items, bounds, batch):
            told = lost if isinstance(each, Loss) else found
            assert place not in told
            told[place] = each
    assert sorted([*found, *lost]) == list(range(len(items)))  # everybody is told, once
    return found, lost


def test_every_item_is_done_and_told_at_its_place() -> None:
    items = [f"item {n}" for n in range(20)]
    found, lost = run(items, batch=3)
    assert not lost
    assert all(found[place].startswith(f"{item} by ") for place, item in enumerate(items))


def test_what_a_work_has_set_up_serves_all_batches_that_follow() -> None:
    found, lost = run(["item"] * 20, grader_work.do_batch_after_batch, batch=3, processes=1)
    assert not lost and len(set(found.values())) == 1


def test_other_work_in_between_is_heard_and_done() -> None:
    told: list[tuple[int, Any]] = []
    with GraderPool(1) as pool:
        for work in (grader_work.do_batch_after_batch, grader_work.do) * 2:
            told += pool.results(work, ["item"] * 3, BOUNDS, 2)
    assert [place for place, _ in told] == [0, 1, 2] * 4
    sessions = [result[1] for _, result in told if isinstance(result, tuple)]
    assert sessions == [0, 0, 0, 1, 1, 1]  # its own batches, and those after the other work


def test_who_exceeds_a_bound_in_a_later_batch_loses_only_the_own_item() -> None:
    items = [*["item"] * 4, "spins", *["item"] * 3]
    found, lost = run(items, grader_work.do_batch_after_batch, batch=2, processes=1)
    assert {place: loss.cause for place, loss in lost.items()} == {4: Cause.TIME}
    assert len({process for process, _ in found.values()}) == 2


def test_a_grader_process_works_in_the_root_folder() -> None:
    found, _ = run(["anything"])
    assert found[0].endswith(" in /")


@pytest.mark.parametrize("preparation", [grader_work.prepare, grader_work.cannot_be_prepared])
def test_a_process_prepares_before_its_work_and_works_also_when_that_fails(
    preparation: Callable[[], None],
) -> None:
    with GraderPool(1) as pool:
        pool.begin(3, preparation)
        told = dict(pool.results(grader_work.tell_prepared, ["item"], BOUNDS))
    assert told == {0: preparation is grader_work.prepare}


OF_OTHERS: set[BaseProcess] = set()


@pytest.fixture(autouse=True)
def not_those_of_others() -> None:
    """Leave out what tests of other files keep running in this process."""
    OF_OTHERS.clear()
    OF_OTHERS.update(multiprocessing.active_children())


def processes_started() -> list[BaseProcess]:
    return [each for each in multiprocessing.active_children() if each not in OF_OTHERS]


def test_a_small_class_gets_one_process_unless_more_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(grader_pool, "usable_cores", lambda: (0, 1))
    for items, named, started in (3, None, 1), (13, None, 2), (500, None, 2), (3, 3, 3), (2, 3, 2):
        with GraderPool(named) as pool:
            pool.begin(items)
            assert len(processes_started()) == started, (items, named)
    monkeypatch.setattr(grader_pool, "PATIENCE", 600.0)  # also where a start takes long
    found, _ = run(["item"] * 6, processes=None)
    assert len({result.split()[2] for result in found.values()}) == 1


def test_a_small_class_that_waits_long_gets_another_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(grader_pool, "usable_cores", lambda: (0, 1))
    monkeypatch.setattr(grader_pool, "PATIENCE", 0.05)
    file = tmp_path / "second"
    found, _ = run([f"until:{file}", f"makes:{file}"], processes=None)
    assert len({result.split()[2] for result in found.values()}) == 2


@pytest.fixture
def every_core() -> Iterator[tuple[int, ...]]:
    """The cores of this machine, which are given back afterwards."""
    every = usable_cores()
    yield every
    os.sched_setaffinity(0, every)


@pytest.fixture
def two_cores(every_core: tuple[int, ...]) -> tuple[int, ...]:
    """The cores of a machine that has two, at most."""
    os.sched_setaffinity(0, every_core[:2])
    return usable_cores()


def everybody_meets(processes: int, folder: Path) -> list[str]:
    """Items that are done once so many processes have one of them."""
    folder.mkdir()
    return [f"meets:{processes}:{folder}"] * 4


def test_where_every_core_gets_a_process_each_has_one_for_itself(
    two_cores: tuple[int, ...], tmp_path: Path
) -> None:
    every = len(two_cores)
    items = everybody_meets(every, tmp_path / "once")
    found, _ = run(items, grader_work.tell_cores, processes=every)
    assert set(found.values()) == {(core,) for core in two_cores}
    items = everybody_meets(every, tmp_path / "again")
    found, lost = run(["crashes", *items], grader_work.tell_cores, processes=every)
    assert list(lost) == [0] and set(found.values()) == {(core,) for core in two_cores}


@pytest.mark.parametrize("processes", [1, 3])
def test_fewer_or_more_processes_than_cores_run_on_all_of_them(
    two_cores: tuple[int, ...], processes: int, tmp_path: Path
) -> None:
    items = everybody_meets(processes, tmp_path / "pool")
    found, _ = run(items, grader_work.tell_cores, processes=processes)
    assert set(found.values()) == {two_cores}


def test_the_last_batches_are_small_so_that_all_processes_end_together() -> None:
    found, _ = run(["item"] * 40, grader_work.tell_batch, batch=8)
    sizes = Counter(found.values())
    assert sizes[8] == 16 and sizes[1] >= 4


class OneOnly(WatchedProcess):
    """A grader process of which only the first can start; `last` is there once all have failed."""

    last: Path
    tries = 0
    most = 1

    def failed(self) -> None:
        kind = type(self)
        kind.tries += 1
        if kind.tries == self.most:
            self.last.touch()


class Refused(OneOnly):
    """The machine allows no other."""

    def __init__(self, core: int | None = None) -> None:
        if processes_started():
            self.failed()
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        super().__init__(core)


class KilledAtItsStart(OneOnly):
    """Each other one ends at once."""

    most = grader_pool.MOST_FALSE_STARTS

    def __init__(self, core: int | None = None) -> None:
        first = not processes_started()
        super().__init__(core)
        if not first:
            self.kill()
            self.failed()


@pytest.mark.parametrize("kind", [Refused, KilledAtItsStart])
def test_a_further_process_that_cannot_start_stops_nobody_who_is_at_work(
    monkeypatch: pytest.MonkeyPatch, kind: type[OneOnly], tmp_path: Path
) -> None:
    monkeypatch.setattr(grader_pool, "usable_cores", lambda: (0, 1))
    monkeypatch.setattr(grader_pool, "PATIENCE", 0.05)
    monkeypatch.setattr(grader_pool, "WatchedProcess", kind)
    monkeypatch.setattr(kind, "tries", 0)
    monkeypatch.setattr(kind, "last", tmp_path / "last", raising=False)
    found, lost = run([f"until:{tmp_path / 'last'}", *["item"] * 4], processes=None)
    assert not lost and len({result.split()[2] for result in found.values()}) == 1


def test_where_others_cannot_start_one_that_has_just_finished_goes_on() -> None:
    """At that moment nobody is at work, and still there is somebody to do it."""
    with GraderPool(2) as pool:
        assert len(list(pool.results(grader_work.do, ["item"], BOUNDS))) == 1
        ended, waiting = grader_pool._Batch([0]), WaitingItems(0)
        for _ in range(grader_pool.MOST_FALSE_STARTS):
            loss = Loss(Cause.ENDED, "signal SIGKILL")
            assert list(pool._settled(ended, loss, waiting)) == []
            assert waiting.take(1) == [0]
        assert pool.processes == 1
        done = dict(pool.results(grader_work.do, ["again"], BOUNDS))
    assert done[0].startswith("again by ")


def test_a_first_process_that_cannot_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(core: int | None) -> WatchedProcess:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(grader_pool, "WatchedProcess", refused)
    with pytest.raises(OSError, match=os.strerror(errno.EAGAIN)):
        run(["item"])


def test_processes_that_are_dismissed_have_ended_when_their_pool_is_closed() -> None:
    with GraderPool(2) as pool:
        pool.begin(2)
        (first, second) = processes_started()
        pool.dismiss()
    assert not first.is_alive() and not second.is_alive()


def test_what_the_work_itself_needs_is_not_bounded_by_the_batch_before() -> None:
    """PyTorch with CUDA takes ten gigabytes of addresses, in a process that has read hand-ins."""
    done: list[str] = []
    with GraderPool(1) as pool:
        for work in (grader_work.do, grader_work.needs_much_itself):
            done += [result for _, result in pool.results(work, ["item"], BOUNDS)]
    first, second = done
    assert first == second, "the same process has done both"


@pytest.mark.parametrize(
    ("word", "cause", "detail"),
    [
        ("spins", Cause.TIME, "0.2 seconds of processor time"),
        pytest.param("sleeps", Cause.DELAY, "4 seconds, with 0.", marks=pytest.mark.slow),
        ("eats", Cause.MEMORY, "256 megabytes of memory"),
        ("crashes", Cause.CRASH, "signal SIGSEGV"),
        ("ends", Cause.ENDED, "exit code 3"),
    ],
)
def test_who_exceeds_a_bound_keeps_what_was_done_and_the_others_lose_nothing(
    word: str, cause: Cause, detail: str
) -> None:
    items = ["honest one", "honest two", f"first {word} never", "honest three", "honest four"]
    bounds = HURRIED if word == "sleeps" else BOUNDS
    found, lost = run(items, batch=5, processes=1, bounds=bounds)
    assert sorted(found) == [0, 1, 3, 4]
    assert lost[2].cause is cause and lost[2].detail.startswith(detail)
    assert lost[2].parts == ("first", word)


@pytest.mark.slow
def test_many_that_exceed_their_bound_cost_each_their_own_time_only() -> None:
    begun = time.monotonic()
    found, lost = run(["spins", "fine", "spins", "fine", "spins", "fine"], batch=6, processes=1)
    assert sorted(found) == [1, 3, 5] and sorted(lost) == [0, 2, 4]
    assert time.monotonic() - begun < BOUNDS.wall_seconds


def test_a_process_that_was_killed_from_outside_is_no_verdict_on_anybody(tmp_path: Path) -> None:
    items = [str(tmp_path / name) for name in ("ada", "blaise")]
    found, lost = run(items, grader_work.ends_once, batch=2, processes=1)
    assert not lost and list(found.values()) == items


def test_a_process_that_had_no_processor_time_is_no_verdict_on_anybody(tmp_path: Path) -> None:
    items = [f"sleeps_once:{tmp_path / 'slept'}"]
    found, lost = run(items, processes=1, bounds=Bounds(seconds=60.0, wall_seconds=1.0))
    assert not lost and items[0] in found[0]


def test_what_was_said_until_a_process_was_stopped_counts_and_no_part_is_anothers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The second item ends, and the third begins, between the look at the clock and the stop."""
    looked, begun, stopped = (tmp_path / name for name in ("looked", "begun", "stopped"))

    def stop_later(process: WatchedProcess) -> None:
        if not looked.exists():
            looked.touch()
            wait_for(lambda: any(begun.iterdir()), "the third has not begun")
        stop(process)
        stopped.touch()

    stop = WatchedProcess.stop
    begun.mkdir()
    monkeypatch.setattr(WatchedProcess, "stop", stop_later)
    items = ["first", f"spins_until:{looked}", f"meets:1:{begun} until:{stopped}", "fourth"]
    found, lost = run(items, batch=4, processes=1)
    assert not lost and sorted(found) == [0, 1, 2, 3]


def test_an_error_about_the_exercise_ends_the_run() -> None:
    with pytest.raises(KitError, match="the exercise is broken"):
        run(["fine", "fails"])


def test_processes_that_never_begin_are_told_and_not_tried_for_ever() -> None:
    with pytest.raises(KitError, match=r"exit before they start working \(exit code 7\)"):
        run(["anything"], grader_work.never_begins)


def test_no_process_is_left_behind() -> None:
    with GraderPool(2) as pool:
        told = pool.results(grader_work.do, ["a", "b"], BOUNDS)
        processes = {int(words.split()[2]) for _, words in told}
    assert processes and not any(_alive(process) for process in processes)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


# --- which of the items that wait are taken next ------------------------------------------------


def test_items_are_taken_in_their_order() -> None:
    waiting = WaitingItems(5)
    assert [waiting.take(2) for _ in range(4)] == [[0, 1], [2, 3], [4], []]
    assert not waiting


def test_what_is_put_back_comes_first_and_as_it_was() -> None:
    waiting = WaitingItems(4)
    assert waiting.take(3) == [0, 1, 2]
    waiting.put_back([1, 2])
    waiting.put_back([])
    assert len(waiting) == 3
    assert waiting.take(1) == [1, 2]
    assert waiting.take(9) == [3]


def test_what_is_tried_again_comes_after_the_rest_and_alone() -> None:
    waiting = WaitingItems(4, most_tries=2)
    assert all(map(waiting.try_again, waiting.take(2)))
    assert len(waiting) == 4
    assert [waiting.take(2) for _ in range(4)] == [[2, 3], [0], [1], []]


def test_what_nobody_worked_on_costs_no_try() -> None:
    waiting = WaitingItems(2, most_tries=1)
    for _ in range(3):
        waiting.put_back(waiting.take(2))
    assert waiting.take(2) == [0, 1]


def test_what_was_tried_too_often_is_given_up_and_the_others_are_not() -> None:
    waiting, handed = WaitingItems(2, most_tries=3), list[list[int]]()
    while places := waiting.take(2):
        handed.append(places)
        again = [waiting.try_again(place) for place in places if place == 1 or len(handed) == 1]
    assert handed == [[0, 1], [0], [1], [1]] and again == [False] and not waiting


def test_whoever_asks_and_whatever_is_put_back_every_item_is_taken_once() -> None:
    seed = 20261127
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(300):
        count = chance.randrange(40)
        waiting, done = WaitingItems(count, most_tries=1000), list[int]()
        while waiting:
            places = waiting.take(chance.randrange(1, 9))
            assert places
            finished = chance.randrange(len(places) + 1) if chance.random() < 0.3 else len(places)
            done += places[:finished]
            for place in places[finished : finished + 1]:
                assert waiting.try_again(place)
            waiting.put_back(places[finished + 1 :])
        assert sorted(done) == list(range(count))


# --- cores --------------------------------------------------------------------------------------

NO_SUCH_CORE = 100_000


@pytest.mark.usefixtures("every_core")
def test_only_the_cores_that_a_process_may_run_on_are_usable() -> None:
    first, *_ = every = usable_cores()
    assert every == tuple(sorted(os.sched_getaffinity(0)))
    keep_to(first)
    assert usable_cores() == (first,)


def test_a_core_that_is_not_there_leaves_the_process_where_it_is() -> None:
    before = usable_cores()
    keep_to(NO_SUCH_CORE)
    assert usable_cores() == before


def test_a_system_without_such_calls_has_the_cores_that_python_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as elsewhere:
        for name in ("sched_getaffinity", "sched_setaffinity"):
            elsewhere.delattr(os, name)
        elsewhere.setattr(os, "cpu_count", lambda: 3)
        assert usable_cores() == (0, 1, 2)
        keep_to(0)
