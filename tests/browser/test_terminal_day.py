"""The learner's day in a real terminal: from `attn start` to the last step, by keys and saves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.learner_workspace import NAME, stub_file
from support.reference_steps import pasted, reference_steps
from support.terminal import Terminal, by_rename
from support.typed_commands import ATTN

STEPS = tuple(reference_steps(NAME))


@pytest.fixture
def opened() -> Iterator[list[Terminal]]:
    """The terminals that a test opens; all are closed at its end."""
    terminals: list[Terminal] = []
    yield terminals
    for terminal in terminals:
        terminal.process.close(force=True)


def test_a_learner_finishes_the_numpy_exercise_with_the_keyboard_alone(
    tmp_path: Path, opened: list[Terminal]
) -> None:
    def terminal(folder: Path, *words: str) -> Terminal:
        opened.append(Terminal(folder, ATTN, *words))
        return opened[-1]

    workspace = tmp_path / "work"
    starting = terminal(tmp_path, "start", "work", "--exercise", NAME)
    starting.sees("attn watch")
    assert starting.ends() == 0
    checking = terminal(workspace, "check")
    checking.sees("`softmax` is not written yet.")
    checking.sees("Hint 1 of 5: One row of scores")
    assert checking.ends() == 1
    hinting = terminal(workspace, "hint")
    hinting.sees("Hint 2 of 5")  # the check has shown the first
    assert hinting.ends() == 0

    file = stub_file(workspace)
    stub = file.read_text(encoding="utf-8")
    watching = terminal(workspace, "watch")
    watching.sees("`softmax` is not written yet.")
    watching.sees("q quit")
    watching.press("h")
    watching.sees("Hint 3 of 5")
    text = stub
    for number, step in enumerate(STEPS, start=1):
        text = pasted(text, NAME, step)
        by_rename(file, text)
        watching.sees(f"✓ {step} passes.")
        if number < len(STEPS):
            watching.sees(f"Enter for step {number + 1}, {STEPS[number]}")
    watching.sees(f"Every step of {NAME} passes.")
    watching.press("l")
    watching.sees(f"{len(STEPS)} of {len(STEPS)} steps passed")
    watching.press("q")
    assert watching.ends() == 0

    checking = terminal(workspace, "check")
    checking.sees("hidden graders")
    assert checking.ends() == 0
