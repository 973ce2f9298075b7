"""`attn review`: steps that passed come back blank, on other inputs, after 1, 7 and 30 days."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from support.learner_workspace import (
    NAME,
    RIGHT_SOFTMAX,
    WRONG_SOFTMAX,
    attn,
    start,
    stub_file,
    written,
)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace in which softmax has passed."""
    workspace = start(tmp_path / "work")
    file = stub_file(workspace)
    file.write_text(written(file.read_text("utf-8"), softmax=RIGHT_SOFTMAX), encoding="utf-8")
    assert attn("check", "softmax", folder=workspace).code == 0
    return workspace


def known(workspace: Path) -> dict[str, Any]:
    facts = json.loads((workspace / ".attn" / "progress.json").read_text(encoding="utf-8"))
    step: dict[str, Any] = facts["exercises"][NAME]["softmax"]
    return step


def write(workspace: Path, body: str) -> None:
    file = workspace / "review" / NAME / "softmax.py"
    file.write_text(written(file.read_text("utf-8"), softmax=body), encoding="utf-8")


def first_day(workspace: Path) -> date:
    return date.fromisoformat(known(workspace)["review_on"])


def test_a_step_that_passes_comes_back_after_1_7_and_30_days(workspace: Path) -> None:
    day = first_day(workspace)
    assert day - date.today() in (timedelta(0), timedelta(1))  # midnight may have passed
    early = attn("review", "softmax", "--on", day - timedelta(1), folder=workspace)
    assert early.code == 1 and f"It comes back on {day}." in early.words
    mine = stub_file(workspace).read_bytes()
    for days in (7, 30):
        assert "review/" in attn("review", "--on", day, folder=workspace).out
        write(workspace, RIGHT_SOFTMAX)
        run = attn("review", "softmax", "--on", day, folder=workspace)
        day += timedelta(days)
        assert run.code == 0 and f"It comes back on {day}." in run.words, run
    attn("review", "--on", day, folder=workspace)
    write(workspace, RIGHT_SOFTMAX)
    last = attn("review", "softmax", "--on", day, folder=workspace)
    assert last.code == 0 and "the last of 3 reviews" in last.words
    assert stub_file(workspace).read_bytes() == mine
    assert len(list((workspace / ".attn" / "kept").glob("review-*"))) == 3


def test_a_review_that_fails_comes_back_the_next_day_and_blank(workspace: Path) -> None:
    day = first_day(workspace)
    attn("review", "--on", day, folder=workspace)
    write(workspace, WRONG_SOFTMAX)
    run = attn("review", "softmax", "--on", day, folder=workspace)
    after = day + timedelta(1)
    assert run.code == 1 and "runs down the columns" in run.words
    assert f"It comes back on {after}." in run.words
    file = workspace / "review" / NAME / "softmax.py"
    file.write_text(file.read_text("utf-8").replace(WRONG_SOFTMAX, RIGHT_SOFTMAX), "utf-8")
    assert attn("review", "softmax", "--on", day, folder=workspace).code == 0
    assert known(workspace)["review_on"] == after.isoformat()
    attn("review", "--on", after, folder=workspace)
    assert "YOUR CODE HERE" in file.read_text(encoding="utf-8")


def test_the_inputs_are_others_and_the_own_definition_does_not_answer(workspace: Path) -> None:
    day = first_day(workspace)
    blank = attn("review", "softmax", "--on", day, folder=workspace)
    assert blank.code == 1 and "is not written yet" in blank.words
    assert known(workspace)["review_on"] == day.isoformat()
    (drawn,) = (workspace / ".attn" / "review").rglob("examples.json")
    mine, theirs = (
        json.loads(file.read_text("utf-8"))["examples"]
        for file in (workspace / NAME / "examples.json", drawn)
    )
    assert {each["step"] for each in theirs} == {"softmax"}
    assert theirs[0]["request"] != mine[0]["request"]
    (workspace / "review" / NAME / "softmax.py").write_text("x = 1\n", encoding="utf-8")
    assert attn("review", "softmax", "--on", day, folder=workspace).code == 1
