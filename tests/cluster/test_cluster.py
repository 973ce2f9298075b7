"""A class that is judged by the workers of a real Dask cluster, here on one machine."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, Worker, get_worker

from autograder.cluster.cluster_pool import ClusterPool
from autograder.cluster.remote_grader import judge
from autograder.errors import KitError
from autograder.grading.classroom import GradingRun, grade_class
from autograder.grading.grader_pool import GraderPool
from autograder.grading.journal import Journal
from autograder.grading.watched_process import Bounds
from autograder.model.verdict import Verdict
from autograder.submission.reading import Submission, read_submission
from support.dask_machines import address_of, scheduler, worker
from support.handed_in import EXERCISE, handed_in
from support.released_course import NAME, ROOT

ENDLESS = "hostile_endless_loop"
STUDENTS = (
    *("reference", "mistake_not_scaled", "half_finished", "broken_syntax"),
    *("hostile_exit", "hostile_thief"),
)
PATIENCE = 120


@pytest.fixture(scope="module")
def submissions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Submission, ...]:
    folder = tmp_path_factory.mktemp("class")
    (folder / "rejected.ipynb").write_text("no JSON", encoding="utf-8")
    rejected = read_submission(folder / "rejected.ipynb", EXERCISE, "rejected")
    read = handed_in(folder, *STUDENTS)
    return (*read, replace(read[0], student="twin_of_reference"), rejected)


@pytest.fixture(scope="module")
def expected(submissions: tuple[Submission, ...]) -> tuple[Verdict, ...]:
    with GraderPool(2) as pool:
        return tuple(map(marks, grade_class(EXERCISE, submissions, pool=pool)))


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A scheduler without workers: each test brings its own."""
    with scheduler() as client:
        yield client


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a person is given more time for."""
    for name, seconds in {"FOR_A_WORKER": 1.0, "FOR_ANOTHER": 0.5, "BEFORE_WORDS": 0.3}.items():
        monkeypatch.setattr(f"autograder.cluster.cluster_run.{name}", seconds)


def marks(verdict: Verdict) -> Verdict:
    """All of a verdict that may not depend on the machine that judged."""
    return replace(verdict, seconds=0.0, protection="")


def pool_of(client: Client, said: list[str]) -> ClusterPool:
    return ClusterPool(client, address_of(client), said.append)


def test_a_cluster_judges_as_this_machine_does_and_the_command_keeps_the_journal(
    submissions: tuple[Submission, ...], expected: tuple[Verdict, ...], tmp_path: Path
) -> None:
    journal = Journal(tmp_path / "journal.sqlite")
    journal.prepare()
    said: list[str] = []
    told: list[str] = []
    with scheduler(workers=2) as client:
        graded = grade_class(
            EXERCISE,
            submissions,
            run=GradingRun(journal.path),
            pool=pool_of(client, said),
            on_verdict=lambda verdict: told.append(verdict.student),
        )
    assert tuple(map(marks, graded)) == expected
    assert sorted(told) == sorted(each.student for each in submissions)
    assert {verdict.protection for verdict in graded} == {"full", "not run"}
    assert said == [] and rows(journal.path) == len(STUDENTS)


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


def test_a_worker_with_another_kit_is_refused_and_told_by_what_differs(
    client: Client, submissions: tuple[Submission, ...], tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "autograder", tmp_path / "autograder")
    kit = tmp_path / "autograder" / "__init__.py"
    text = re.sub(r'__version__ = ".*"', '__version__ = "0.0.1"', kit.read_text("utf-8"))
    kit.write_text(text, encoding="utf-8")
    said: list[str] = []
    with (
        worker(client, {"PYTHONPATH": str(tmp_path)}),
        pytest.raises(KitError, match=r"attention-kit 0\.0\.1 instead of"),
    ):
        grade_class(EXERCISE, submissions, pool=pool_of(client, said))
    assert "its source" in said[0]


@pytest.mark.slow
def test_a_worker_that_returns_anything_else_than_verdicts_gives_its_work_back(
    submissions: tuple[Submission, ...],
    expected: tuple[Verdict, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with scheduler(workers=2) as client:
        liar = min(client.nthreads())

        def judge_or_lie(
            run: str, rules: GradingRun, bounds: Bounds, asked: list[Submission]
        ) -> Any:
            found = judge(run, rules, bounds, asked)
            if get_worker().address != liar or found is None:
                return found
            return tuple(replace(each, student="somebody_else") for each in found)  # type: ignore[arg-type]

        monkeypatch.setattr("autograder.cluster.cluster_run.judge", judge_or_lie)
        said: list[str] = []
        graded = grade_class(EXERCISE, submissions, pool=pool_of(client, said))
    assert tuple(map(marks, graded)) == expected
    assert len(said) == 1 and liar in said[0] and "something else than verdicts" in said[0]


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


def test_a_run_leaves_neither_the_exercise_nor_a_grader_process_with_a_worker(
    client: Client, submissions: tuple[Submission, ...]
) -> None:
    def left_behind(dask_worker: Worker) -> list[str]:
        """On a worker: the exercises in its folder, and the processes that it has started."""
        import multiprocessing
        from pathlib import Path

        folders = Path(dask_worker.local_directory).glob("exercise-*")
        return [*map(str, folders), *map(str, multiprocessing.active_children())]

    with worker(client):
        (address,) = client.nthreads()
        grade_class(EXERCISE, submissions[:1], pool=pool_of(client, []))
        end = time.monotonic() + PATIENCE
        while client.run(left_behind)[address] and time.monotonic() < end:
            time.sleep(0.1)
        assert client.run(left_behind)[address] == []


# --- the command ---------------------------------------------------------------------------------


def command(folder: Path, *options: str) -> list[str]:
    words = ("-m", "autograder.cli", "grade", str(folder), "--exercise", NAME)
    return [sys.executable, *words, *options]


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"COLUMNS": "200"}
    return subprocess.run(
        command(folder, *options), capture_output=True, text=True, env=environment, check=False
    )


@pytest.fixture(scope="module")
def homework(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work") / "homework"
    handed_in(folder, *STUDENTS)
    return folder


@pytest.mark.slow
def test_a_run_on_a_cluster_goes_on_after_ctrl_c(tmp_path: Path) -> None:
    # One of them takes seconds, so that the first verdict comes long before the last.
    homework = tmp_path / "homework"
    handed_in(homework, *STUDENTS, ENDLESS)
    # On a busy machine, a run may be over before it can be interrupted; then another one is begun.
    for number in range(5):
        journal, said, stopped = interrupted(homework, tmp_path / str(number))
        if stopped:
            break
    assert stopped, f"no run was stopped by Ctrl-C: {said}"
    assert "Traceback" not in said, said
    judged = rows(journal)
    words = ("--cluster", "local", "--processes", "1", "--output", str(journal.parent))
    again = run(homework, *words)
    assert again.returncode == 0, again.stdout + again.stderr
    everybody = len(STUDENTS) + 1
    assert f"{judged} of {everybody} submissions were judged before" in again.stdout
    assert rows(journal) == everybody


def interrupted(homework: Path, output: Path) -> tuple[Path, str, bool]:
    """Grade, and press Ctrl-C after the first verdict.

    Return the journal, what the run said, and whether it was stopped before it was over.
    """
    journal = output / "journal.sqlite"
    words = command(homework, "--cluster", "local", "--processes", "1", "--output", str(output))
    started = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    end = time.monotonic() + PATIENCE
    while not (journal.exists() and rows_or_none(journal)) and time.monotonic() < end:
        time.sleep(0.01)
    before = rows_or_none(journal)
    os.killpg(started.pid, signal.SIGINT)
    said, _ = started.communicate(timeout=PATIENCE)
    if started.returncode == 0:
        return journal, f"{before} judged at Ctrl-C; {said}", False
    assert started.returncode == 1 and before > 0, said
    return journal, said, True


def rows_or_none(journal: Path) -> int:
    try:
        # Without waiting for whoever writes: the run would go on meanwhile.
        with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True, timeout=0)) as connection:
            return int(connection.execute("select count(*) from verdicts").fetchone()[0])
    except sqlite3.OperationalError:  # there is no table yet
        return 0


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "10.0.0.5", "xyz://here:1", ""])
def test_an_address_with_nobody_behind_it_is_told_within_seconds(
    homework: Path, tmp_path: Path, address: str
) -> None:
    output = tmp_path / "results"
    begun = time.monotonic()
    tried = run(homework, "--cluster", address, "--output", str(output))
    assert tried.returncode == 2 and time.monotonic() - begun < 30
    assert tried.stderr.startswith("error: no Dask scheduler answers: "), tried.stderr
    assert "Traceback" not in tried.stderr and len(tried.stderr.splitlines()) == 3
    assert not output.exists()


def test_without_the_extra_the_command_says_how_to_install_it(homework: Path) -> None:
    script = (
        "import sys; sys.modules['distributed'] = None; sys.modules['dask'] = None; "
        "from autograder.cli import main; main()"
    )
    words = ["-c", script, "grade", str(homework), "--exercise", NAME, "--cluster", "local"]
    tried = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert tried.returncode == 2, tried.stderr
    assert "pip install 'attention-kit[cluster]'" in tried.stderr
