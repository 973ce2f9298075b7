"""`train` in a notebook: it shows how a training goes, and what the layer does raises nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from autograder.checks.reference import read_reference
from autograder.errors import KitError
from autograder.learning.notebook_check import note_mistake
from autograder.play.training import TASKS
from autograder.play.training_cell import _Shown, render_curve, show_costs, train
from autograder.play.training_words import Drawing, Moment
from autograder.values.verdict import Finding, Outcome
from support.learner_workspace import ROOT
from support.typed_commands import printed

NAME = "torch_single_head"


@pytest.fixture(autouse=True)
def notebook_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "assignments" / NAME)
    monkeypatch.setattr("autograder.learning.notebook_check._met", {})


def right(width: int) -> Any:
    return read_reference(ROOT / "solutions" / NAME).module.SingleHeadAttention(width)


class Prints(nn.Module):
    """A layer that prints, and then does what it was made with."""

    def __init__(self, then: Any) -> None:
        super().__init__()
        self.then = then

    def forward(self, x: torch.Tensor) -> Any:
        print("FORWARD")
        return self.then(x)


def test_how_a_training_goes_and_what_came_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    train("repeat", right, most_steps=25)
    told = printed(capsys)
    assert "is your layer. step 0 loss 2." in told and "step 25 loss 2" in told
    assert re.search(r"3 1 0 1 7 5 → ([0-9] ){6}wrong, 3 1 0 1 7 5 is expected", told)
    assert re.search(r"Of 200 new sequences, \d come out right\. With a right layer it was", told)


@pytest.mark.parametrize("command", ["validate", "autograde"])
def test_nothing_is_trained_where_nbgrader_runs_the_notebook(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NBGRADER_EXECUTION", command)
    train("repeat", right)
    told = printed(capsys)
    assert told == "nbgrader runs this notebook now, so nothing is trained. Run this cell yourself."


def test_what_a_layer_prints_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    train("repeat", lambda width: Prints(lambda x: x), most_steps=3)
    told = printed(capsys)
    assert "FORWARD" not in told and "step 3" in told


def test_what_a_layer_raises_is_told_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def unwritten(x: torch.Tensor) -> None:
        raise NotImplementedError("scale_scores is not written yet")

    train("repeat", lambda width: Prints(unwritten))
    assert printed(capsys) == "Not yet: `scale_scores` is not written yet."
    train("repeat", lambda width: Prints(lambda x: x[0]))
    assert "Not yet: your layer gives the shape (12, 42)" in printed(capsys)


def test_an_endless_loop_is_stopped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(x: torch.Tensor) -> None:
        while True:
            pass

    monkeypatch.setattr("autograder.play.training_cell.FIRST_SECONDS", 0.3)
    train("repeat", lambda width: Prints(endless))
    told = printed(capsys)  # in processor time, or on a busy machine in wall time
    assert re.search(
        r"your layer was still running after 0\.[39] s at line \d+, `while True:`", told
    )


def test_a_task_that_there_is_not_is_told_with_those_that_there_are() -> None:
    with pytest.raises(KitError, match="no task 'walk'") as error:
        train("walk", right)
    assert all(name in error.value.cure for name in TASKS)


def test_a_mistake_that_was_met_is_told_with_what_it_would_have_done(
    capsys: pytest.CaptureFixture[str],
) -> None:
    note_mistake(Finding(Outcome.WRONG_VALUES, "", misconception="values_averaged"))
    show_costs()
    told = printed(capsys)
    assert "Of the mistakes that you met" in told and "plain average of the values" in told
    assert "Repeating: 0 of 200 come out right" in told and "stay hidden" in told


def test_the_curve_is_text_for_who_cannot_see_it_and_needs_two_numbers() -> None:
    moments = [Moment(0, 2.3), Moment(5, float("nan")), Moment(10, 0.1)]
    curve = render_curve(moments)
    assert "aria-label='The loss goes from 2.3 to 0.1.'" in curve and "nan" not in curve
    assert "points='8.0,22.0 312.0,94.7'" in curve
    assert ">step 10<" in curve and ">loss 2.3<" in curve
    assert "currentColor" in curve and "#" not in curve
    assert render_curve(moments[:2]) == ""


def test_a_picture_that_is_read_is_drawn_with_words_for_who_does_not_see_it() -> None:
    drawing = Drawing("looks", ("down", "across"), ("0",), ("0",), ((1.0,),), ((0.9, 0.0),), "a 7")
    shown = _Shown("It learns.")
    shown._moments = [Moment(0, 2.0, (drawing,))]
    assert "a 7\n██\nlooks:" in shown._text()
    assert "<strong>a 7</strong>" in shown._html() and "aria-label='a 7'" in shown._html()
    shown._moments = [Moment(0, 2.0, (replace(drawing, picture=(), shows=""),))]
    assert "<svg" not in shown._html() and "loss 2\nlooks:" in shown._text()
