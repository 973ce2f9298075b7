"""`attn play` with an exercise in PyTorch: a model is trained through the learner's own layer."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from autograder.errors import KitError
from autograder.learning.workspace import find_workspace
from autograder.play import playing
from autograder.play.playing import _drawn
from autograder.play.training_words import Drawing
from support.learner_workspace import solve, start
from support.typed_commands import typed

NAME, SEVERAL = "torch_single_head", "torch_multi_head"


@pytest.mark.slow
def test_a_model_learns_through_the_layer_and_what_it_shows_is_told(tmp_path: Path) -> None:
    work = start(tmp_path / "work", NAME)
    solve(work, NAME)
    assert f"attn play {NAME}" in typed("check", NAME, folder=work).out
    run = typed("play", NAME, folder=work)
    assert run.code == 0, run.err
    assert "3 1 0 1 7 5 → 0 1 1 3 5 7 right" in run.words
    assert "where each answer looks, block " in run.words and "token →" in run.words
    learned = r"(?:1\d\d|200) come out right\. Your layer has learned it"
    assert len(re.findall(learned, run.words)) == 2
    assert "what the model writes is wrong" in run.words and "has no mask" in run.words
    assert "mistake" not in run.words.partition("attn play")[0]
    assert f"attn play {NAME} --mistakes" in run.out
    assert run.out.endswith(f"  attn finish {NAME}\n")


@pytest.mark.slow
def test_who_has_not_written_the_bonus_sees_the_rest(tmp_path: Path) -> None:
    work = start(tmp_path / "work", SEVERAL)
    bonus = "raise NotImplementedError('forward is not written yet')"
    solve(work, SEVERAL, "if causal:", f"if causal:\n            {bonus}")
    run = typed("play", SEVERAL, folder=work)
    assert run.code == 0, run.err
    assert "Your layer has learned it." in run.words
    layer = "`CausalMultiHeadAttention`"
    assert f"The next training needs {layer}, the bonus step. Your {layer} cannot be" in run.words
    assert "cannot be trained yet: `forward` is not written yet" in run.words


def test_a_training_that_needs_the_bonus_says_that_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exercise = find_workspace(start(tmp_path / "work", SEVERAL)).exercises[0]
    ends = iter([None, KitError("your layer is not written yet", place="", cure="")])

    def train(*_: object) -> None:
        if error := next(ends):
            raise error

    monkeypatch.setattr(playing, "_show_training", train)
    console = Console(record=True, file=io.StringIO(), width=200)
    playing.show_trainings(exercise, console)
    words = "needs `CausalMultiHeadAttention`, the bonus step. Your layer is not written yet"
    assert words in console.export_text()


def test_a_picture_that_is_read_stands_before_what_was_looked_at() -> None:
    drawing = Drawing("looks", ("down", "across"), ("0",), ("0",), ((1.0,),), ((0.9, 0.0),), "a 7")
    console = Console(record=True, width=60, file=io.StringIO())
    console.print(_drawn((drawing,)))
    lines = [line.split() for line in console.export_text().splitlines()]
    assert lines[0] == ["a", "7", "looks"] and lines[1] == ["██", "across", "→"]
