"""A class that is judged by the workers of a real Dask cluster, here on one machine."""

from __future__ import annotations

import multiprocessing
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, get_worker

from autograder.cluster.cluster_pool import ClusterPool
from autograder.cluster.remote_grader import judge
from autograder.errors import KitError
from autograder.grading.batch import grade_batch
from autograder.grading.classroom import grade_class, judge_class
from autograder.grading.journal import GradingRun, Journal
from autograder.submission.reading import Submission, read_submission
from autograder.values.verdict import Verdict
from cluster.dask_machines import address_of, scheduler, worker
from support.handed_in import EXERCISE, handed_in
from support.released_course import NAME, ROOT
from support.typed_commands import typed

STUDENTS = ("mistake_not_scaled", "half_finished", "hostile_exit")
PATIENCE = 120


@pytest.fixture(scope="module")
def submissions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Submission, ...]:
    folder = tmp_path_factory.mktemp("class")
    (folder / "rejected.ipynb").write_text("no JSON", encoding="utf-8")
    rejected = read_submission(folder / "rejected.ipynb", EXERCISE, "rejected")
    read = handed_in(folder, *STUDENTS)
    return (*read, replace(read[0], student="twin"), rejected)


@pytest.fixture(scope="module")
def expected(submissions: tuple[Submission, ...]) -> tuple[Verdict, ...]:
    return tuple(map(marks, grade_batch(EXERCISE.folder, submissions)))


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A scheduler without workers: each test brings its own."""
    with scheduler() as client:
        yield client


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a person is given more time for."""
    for name, seconds in {"FOR_A_WORKER": 1.0, "FOR_ANOTHER": 0.5, "BEFORE_WORDS": 0.3}.items():
        monkeypatch.setattr(f"autograder.cluster.cluster_pool.{name}", seconds)


def marks(verdict: Verdict) -> Verdict:
    """All of a verdict that may not depend on the machine that judged."""
    return replace(verdict, seconds=0.0, protection="")


def pool_of(client: Client, said: list[str]) -> ClusterPool:
    return ClusterPool(client, address_of(client), said.append)


