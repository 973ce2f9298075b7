"""`attn watch` in a real pseudo-terminal, with real key presses and saves as editors make them."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from autograder.learning import watching
from autograder.learning.watching import Saves
from support.learner_workspace import (
    NAME,
    REFERENCE,
    RIGHT_SOFTMAX,
    WRONG_SOFTMAX,
    limited,
    notebook_with,
    put,
    stub_file,
    written,
)
from support.processes import left_in
from support.terminal import PATIENCE, Terminal, by_rename, save
from support.typed_commands import ATTN, UNREADABLE


def test_every_next_action_is_one_key_and_only_a_yes_resets(workspace: Path) -> None:
    terminal = Terminal(workspace, ATTN, "watch")
    file = stub_file(workspace)
    stub = file.read_text(encoding="utf-8")
    terminal.sees("`softmax` is not written yet.")
    terminal.sees("q quit")
    file.write_text(written(stub, softmax=WRONG_SOFTMAX), encoding="utf-8")
    line = stub.splitlines().index(next(one for one in stub.splitlines() if "def softmax" in one))
    assert f"{file.name}:{line + 1}" in terminal.sees("Your softmax runs down the columns")
    terminal.press("h")
    terminal.sees("Hint 1 of 5: One row of scores")
    terminal.press("hh")
    terminal.sees("lines of code to sort, then the step with a gap.")
    terminal.press("hh")
    terminal.sees("That was the last one.")
    terminal.press("s")
    terminal.sees("23 of 25 numbers differ")
    terminal.sees("difference")
    terminal.press("l")
    terminal.sees("0 of 11 steps passed when last checked.")
    mine = file.read_text(encoding="utf-8")
    terminal.press("r")
    terminal.sees("Put the stub of softmax back into")
    terminal.press("q")  # a no, not the end
    terminal.sees("Nothing was changed.")
    assert file.read_text(encoding="utf-8") == mine
    terminal.press("r")
    terminal.sees("Put the stub of softmax back into")
    terminal.press("y")
    terminal.sees("has the stub again.")
    terminal.sees("`softmax` is not written yet.")
    assert file.read_text(encoding="utf-8") == stub
    (copy,) = (workspace / ".attn" / "kept").iterdir()
    assert copy.read_text(encoding="utf-8") == mine
    by_rename(file, written(stub, softmax=RIGHT_SOFTMAX))
    terminal.sees("✓ softmax passes.")
    terminal.sees("Enter for step 2, initialize_weights")
    terminal.press("\r")
    terminal.sees("Step 2 of 11: initialize_weights")
    terminal.press("n")
    terminal.sees("Step 3 of 11: project_qkv")
    terminal.press("\x1b[A?")  # an arrow and a key that is none
    terminal.press("q")
    assert terminal.ends() == 0
    assert left_in(workspace) == {}


def test_it_survives_what_editors_do_to_files_and_goes_on_to_the_next_exercise(
    workspace: Path,
) -> None:
    second = Path(shutil.copytree(workspace / NAME, workspace / "numpy_again")) / "exercise.toml"
    facts = second.read_text(encoding="utf-8").replace(f'"{NAME}"', '"numpy_again"', 1)
    second.write_text(facts.replace("difficulty = 1", "difficulty = 2"), encoding="utf-8")
    terminal = Terminal(workspace, ATTN, "watch")
    file = stub_file(workspace)
    notebook = file.with_suffix(".ipynb")
    stub = file.read_text(encoding="utf-8")
    terminal.sees("q quit")
    file.write_text(written(stub, softmax=RIGHT_SOFTMAX).replace("def scale_scores(", "def ("))
    assert "SyntaxError, line" in terminal.sees("✓ softmax passes.") + terminal.sees("q quit")
    file.rename(file.with_name("elsewhere.txt"))
    notebook.rename(notebook.with_name("elsewhere.json"))
    terminal.sees("there is neither")
    file.write_bytes(b"\xff\xfe not text")
    terminal.sees("q quit")
    file.unlink()
    # JupyterLab writes beside the notebook, then renames.
    by_rename(notebook, notebook_with(notebook.with_name("elsewhere.json"), softmax=WRONG_SOFTMAX))
    assert f"{NAME}.ipynb, code cell" in terminal.sees("down the columns")
    notebook.write_text('{"cells": [', encoding="utf-8")
    terminal.sees("not valid JSON")
    by_rename(file, REFERENCE)
    terminal.sees(f"Every step of {NAME} passes.")
    terminal.sees("hidden graders")
    terminal.sees("n continues with numpy_again.")
    terminal.press("n")
    terminal.sees("numpy_again/")
    terminal.sees("`softmax` is not written yet.")
    terminal.press("q")
    assert terminal.ends() == 0


def test_a_save_while_a_check_hangs_is_answered_at_once_and_ctrl_c_leaves_nothing(
    workspace: Path,
) -> None:
    limited(workspace, seconds_per_call=600)  # so that only the new save can end it
    terminal = Terminal(workspace, ATTN, "watch")
    terminal.sees("q quit")
    save(workspace, softmax="    while True:\n        pass")
    terminal.sees("… checking softmax")
    save(workspace, softmax="    import os\n    os._exit(1)")
    terminal.sees("`softmax` ended Python instead of returning a result.")
    save(workspace, softmax=RIGHT_SOFTMAX)
    terminal.sees("✓ softmax passes.")
    terminal.process.sendcontrol("c")
    assert terminal.ends() == 0
    assert left_in(workspace) == {}


def test_ctrl_c_counts_before_all_is_ready_and_while_python_runs_a_destructor(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Destroyed:
        def __del__(self) -> None:  # an exception is lost here
            signal.raise_signal(signal.SIGINT)

    pressed = list[watching.Event]()
    put = watching.Watch.put

    def noted(watcher: watching.Watch, event: watching.Event) -> None:
        pressed.append(event)
        put(watcher, event)

    class Pressed(Saves):
        def __enter__(self) -> Saves:
            Destroyed()
            assert pressed, "Ctrl-C was lost"  # and the watch would go on
            return super().__enter__()

    monkeypatch.setattr(watching.Watch, "put", noted)
    monkeypatch.setattr(watching, "Saves", Pressed)
    told = Console(record=True, file=io.StringIO())
    watching.watch_work(workspace, None, told, print)  # it ends
    assert "0 of 11 steps passed" in told.export_text()


def test_the_terminal_is_left_as_it_was_found(workspace: Path) -> None:
    shell = f"stty -a; {ATTN} watch; echo code $?; stty -a; exit"
    terminal = Terminal(workspace, "/bin/sh", "-c", shell)
    before = terminal.sees("-extproc")
    terminal.sees("q quit")
    terminal.press("q")
    terminal.sees("code 0")
    after = terminal.sees("-extproc")
    words = [set(re.findall(r"-?\b(?:icanon|echo|isig|opost)\b", each)) for each in (before, after)]
    assert words[0] == words[1] and "icanon" in words[1]


@pytest.mark.parametrize(("encoding", "sign"), [("utf-8", "✓"), ("ascii", "v")])
def test_without_a_terminal_it_prints_every_answer_and_needs_no_keys_in_every_encoding(
    workspace: Path, encoding: str, sign: str
) -> None:
    file = put(workspace, softmax=WRONG_SOFTMAX)
    wrong = file.read_text(encoding="utf-8")
    process = subprocess.Popen(
        [ATTN, "watch"],
        cwd=workspace,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding=encoding,
    )
    assert process.stdout is not None
    seen = []

    def until(words: str) -> None:
        for line in iter(process.stdout.readline, ""):  # type: ignore[union-attr]
            seen.append(line)
            if words in line:
                return
        raise AssertionError(f"it ended before {words!r}: {''.join(seen)}")

    with process:
        until("Your softmax runs down the columns")
        by_rename(file, wrong.replace(WRONG_SOFTMAX, RIGHT_SOFTMAX))
        until(f"{sign} softmax passes.")
        until("`initialize_weights` is not written yet.")
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    said = "".join([*seen, rest])
    assert not re.search(r"\x1b|q quit|Traceback", said) and not UNREADABLE.search(said)
    assert left_in(workspace) == {}


def test_a_terminal_that_can_do_nothing_is_not_asked_to(workspace: Path) -> None:
    terminal = Terminal(workspace, ATTN, "watch", TERM="dumb")
    terminal.process.expect_exact("q quit")
    # Nothing is cleared: a line parts one answer from the next.
    assert "\x1b" not in terminal.process.before and "────" in terminal.process.before
    terminal.press("h")
    terminal.sees("Hint 1 of 5")
    terminal.press("q")
    assert terminal.ends() == 0


def test_the_watch_loads_numpy_only_when_it_draws(workspace: Path) -> None:
    code = "import autograder.learning.watching, sys\n"
    code += "print({'numpy', 'torch'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
