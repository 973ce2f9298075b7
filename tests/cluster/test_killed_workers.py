"""Workers of a real cluster are killed every few seconds while a course is graded on them."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from distributed import Client, Nanny
from distributed.core import Status

from autograder.cluster.cluster_pool import MOST_TRIES, ClusterPool
from autograder.grading.classroom import grade_class
from cluster.dask_machines import address_of, scheduler
from support.handed_in import EXERCISE, handed_in
from support.released_course import (
    command,
    copied,
    grade,
    journal,
    released_course,
    result_of,
    sample_class,
)

pytestmark = pytest.mark.slow  # a whole class, and workers that start again and again

SEED = int(os.environ.get("ATTN_SEED", "20261122"))
# One fewer than it takes to give up a hand-in: none may be lost, whichever workers are drawn.
WORKERS, LEAST_KILLED, MOST_KILLED = 3, 3, MOST_TRIES - 1
SECONDS = (0.2, 1.0)  # from the moment that all workers are up, until the next one is killed


@contextmanager
def killed_again_and_again(client: Client) -> Iterator[list[int]]:
    """Kill one worker after the other with SIGKILL during the block; their nannies start others.

    Only when all are up: Dask's nanny gives up, for good, when a worker ends while it starts. And
    on a slow machine, where a hand-in takes longer, there are fewer kills in its time.
    """
    nannies = client.cluster.workers  # type: ignore[union-attr]  # of our own cluster
    chance, over, killed = random.Random(SEED), threading.Event(), list[int]()

    def kill() -> None:
        while len(killed) < MOST_KILLED and not over.wait(chance.uniform(*SECONDS)):
            while not all(map(_is_up, nannies.values())):
                if over.wait(0.05):
                    return
            killed.append(chance.choice([nanny.pid for nanny in nannies.values()]))
            os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def _is_up(nanny: Nanny) -> bool:
    return nanny.process is not None and nanny.process.status is Status.running


def test_nothing_is_lost_and_nothing_counts_twice(tmp_path: Path) -> None:
    course = released_course(tmp_path / "course", sample_class())
    undisturbed = copied(course, tmp_path / "undisturbed")
    assert grade(undisturbed).returncode == 0
    with scheduler(workers=WORKERS) as client, killed_again_and_again(client) as killed:
        address = address_of(client)
        run = subprocess.run(
            command(course, "--cluster", address), capture_output=True, text=True, check=False
        )
    assert run.returncode == 0, run.stdout + run.stderr
    assert len(killed) >= LEAST_KILLED, "it was over too soon to show anything"
    assert "not graded" not in run.stdout and "Traceback" not in run.stderr
    assert result_of(course) == result_of(undisturbed)
    with closing(sqlite3.connect(journal(course))) as connection:
        (rows,) = connection.execute("select count(*) from verdicts").fetchone()
    assert rows == len(sample_class())
    print(f"{len(killed)} workers killed")


def test_a_hand_in_that_ends_every_worker_is_a_fault_of_ours_and_the_others_are_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autograder.cluster.cluster_pool.MOST_TRIES", 2)
    harmless, deadly = handed_in(tmp_path, "reference", "hostile_endless_loop")
    over, killed, tasks = threading.Event(), list[int](), list[str]()

    def kill_whoever_works_on_the_deadly_one(client: Client) -> None:
        nannies = client.cluster.workers  # type: ignore[union-attr]  # of our own cluster
        while not over.wait(0.1):
            keys = [str(key) for keys in client.processing().values() for key in keys]
            tasks.extend(key for key in keys if "judge" in key and key not in tasks)
            (pid,) = [nanny.pid for nanny in nannies.values()]
            works = set(tasks[1:]) & set(keys)  # the first is the harmless one
            if works and len(killed) < 2 and pid and pid not in killed:
                killed.append(pid)
                os.kill(pid, signal.SIGKILL)

    with scheduler(workers=1) as client:
        killer = threading.Thread(target=kill_whoever_works_on_the_deadly_one, args=(client,))
        killer.start()
        pool = ClusterPool(client, address_of(client), lambda words: None)
        try:
            verdicts = grade_class(EXERCISE, (harmless, deadly), pool=pool)
        finally:
            over.set()
            killer.join()
    assert len(killed) == 2
    assert verdicts[1].infrastructure and not verdicts[0].infrastructure
    assert verdicts[0].points == verdicts[0].max_points
    assert "ended, on the last of many tries" in str(verdicts[1].steps[0].finding)
