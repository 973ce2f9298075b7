"""Who knows attention writes the class first: if it is right, its steps count as known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from autograder.learning.checking import check_work
from autograder.learning.notebook_check import NotRightYet, open_exercise
from autograder.learning.process import Child
from autograder.learning.progress import open_session, read_progress
from autograder.learning.watch_screen import View
from autograder.learning.watching import BackgroundAnswer, answered
from autograder.learning.workspace import find_workspace
from support.learner_workspace import (
    NAME,
    RIGHT_SOFTMAX,
    WRONG_SOFTMAX,
    stub_file,
    written,
)
from support.typed_commands import printed, typed

LAYER = "SingleHeadAttention"
CLASS = """class SingleHeadAttention:
    def __init__(self, embedding_dimension, rng):
        sizes = (embedding_dimension, embedding_dimension)
        self.query_weights = rng.normal(0, 0.02, sizes)
        self.key_weights = rng.normal(0, 0.02, sizes)
        self.value_weights = rng.normal(0, 0.02, sizes)
        self.output_weights = rng.normal(0, 0.02, sizes)

    def forward(self, x, causal=False):
        q, k, v = x @ self.query_weights, x @ self.key_weights, x @ self.value_weights
        scores = np.einsum("bqd,bkd->bqk", q, k) / np.sqrt(x.shape[-1])
        if causal:
            scores = np.where(np.tri(x.shape[1], dtype=bool), scores, -np.inf)
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True) @ v @ self.output_weights
"""


def with_class(workspace: Path, code: str = CLASS, **bodies: str) -> Path:
    """Write the class in the script, and some of the steps."""
    file = stub_file(workspace)
    stub = written(file.read_text(encoding="utf-8"), **bodies)
    begin = stub.index("class SingleHeadAttention")
    file.write_text(stub[:begin] + code, encoding="utf-8")
    return file


def done(workspace: Path) -> tuple[str, ...]:
    exercise = find_workspace(workspace).exercises[0]
    return read_progress(workspace, pytest.fail).passed(exercise)


def test_the_steps_of_a_right_class_count_as_known_and_the_signs_say_by_what(
    workspace: Path,
) -> None:
    with_class(workspace)
    run = typed("check", folder=workspace)
    assert run.code == 0 and run.err == ""
    assert "+ softmax  2 points" in run.out and f"✓ {LAYER}" in run.out
    assert "+ done by the layer" in run.out
    assert "1 of 11 steps pass, and your layer does the work of 10 more, 22 of 22" in run.words
    assert f"attn play {NAME}" in run.out, "what comes after the last step"
    assert len(done(workspace)) == 11
    listed = typed("list", folder=workspace).out
    assert "11 of 11 steps, 22 of 22 points" in listed and "  + 1 softmax" in listed
    assert "all 11 steps are done" in typed("finish", folder=workspace).words


def test_to_check_the_class_alone_is_enough(workspace: Path) -> None:
    with_class(workspace)
    assert typed("check", LAYER, folder=workspace).code == 0
    assert len(done(workspace)) == 11
    assert "nothing to review" in typed("review", folder=workspace).words.lower()


def test_a_step_that_is_not_written_is_done_where_the_class_is_right(workspace: Path) -> None:
    with_class(workspace)
    run = typed("check", "softmax", folder=workspace)
    assert run.code == 0 and run.err == "" and "+ softmax  2 points" in run.out
    assert "Your layer does its work" in run.words and LAYER not in run.out
    assert done(workspace) == ("softmax",)
    typed("check", folder=workspace)
    with_class(workspace, CLASS.replace(" / np.sqrt(x.shape[-1])", ""))
    assert typed("check", "softmax", folder=workspace).code == 1
    assert len(done(workspace)) == 10


def test_a_class_that_is_wrong_makes_nothing_known(workspace: Path) -> None:
    with_class(workspace, CLASS.replace(" / np.sqrt(x.shape[-1])", ""))
    run = typed("check", folder=workspace)
    assert run.code == 1 and "+ " not in run.out and "· softmax (0/" in run.out
    assert done(workspace) == ()


def test_a_step_under_a_wrong_name_is_told_though_the_class_is_right(workspace: Path) -> None:
    file = with_class(workspace, softmax=RIGHT_SOFTMAX)
    text = file.read_text(encoding="utf-8").replace("def softmax(", "def sofmax(")
    file.write_text(text, encoding="utf-8")
    for words in (("softmax",), ()):
        run = typed("check", *words, folder=workspace)
        assert run.code == 0 and "+ softmax" in run.out
        assert "There is a `sofmax`: did you rename it?" in run.words
        assert "You did not write this step" not in run.words


def test_a_watch_goes_to_the_step_that_was_written_and_is_wrong(workspace: Path) -> None:
    session = open_session(workspace, pytest.fail)
    exercise = session.current

    def saved(view: View) -> View:
        with Child(exercise) as child:
            checkup = check_work(exercise, exercise.steps, child=child)
        return answered(view, BackgroundAnswer(exercise, checkup))

    view = saved(View(session, exercise))
    assert view.step.name == "softmax"
    wrong = CLASS.replace(" / np.sqrt(x.shape[-1])", "")
    with_class(workspace, wrong)
    view = saved(view)
    assert view.step.name == LAYER
    text = stub_file(workspace).read_text(encoding="utf-8")
    stub_file(workspace).write_text(text + "\n# a note\n", encoding="utf-8")
    view = saved(view)
    assert view.step.name == LAYER, "nothing else was changed"
    text = stub_file(workspace).read_text(encoding="utf-8")
    stub_file(workspace).write_text(written(text, softmax=WRONG_SOFTMAX), encoding="utf-8")
    assert saved(view).step.name == "softmax"


def test_a_step_that_is_written_and_wrong_stays_open(workspace: Path) -> None:
    with_class(workspace, softmax=WRONG_SOFTMAX)
    run = typed("check", folder=workspace)
    assert run.code == 1 and "✗ softmax" in run.out and "Next: softmax" in run.out
    assert typed("check", LAYER, folder=workspace).code == 0
    assert "softmax" not in done(workspace) and len(done(workspace)) == 10


def test_home_and_class_agree_on_what_a_class_does(
    workspace: Path, in_class: Callable[[Path], Any]
) -> None:
    file = with_class(workspace)
    home = typed("check", "--json", folder=workspace).document
    points = {step["name"]: step["points"] for step in home["steps"]}
    assert points == {name: step["points"] for name, step in in_class(file).items()}
    assert home["points"] == home["max_points"] == 22


def test_in_a_notebook_it_is_the_same_also_of_a_step_that_was_open(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check = open_exercise(NAME, workspace / NAME)
    module = ModuleType("cell")
    exec("import numpy as np\n" + CLASS, vars(module))

    def softmax(scores: object) -> None:
        raise NotImplementedError

    with pytest.raises(NotRightYet):
        check(softmax)
    check(vars(module)[LAYER])
    check.finish()
    assert "all 11 steps are done" in printed(capsys)
    assert len(done(workspace)) == 11
