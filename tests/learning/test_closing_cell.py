"""`check.finish()`: the closing words in a notebook, from what this kernel has checked."""

from __future__ import annotations

from typing import Any

import pytest

from autograder.checks.reference import Reference, read_reference
from autograder.learning.notebook_check import Check, NotRightYet, open_exercise
from support.learner_workspace import NAME, ROOT
from support.typed_commands import printed


@pytest.fixture(scope="module")
def reference() -> Reference:
    return read_reference(ROOT / "solutions" / NAME)


@pytest.fixture
def check() -> Check:
    return open_exercise(NAME, ROOT / "assignments" / NAME)


def check_all(check: Check, reference: Reference) -> None:
    for step in reference.exercise.steps:
        check(getattr(reference.module, step.name))


def test_until_every_step_passes_it_names_the_checks_that_are_left(
    check: Check, reference: Reference, capsys: pytest.CaptureFixture[str]
) -> None:
    check.finish()
    left = "check(softmax), check(initialize_weights), check(project_qkv) and 8 more."
    assert f"Left: {left}" in printed(capsys)
    check(reference.module.softmax)
    check.finish()
    assert "Left: check(initialize_weights)" in printed(capsys)


def test_at_the_end_it_tells_the_mistakes_of_this_kernel_and_what_it_cannot_know(
    check: Check, reference: Reference, capsys: pytest.CaptureFixture[str]
) -> None:
    mistake = next(each for each in reference.misconceptions if each.step == "softmax")

    def softmax(scores: Any) -> Any:
        return mistake.wrong(scores)

    with pytest.raises(NotRightYet):
        check(softmax)
    check_all(check, reference)
    capsys.readouterr()
    check.finish()
    told = printed(capsys)
    assert "all 11 steps are done" in told and "The checks named 1 mistake" in told
    assert f"1. softmax: {mistake.words.partition(chr(10))[0]}" in told
    assert "12 checks were noted" in told and "since this kernel started" in told
    assert "Attention Is All You Need" in told


def test_a_step_that_was_right_and_is_wrong_now_is_left(
    check: Check, reference: Reference, capsys: pytest.CaptureFixture[str]
) -> None:
    def softmax(scores: Any) -> Any:
        return scores

    check_all(check, reference)
    with pytest.raises(NotRightYet):
        check(softmax)
    capsys.readouterr()
    check.finish()
    assert "Left: check(softmax)." in printed(capsys)