def test_a_cluster_judges_as_this_machine_does_and_goes_on_where_a_run_has_ended(
    client: Client,
    submissions: tuple[Submission, ...],
    expected: tuple[Verdict, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("autograder.cluster.cluster_pool.LARGEST_BATCH", 1)
    journal = Journal(tmp_path / "journal.sqlite")
    journal.prepare()
    said: list[str] = []
    honest_once, left_behind = on_a_worker()

    def judged() -> list[Verdict]:
        run = GradingRun(journal.path)
        return list(judge_class(EXERCISE, submissions, pool_of(client, said), run))

    with worker(client):
        (address,) = client.nthreads()
        with monkeypatch.context() as patch, pytest.raises(KitError, match="else than verdicts"):
            patch.setattr("autograder.cluster.cluster_pool.judge", honest_once)
            judged()
        assert rows(journal.path) == 1
        assert len(said) == 1 and address in said[0] and "is not used: it returned" in said[0]
        graded = judged()
        left = client.submit(left_behind, workers=[address], pure=False).result(PATIENCE)
    told = {verdict.student: marks(verdict) for verdict in graded}
    assert len(graded) == len(told)
    assert tuple(told[each.student] for each in submissions) == expected
    assert {verdict.protection for verdict in graded} == {"full", "not run"}
    assert len(said) == 1 and rows(journal.path) == len(STUDENTS)
    assert left == []


def on_a_worker() -> tuple[Callable[..., Any], Callable[[], list[str]]]:
    """What runs there: functions of a function, which travel as code, since no test is there."""

    def honest_once(*words: Any) -> Any:
        """Judge the first hand-in, and make up the others."""
        this: Any = get_worker()
        if hasattr(this, "was_honest"):
            return ("22/22",)
        this.was_honest = True
        return judge(*words)

    def left_behind() -> list[str]:
        """Name the exercises in the worker's folder, and the processes that it has started."""
        folders = Path(get_worker().local_directory).glob("exercise-*")
        return [*map(str, folders), *map(str, multiprocessing.active_children())]

    return honest_once, left_behind


def rows(journal: Path) -> int:
    with closing(sqlite3.connect(journal)) as connection:
        (count,) = connection.execute("select count(*) from verdicts").fetchone()
    return int(count)


@pytest.mark.slow
def test_a_worker_that_cannot_isolate_gives_its_work_back_and_another_does_it(
    client: Client, submissions: tuple[Submission, ...], expected: tuple[Verdict, ...]
) -> None:
    said: list[str] = []
    with worker(client, refused="namespaces,landlock"):
        (weak,) = client.nthreads()
        with pytest.raises(KitError, match="does not protect"):
            grade_class(EXERCISE, submissions, pool=pool_of(client, said))
        with worker(client):
            graded = grade_class(EXERCISE, submissions, pool=pool_of(client, said))
    assert tuple(map(marks, graded)) == expected
    assert {verdict.protection for verdict in graded} == {"full", "not run"}
    assert len(said) == 2
    for words in said:
        assert weak in words and "is not used: this machine does not protect" in words


@pytest.mark.slow
def test_a_worker_that_may_start_no_process_is_refused_with_what_to_set(
    client: Client, submissions: tuple[Submission, ...]
) -> None:
    with worker(client, daemon=True), pytest.raises(KitError) as caught:
        grade_class(EXERCISE, submissions, pool=pool_of(client, []))
    assert "daemon" in caught.value.fact
    assert "DASK_DISTRIBUTED__WORKER__DAEMON=False" in caught.value.cure


def test_without_workers_the_wait_is_told_and_ends(
    client: Client, submissions: tuple[Submission, ...]
) -> None:
    said: list[str] = []
    with pytest.raises(KitError, match="has no Dask worker"):
        grade_class(EXERCISE, submissions, pool=pool_of(client, said))
    assert len(said) == 1 and "waiting" in said[0]


# --- the command ---------------------------------------------------------------------------------

# Grades, and presses Ctrl-C for the whole group of processes at the first verdict.
INTERRUPTED = """
import os, signal
from autograder.cli import main
from autograder.cluster import cluster_pool

def counted(*words):
    count(*words)
    os.killpg(0, signal.SIGINT)
    signal.pause()

cluster_pool.LARGEST_BATCH = 1
count, cluster_pool.ClusterRun._count = cluster_pool.ClusterRun._count, counted
main()
"""


def words(folder: Path, address: str, *options: str) -> tuple[str, ...]:
    return ("grade", str(folder), "--exercise", NAME, "--cluster", address, *options)


@pytest.fixture(scope="module")
def homework(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work") / "homework"
    handed_in(folder, *STUDENTS)
    return folder


@pytest.mark.slow
def test_a_run_on_a_cluster_goes_on_after_ctrl_c(homework: Path, tmp_path: Path) -> None:
    asked = words(homework, "local", "--processes", "1", "--output", str(tmp_path))
    command = [sys.executable, "-c", INTERRUPTED, *asked]
    stopped = subprocess.run(
        command, capture_output=True, text=True, start_new_session=True, timeout=PATIENCE
    )
    assert stopped.returncode == 1 and "Traceback" not in stopped.stderr, stopped.stderr
    assert rows(tmp_path / "journal.sqlite") == 1
    again = typed(*asked, folder=ROOT)
    assert again.code == 0, again.out + again.err
    assert f"1 of {len(STUDENTS)} submissions were judged before" in again.words
    assert rows(tmp_path / "journal.sqlite") == len(STUDENTS)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "10.0.0.5", "xyz://here:1", ""])
def test_an_address_with_nobody_behind_it_is_told_and_nothing_is_begun(
    homework: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr("autograder.cluster.connection.SECONDS_TO_CONNECT", 0.5)
    output = tmp_path / "results"
    tried = typed(*words(homework, address, "--output", str(output)), folder=ROOT)
    assert tried.code == 2 and len(tried.err.splitlines()) == 3
    assert tried.err.startswith("error: no Dask scheduler answers: "), tried.err
    assert not output.exists()


def test_without_the_extra_the_command_says_how_to_install_it(homework: Path) -> None:
    script = (
        "import sys; sys.modules['distributed'] = None; sys.modules['dask'] = None; "
        "from autograder.cli import main; main()"
    )
    command = [sys.executable, "-c", script, *words(homework, "local")]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    assert tried.returncode == 2, tried.stderr
    assert "pip install 'distributed>=" in tried.stderr
