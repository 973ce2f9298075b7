"""What is checked in a notebook is known to the commands, and nothing is written anywhere else."""

from __future__ import annotations

import errno
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autograder.learning.notebook_check import KernelRecord, NotRightYet, _say, open_exercise
from autograder.learning.progress import (
    LearnerSession,
    StepProgress,
    noted,
    open_session,
    read_progress,
)
from autograder.values.exercise import read_exercise
from autograder.values.symbols import HIDDEN
from autograder.values.verdict import Outcome, StepVerdict
from support.learner_workspace import NAME, REFERENCE, ROOT, start, stub_file
from support.typed_commands import attn


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def create_causal_mask(sequence_length: int) -> np.ndarray:  # the wrong way round
    return np.triu(np.ones((sequence_length, sequence_length)))


def scale_scores(attention_scores: np.ndarray, embedding_dimension: int) -> np.ndarray:
    raise NotImplementedError("scale_scores is not written yet")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return start(tmp_path / "mine")


def session(workspace: Path) -> LearnerSession:
    return open_session(workspace, pytest.fail)


def verdict(step: str, outcome: Outcome = Outcome.PASSED) -> StepVerdict:
    return StepVerdict(step, step, outcome, 0, 0, ())


def passed(workspace: Path) -> tuple[str, ...]:
    return session(workspace).progress.passed(read_exercise(workspace / NAME))


def test_a_check_in_a_notebook_is_known_to_the_commands(workspace: Path) -> None:
    assert "0 of 11 steps" in attn("list", folder=workspace).words
    check = open_exercise(NAME, workspace / NAME)
    check(softmax)
    with pytest.raises(NotRightYet):
        check(create_causal_mask)
    assert "1 of 11 steps" in attn("list", folder=workspace).words
    known = session(workspace).progress
    step = known.step(NAME, "create_causal_mask")
    assert not step.passed and step.mistakes
    assert known.step(NAME, "softmax").review_on and known.work_time(NAME).checks


def test_a_step_left_open_because_the_layer_is_right_stops_no_run_and_stays_known(
    workspace: Path,
) -> None:
    exercise = read_exercise(workspace / NAME)
    check = open_exercise(NAME, workspace / NAME)
    with pytest.raises(NotRightYet, match="not written yet"):
        check(scale_scores)
    whole = "SingleHeadAttention"
    KernelRecord().note(exercise, verdict(whole), ("softmax", "scale_scores"))
    again = open_exercise(NAME, workspace / NAME)
    shown = again(scale_scores)
    said = "scale_scores: not written, but your layer did its work when it was last checked."
    assert (
        repr(shown) == said
        and said in shown._repr_html_()
        and "<details" not in shown._repr_html_()
    )
    assert passed(workspace) == ("softmax", "scale_scores", whole)
    KernelRecord().note(exercise, verdict(whole, Outcome.WRONG_VALUES), ("softmax", "scale_scores"))
    assert not passed(workspace)
    with pytest.raises(NotRightYet, match="not written yet"):
        check(scale_scores)


def test_who_learns_alone_is_not_told_of_hidden_graders_after_every_step(
    workspace: Path, tmp_path: Path
) -> None:
    in_class = shutil.copytree(ROOT / "assignments" / NAME, tmp_path / "class" / NAME)
    for folder, told in ((workspace / NAME, False), (in_class, True)):
        shown = open_exercise(NAME, folder)(softmax)
        assert [HIDDEN in words for words in (repr(shown), shown._repr_html_())] == [told] * 2
    stub_file(workspace).write_text(REFERENCE, encoding="utf-8")
    assert "hidden graders" not in attn("check", "softmax", folder=workspace).words
    assert "hidden graders" in attn("check", folder=workspace).words


def test_outside_of_a_workspace_nothing_is_written(tmp_path: Path) -> None:
    exercise = replace(read_exercise(ROOT / "assignments" / NAME), folder=tmp_path / NAME)
    exercise.folder.mkdir()
    KernelRecord().note(exercise, verdict("softmax"))
    assert [path.name for path in tmp_path.rglob("*")] == [NAME]


def test_a_disk_that_cannot_be_written_is_told_once_and_stops_nothing(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("autograder.learning.progress.replace_file", refused)
    _say.cache_clear()
    for step in ("softmax", "scale_scores"):
        KernelRecord().note(read_exercise(workspace / NAME), verdict(step))
    assert capsys.readouterr().out.count("could not be saved") == 1


def test_a_watch_that_is_open_keeps_what_the_notebook_noted(workspace: Path) -> None:
    watch = session(workspace)
    exercise = read_exercise(workspace / NAME)
    KernelRecord().note(exercise, verdict("softmax"))
    mask = exercise.step("create_causal_mask")
    watch = watch.noted(exercise, mask, StepProgress(hints=1))
    assert passed(workspace) == ("softmax",) == watch.progress.passed(exercise)
    KernelRecord().note(exercise, verdict(mask.name))
    watch.noted(exercise, mask, replace(watch.known(exercise, mask), hints=2))
    now = session(workspace).known(exercise, mask)
    assert now.passed and now.hints == 2


def test_two_writers_at_once_lose_nothing(workspace: Path) -> None:
    writer = """
import sys
from pathlib import Path
from autograder.learning.progress import StepProgress, noted, read_progress

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
    KernelRecord().note(exercise, verdict("softmax"))
    known = read_progress(workspace, pytest.fail)
    known.file.unlink()
    noted(known, lambda now: now.with_current("other"), pytest.fail)
    assert passed(workspace) == ("softmax",)
