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
from distributed import Client

from support.dask_machines import address_of, scheduler
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
WORKERS, LEAST_KILLED = 3, 5
SECONDS = (0.5, 2.0)  # between two kills


@contextmanager
def killed_again_and_again(client: Client) -> Iterator[list[int]]:
    """Kill one worker after the other with SIGKILL during the block; their nannies start others."""
    nannies = client.cluster.workers  # type: ignore[union-attr]  # of our own cluster
    chance, over, killed = random.Random(SEED), threading.Event(), list[int]()

    def kill() -> None:
        while not over.wait(chance.uniform(*SECONDS)):
            pids = [nanny.pid for nanny in nannies.values() if nanny.pid]
            if pids:
                killed.append(chance.choice(pids))
                os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


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
