"""In a notebook, too, code that does not end is stopped in words, and the kernel lives on."""

from __future__ import annotations

import builtins
import io
import os
import re
import signal
import statistics
import sys
import threading
import time
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from autograder.learning.notebook_check import Check, NotRightYet, open_exercise
from autograder.learning.notebook_layer import compare_with_library, show_attention, show_numbers
from autograder.play.training_cell import speak
from support.learner_workspace import NAME, ROOT
from support.typed_commands import printed


@pytest.fixture
def check() -> Check:
    """The check of an exercise in which a call may take a fifth of a second, and not two."""
    opened = open_exercise(NAME, ROOT / "assignments" / NAME)
    limits = replace(opened.exercise.limits, seconds_per_call=0.2)
    return replace(opened, exercise=replace(opened.exercise, limits=limits))


def told(check: Check, step: Any) -> str:
    with pytest.raises(NotRightYet) as raised:
        check(step)
    return str(raised.value)


def test_an_endless_loop_ends_with_its_line_and_is_not_asked_again(check: Check) -> None:
    calls = list[int]()

    def softmax(scores: Any) -> None:
        calls.append(1)
        while True:
            scores = scores + 1

    text = told(check, softmax)
    line = r"`softmax` was still running after 0\.[26] s at line \d+, `(scores = .*|while True:)`"
    assert re.search(line, text), text
    assert calls == [1]


def test_sleeping_counts_as_running(check: Check) -> None:
    def softmax(scores: Any) -> None:
        time.sleep(60)

    assert "was still running after 0.6 s" in told(check, softmax)


def test_code_that_cannot_be_stopped_is_told_with_what_to_press(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)

    end = time.monotonic() + 60  # far more than it takes

    def softmax(scores: Any) -> Any:
        while "Restart Kernel" not in said.getvalue() and time.monotonic() < end:
            try:
                time.sleep(0.01)
            except:  # noqa: E722
                continue
        return scores

    told(check, softmax)
    assert said.getvalue().count("Restart Kernel") == 1


def test_afterwards_an_interrupt_is_what_it_was_before(check: Check) -> None:
    def softmax(scores: Any) -> Any:
        return scores

    before = signal.getsignal(signal.SIGINT)
    told(check, softmax)
    assert signal.getsignal(signal.SIGINT) is before


def test_the_learners_own_interrupt_is_none_of_ours(check: Check) -> None:
    def softmax(scores: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

    # As in a kernel; a test before this one may have left another handler.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            check(softmax)
    finally:
        signal.signal(signal.SIGINT, before)


def test_in_another_thread_code_is_checked_without_a_limit(check: Check) -> None:
    found = list[str]()

    def softmax(scores: Any) -> Any:
        return scores

    thread = threading.Thread(target=lambda: found.append(told(check, softmax)))
    thread.start()
    thread.join()
    assert "checks pass" in found[0]


def endless(*_: Any) -> Any:
    while True:
        pass


def test_the_last_cells_stop_an_endless_loop_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autograder.learning.notebook_layer.SECONDS", 0.1)
    monkeypatch.setattr("autograder.play.training_cell.SPEAKING_SECONDS", 0.1)
    cells: tuple[tuple[str, Callable[[], None]], ...] = (
        ("No picture yet", lambda: show_attention(endless, ["a"])),
        ("No numbers yet", lambda: show_numbers(endless)),
        ("No comparison yet", lambda: compare_with_library(endless, "PyTorch")),
        ("It cannot speak yet", lambda: speak(endless)),
    )
    for beginning, cell in cells:
        cell()
        told = printed(capsys)
        assert re.match(
            rf"{beginning}: your layer was still running after 0\.[13] s at line \d+, `", told
        ), told


def test_nobody_answers_input_while_a_check_runs(check: Check) -> None:
    def softmax(scores: Any) -> Any:
        return scores * int(input("how many"))

    before = builtins.input
    text = told(check, softmax)
    assert "`return scores * int(input(" in text and "waits until somebody types" in text
    assert builtins.input is before


def test_an_error_in_python_s_own_modules_is_told_by_the_learners_line(check: Check) -> None:
    def softmax(scores: Any) -> Any:
        words: Any = "abc"
        return statistics.mean(words)

    assert "`return statistics.mean(words)`" in told(check, softmax)


def test_in_a_notebook_too_a_step_waits_for_the_wrong_one_that_it_calls(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = types.ModuleType("cells")
    monkeypatch.setitem(sys.modules, "cells", cells)
    code = """
def softmax(scores):
    return scores

def compute_attention_weights(scores):
    return softmax(scores)
"""
    exec(code, vars(cells))
    assert "✗" in told(check, cells.softmax)
    text = told(check, cells.compute_attention_weights)
    assert "So this step waits for step 1." in text and "✗" not in text, text
