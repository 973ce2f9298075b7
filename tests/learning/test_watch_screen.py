"""The screen of `attn watch`: steps back and forth, the time of the look, room, the last words."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.learning.watch_screen import single_keys
from autograder.learning.watching import PAUSE
from support.learner_workspace import (
    NAME,
    REFERENCE,
    RIGHT_SOFTMAX,
    WRONG_SOFTMAX,
    stub_file,
)
from support.processes import wait_for
from support.terminal import Terminal, by_rename, save
from support.typed_commands import ATTN

LOOKED = re.compile(r"checked: your save of (\d\d:\d\d:\d\d)")
LONG = """    for number in range(60):
        print("a printed line", number)
    return scores"""
SMALL = [(24, 40), (12, 80), (24, 80)]


@pytest.fixture
def terminal(workspace: Path) -> Iterator[Terminal]:
    watching = Terminal(workspace, ATTN, "watch", size=(24, 80))
    yield watching
    watching.close()


def taken(lines: list[str], columns: int) -> int:
    """How many rows of a terminal lines take."""
    return sum(max(1, -(-len(line) // columns)) for line in lines)


def test_p_n_and_numbers_go_to_any_step_and_function_keys_to_none(
    workspace: Path, terminal: Terminal
) -> None:
    assert "n next  p back" in " ".join(terminal.frame("q quit", "Step 1 of 11"))
    terminal.press("n\x1b[15~\x1b[19;2~")
    terminal.press("h")
    assert "Hint 1 of" in " ".join(terminal.frame("Step 2 of 11", "Hint"))
    save(workspace, softmax=RIGHT_SOFTMAX)
    terminal.frame("Step 2 of 11: initialize_weights", "checked: your save of")
    terminal.press("p")
    assert "  This step is right." in terminal.frame("Step 1 of 11: softmax")
    terminal.press("p")
    terminal.frame("This is the first step.")
    terminal.press("n")
    terminal.frame("Step 2 of 11")
    terminal.press("5")
    terminal.frame("Step 5 of 11: scale_scores")
    terminal.press("1")
    terminal.frame("Step 1 of 11")
    terminal.press("p10")
    terminal.frame("Step 10 of 11: project_output")
    terminal.press("p0")
    terminal.frame("There is no step 0: this exercise has the steps 1 to 11.")
    terminal.press("h")
    terminal.frame("Step 9 of 11", "Hint 1 of ")
    save(workspace, softmax=RIGHT_SOFTMAX, apply_attention="    return 1")
    terminal.frame("Step 9 of 11", "checked: your save of")  # what was chosen stays while open
    mask = "    return np.tril(np.ones((sequence_length, sequence_length)))"
    save(workspace, create_causal_mask=mask, apply_attention="    return 1")
    terminal.frame("Step 9 of 11", "· · · · · ✓ · · [✗] · ·  checked: your save of")
    terminal.press("5n")
    assert "  This step is right." in terminal.frame("Step 6 of 11: create_causal_mask")
    terminal.press("n")
    terminal.frame("Step 7 of 11")
    terminal.press("p")
    terminal.frame("Step 6 of 11")
    terminal.press("11n")
    terminal.frame("Step 11 of 11", "This is the last step. Step 1, softmax, is the first that")
    terminal.press("p")
    terminal.frame("Step 10 of 11")


def test_it_stays_on_a_step_that_has_passed_until_enter_or_until_other_code_is_saved(
    workspace: Path, terminal: Terminal
) -> None:
    terminal.frame("Step 1 of 11", "q quit")
    terminal.press("t")
    terminal.frame("1. Softmax", " more lines: key m")  # the lesson
    save(workspace, softmax=WRONG_SOFTMAX)
    terminal.frame("down the columns")
    terminal.press("\r")  # nothing has passed, so nothing happens
    save(workspace, softmax=RIGHT_SOFTMAX)
    shown = terminal.frame("✓ softmax passes.", "Step 1 of 11: softmax")
    words = " ".join(" ".join(shown).split())
    order = (
        "Your row of “it”",
        "cat 0.63",
        "Now guess: All scores of a row are equal",
        "Enter for step 2, initialize",
    )
    assert [words.index(each) for each in order] == sorted(words.index(each) for each in order)
    assert "a the answer" in words and "Each share" not in words
    save(workspace, softmax=f"    # the same\n{RIGHT_SOFTMAX}")
    terminal.frame("Step 1 of 11: softmax", "Your row of “it”", "Enter for step 2")
    terminal.press("a")
    shown = terminal.frame("Each share is 1 divided", "Enter for step 2")
    assert "The factor cancels" not in " ".join(shown), "that answers what was asked before"
    save(workspace, softmax=RIGHT_SOFTMAX, initialize_weights="    return 1")
    terminal.frame("Step 2 of 11: initialize_weights", "It returns a single value")
    save(workspace, softmax=WRONG_SOFTMAX)
    terminal.frame("Step 1 of 11: softmax", "down the columns")
    save(workspace, softmax=RIGHT_SOFTMAX)
    terminal.frame("Step 1 of 11: softmax", "Enter for step 2")
    terminal.press("\r")
    terminal.frame("Step 2 of 11: initialize_weights", "not written yet")
    save(workspace, softmax=RIGHT_SOFTMAX, create_causal_mask="    return np.tri(sequence_length)")
    terminal.frame("✓ create_causal_mask passes.", "was      0", "Enter for step 2")


def test_a_command_that_is_typed_or_pasted_into_a_watch_neither_moves_it_nor_costs_a_hint(
    workspace: Path, terminal: Terminal
) -> None:
    terminal.frame("Step 1 of 11", "q quit")
    for words in ("attn hint softmax\r", "help\r", "show softmax", "python -m pip list\r"):
        for key in words:  # a fast hand
            terminal.press(key)
            time.sleep(0.02)
        terminal.frame("Step 1 of 11: softmax", "This is the watch, not the shell")
        time.sleep(PAUSE)
        terminal.press(words)
        terminal.frame("Step 1 of 11: softmax", "This is the watch, not the shell")
        time.sleep(PAUSE)
    terminal.press("nn")
    terminal.frame("Step 3 of 11")
    terminal.press("ph")
    terminal.frame("Step 2 of 11", "Hint 1 of 5")
    noted = json.loads((workspace / ".attn" / "progress.json").read_text(encoding="utf-8"))
    hints = {name: each["hints"] for name, each in noted["exercises"][NAME].items()}
    assert hints["softmax"] == 0 and sum(hints.values()) == 1


def test_it_says_which_save_it_has_looked_at_and_what_is_in_it(
    workspace: Path, terminal: Terminal
) -> None:
    first = "\n".join(terminal.frame("q quit", "`softmax` is not written yet."))
    assert re.search(r"checked at \d\d:\d\d:\d\d", first) and not LOOKED.search(first)
    save(workspace)
    once = LOOKED.search("\n".join(terminal.frame("checked: your save of")))
    assert once
    wait_for(lambda: time.strftime("%H:%M:%S") > once[1], "the clock stands still")
    save(workspace)  # the same text again: the rest of the screen does not change
    again = LOOKED.search("\n".join(terminal.frame("checked: your save of")))
    assert again and again[1] > once[1]
    save(workspace, softmax="    return scores +")
    assert "\n".join(terminal.frame("Python cannot read")).count("Python cannot read") == 1
    save(workspace, softmax=WRONG_SOFTMAX)
    terminal.frame("down the columns")
    terminal.press("s")
    shown = "\n".join(terminal.frame("numbers differ", "q quit"))
    assert "Step 1 of 11: softmax" in shown
    assert shown.index("yours") < shown.index("key m"), "the picture needs no other page"


def test_nothing_scrolls_off_at_any_size_and_what_matters_is_there(
    workspace: Path, terminal: Terminal
) -> None:
    save(workspace, softmax=LONG)
    terminal.frame(" more lines: key m")
    for height, columns in SMALL:
        terminal.process.setwinsize(height, columns)
        lines = terminal.frame("Step 1", " more lines: key m")
        assert taken(lines, columns) < height, (height, columns, lines)
        for key in "ls":
            terminal.press(key)
            lines = terminal.frame("Step 1")
            shown = " ".join(" ".join(lines).split())
            told = (key, height, columns, lines)
            assert taken(lines, columns) < height, told
            assert "Step 1 of 11: softmax" in shown and shown.endswith("q quit"), told
            last = {"l": "steps passed when last checked", "s": r"The input:.*shown: B\[2\] of 4 "}
            whole = re.search(last[key], shown)
            assert bool(whole) != ("key m" in shown), told
        for _ in range(4):
            terminal.press("h")
            assert taken(terminal.frame("q"), columns) < height, (height, columns)
        terminal.press("np")
        terminal.frame("Step 1 of 11", " more lines: key m")
    terminal.process.setwinsize(60, 100)
    assert 24 < taken(terminal.frame("a printed line 11", "q quit"), 100) < 60
    terminal.process.setwinsize(10, 50)
    assert taken(terminal.frame(" more lines: key m"), 50) < 10


def test_at_the_end_p_goes_to_the_last_step_and_q_says_how_far_one_is_and_what_comes_next(
    workspace: Path, terminal: Terminal
) -> None:
    by_rename(stub_file(workspace), REFERENCE)
    terminal.frame("Every step of")
    terminal.press("p")
    terminal.frame("Step 11 of 11", "This step is right.")
    terminal.press("p")
    terminal.frame("Step 10 of 11")
    save(workspace, softmax=RIGHT_SOFTMAX)
    terminal.frame("Step 10 of 11", "not written yet")
    terminal.press("q")
    terminal.sees("Single-head attention in NumPy: 1 of 11 steps pass, 2 of 22 points.")
    terminal.sees("Right so far: softmax.")
    terminal.sees("Next: step 2, initialize_weights.")
    terminal.sees(f"attn watch {NAME}\r\n    goes on there")
    assert terminal.ends() == 0


@pytest.mark.parametrize(
    ("text", "keys", "rest"),
    [
        ("hn", "hn", ""),
        ("h\x1b[15~n", "hn", ""),  # F5 has digits
        ("\x1b[1;5A1", "1", ""),
        ("\x1bOP\x1bn", "", ""),
        ("\x1b", "", ""),
        ("h\x1b[1", "h", "\x1b[1"),  # the end comes with the next read
    ],
)
def test_a_key_that_sends_several_characters_is_no_number(text: str, keys: str, rest: str) -> None:
    assert single_keys(text) == (keys, rest)


def test_a_terminal_that_can_do_nothing_has_its_own_width(workspace: Path) -> None:
    terminal = Terminal(workspace, ATTN, "check", size=(24, 40), TERM="dumb")
    shown = terminal.sees("attn hint softmax")
    assert max(map(len, shown.splitlines())) <= 40
