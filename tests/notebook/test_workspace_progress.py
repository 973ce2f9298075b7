"""What is checked in a notebook is known to the commands, and nothing is written anywhere else."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.learning.commands.finishing import UNKNOWN
from autograder.learning.state.progress import StepProgress, noted, read_progress
from autograder.learning.state.session import LearnerSession, open_session
from autograder.model.exercise import read_exercise
from autograder.model.verdict import Outcome, StepVerdict
from autograder.notebook.workspace_progress import _say, note_in_workspace
from support.kernel import Kernel, running_kernel

ROOT = Path(__file__).resolve().parents[2]
NAME = "numpy_single_head"
CELLS = f"""
import numpy as np
from autograder import open_exercise
check = open_exercise({NAME!r})

def softmax(scores):
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)

def create_causal_mask(sequence_length):
    return np.triu(np.ones((sequence_length, sequence_length)))
"""


def attn(folder: Path, *words: str) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "autograder.cli", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    attn(tmp_path, "start", "mine", "--exercise", NAME)
    return tmp_path / "mine"


@pytest.fixture
def kernel(workspace: Path) -> Iterator[Kernel]:
    with running_kernel(workspace / NAME) as kernel:
        kernel.run(CELLS)
        yield kernel


def session(workspace: Path) -> LearnerSession:
    return open_session(workspace, pytest.fail)


def verdict(step: str, outcome: Outcome = Outcome.PASSED) -> StepVerdict:
    return StepVerdict(step, step, outcome, 0, 0, ())


def passed(workspace: Path) -> tuple[str, ...]:
    return session(workspace).progress.passed(read_exercise(workspace / NAME))


def test_a_check_in_a_notebook_is_known_to_the_commands(workspace: Path, kernel: Kernel) -> None:
    assert "0 of 11 steps" in attn(workspace, "list")
    kernel.run("check(softmax)", person=True)
    assert "1 of 11 steps" in attn(workspace, "list")
    kernel.run("check(create_causal_mask)", person=True)
    known = session(workspace)
    step = known.progress.step(NAME, "create_causal_mask")
    assert not step.passed and step.mistakes
    assert known.progress.step(NAME, "softmax").review_on and known.progress.work_time(NAME).checks


def test_a_run_that_nobody_watches_is_noted_too(workspace: Path, kernel: Kernel) -> None:
    kernel.run("check(softmax)")
    assert "1 of 11 steps" in attn(workspace, "list")
    assert "neither are checks in a notebook" not in " ".join(UNKNOWN)


def test_a_notebook_in_the_root_of_the_workspace_is_noted(workspace: Path) -> None:
    with running_kernel(workspace) as kernel:
        kernel.run(CELLS)
        kernel.run("check(softmax)")
    assert passed(workspace) == ("softmax",)


def test_outside_of_a_workspace_nothing_is_written(tmp_path: Path) -> None:
    exercise = replace(read_exercise(ROOT / "assignments" / NAME), folder=tmp_path / NAME)
    exercise.folder.mkdir()
    note_in_workspace(exercise, verdict("softmax"))
    assert [path.name for path in tmp_path.rglob("*")] == [NAME]


def test_a_disk_that_cannot_be_written_is_told_once_and_stops_nothing(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("autograder.learning.state.progress.replace_file", refused)
    _say.cache_clear()
    for step in ("softmax", "scale_scores"):
        note_in_workspace(read_exercise(workspace / NAME), verdict(step))
    assert capsys.readouterr().out.count("could not be saved") == 1


def test_a_watch_that_is_open_keeps_what_the_notebook_noted(workspace: Path) -> None:
    watch = session(workspace)
    exercise = read_exercise(workspace / NAME)
    note_in_workspace(exercise, verdict("softmax"))
    mask = exercise.step("create_causal_mask")
    watch = watch.noted(exercise, mask, StepProgress(hints=1))
    assert passed(workspace) == ("softmax",) == watch.progress.passed(exercise)
    note_in_workspace(exercise, verdict(mask.name))
    watch.noted(exercise, mask, watch.known(exercise, mask).with_hints(2))
    now = session(workspace).known(exercise, mask)
    assert now.passed and now.hints == 2


def test_two_writers_at_once_lose_nothing(workspace: Path) -> None:
    writer = """
import sys
from pathlib import Path
from autograder.learning.state.progress import StepProgress, noted, read_progress

for number in range(40):
    progress = read_progress(Path(sys.argv[1]), print)
    step = f"{sys.argv[2]}{number}"
    noted(progress, lambda now: now.with_step("e", step, StepProgress(passed=True)), print)
"""
    writers = [
        subprocess.Popen([sys.executable, "-c", writer, str(workspace), name]) for name in "ab"
    ]
    assert [each.wait(60) for each in writers] == [0, 0]
    progress = read_progress(workspace, pytest.fail)
    names = [f"{name}{number}" for name in "ab" for number in range(40)]
    assert [name for name in names if not progress.step("e", name).passed] == []


def test_what_is_known_is_kept_where_the_file_is_gone(workspace: Path) -> None:
    exercise = read_exercise(workspace / NAME)
    note_in_workspace(exercise, verdict("softmax"))
    known = read_progress(workspace, pytest.fail)
    known.file.unlink()
    noted(known, lambda now: now.with_current("other"), pytest.fail)
    assert passed(workspace) == ("softmax",)
