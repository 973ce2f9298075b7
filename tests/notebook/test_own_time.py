"""In a notebook, too, code that does not end is stopped in words, and the kernel lives on."""

from __future__ import annotations

import builtins
import json
import os
import re
import signal
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbclient
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from autograder.notebook.check import Check, NotRightYet, open_exercise
from autograder.notebook.layer import compare_with_library, show_attention, show_numbers
from autograder.notebook.speaking import speak
from support.kernel import running_kernel

ROOT = Path(__file__).resolve().parents[2]
NAME = "numpy_single_head"


@pytest.fixture
def check() -> Check:
    return open_exercise(NAME, ROOT / "assignments" / NAME)


def told(check: Check, step: Any) -> str:
    with pytest.raises(NotRightYet) as raised:
        check(step)
    return str(raised.value)


def test_an_endless_loop_ends_with_its_line(check: Check) -> None:
    def softmax(scores: Any) -> None:
        while True:
            scores = scores + 1

    begun = time.monotonic()
    text = told(check, softmax)
    line = r"`softmax` was still running after \d s at line \d+, `(scores = .*|while True:)`"
    assert re.search(line, text), text
    assert time.monotonic() - begun < 20, "it is not asked a second time"


def test_sleeping_counts_as_running(check: Check) -> None:
    def softmax(scores: Any) -> None:
        time.sleep(60)

    assert "was still running after 6 s" in told(check, softmax)


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
    assert "public checks pass" in found[0]


def endless(*_: Any) -> Any:
    while True:
        pass


def test_the_last_cells_stop_an_endless_loop_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autograder.notebook.layer.SECONDS", 0.3)
    monkeypatch.setattr("autograder.notebook.speaking.SECONDS", 0.3)
    cells: tuple[tuple[str, Callable[[], None]], ...] = (
        ("No picture yet", lambda: show_attention(endless, ["a"])),
        ("No numbers yet", lambda: show_numbers(endless)),
        ("No comparison yet", lambda: compare_with_library(endless, "PyTorch")),
        ("It cannot speak yet", lambda: speak(endless)),
    )
    for beginning, cell in cells:
        cell()
        told = " ".join(capsys.readouterr().out.split())
        assert re.match(
            rf"{beginning}: your layer was still running after 0\.[39] s at line \d+, `", told
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


@pytest.mark.parametrize("end", ["exit()", "quit()", "import sys; sys.exit(3)"])
def test_what_ends_a_kernel_is_no_pass_and_the_kernel_lives_on(tmp_path: Path, end: str) -> None:
    text = f"def softmax(scores):\n    {end}\n    return right(scores)"
    folder = ROOT / "assignments" / NAME
    with running_kernel(folder) as kernel:
        kernel.run(BEGIN + RIGHT)
        kernel.run(text)
        assert "ended the Python process" in kernel.run("check(softmax)")
        assert "It cannot speak yet" in kernel.run("speak(softmax)")
        assert "ended the Python process" in kernel.run("check(softmax)")
        assert "42" in kernel.run("6 * 7")
        assert "Exit" in kernel.run("type(exit)"), "it is there again"


RIGHT = """
import numpy as np
from autograder import speak

def right(scores):
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)
"""
BEGIN = """
import time
from autograder import open_exercise
check = open_exercise("numpy_single_head")
"""
ENDLESS = f"""{BEGIN}
def softmax(scores):
    while True:
        pass

check(softmax)
"""
STUBBORN = f"""{BEGIN}
def softmax(scores):
    end = time.monotonic() + 9
    while True:
        try:
            while time.monotonic() < end:
                pass
            return scores
        except:
            pass

check(softmax)
"""


@pytest.mark.slow
def test_the_kernel_lives_on_and_says_what_cannot_be_stopped() -> None:
    cells = [new_code_cell(each) for each in (ENDLESS, STUBBORN, "print(1 + 1)")]
    notebook = new_notebook(cells=cells)
    folder = str(ROOT / "assignments" / NAME)
    nbclient.NotebookClient(
        notebook, timeout=120, allow_errors=True, resources={"metadata": {"path": folder}}
    ).execute()
    endless, stubborn, after = (json.dumps(cell) for cell in notebook.cells)
    assert "was still running after " in endless
    assert "Restart Kernel" in stubborn
    assert r'"text": "2\n"' in after
