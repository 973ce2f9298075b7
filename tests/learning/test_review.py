"""`attn review`: steps that passed come back blank, on other inputs, after 1, 7 and 30 days."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from autograder.errors import KitError
from autograder.judging.examples import facts_in
from autograder.learning import reviewing
from autograder.learning import workspace as answer_key
from autograder.learning.reviewing import ReviewFile
from autograder.learning.workspace import find_workspace
from autograder.values.exercise import EXAMPLES
from support.learner_workspace import (
    NAME,
    RIGHT_SOFTMAX,
    WRONG_SOFTMAX,
    noted_steps,
    progress_file,
    put,
    solve,
    start,
    stub_file,
    written,
)
from support.typed_commands import typed


@pytest.fixture
def workspace(workspace: Path) -> Path:
    """A workspace in which softmax has passed."""
    put(workspace, softmax=RIGHT_SOFTMAX)
    assert typed("check", "softmax", folder=workspace).code == 0
    return workspace


def known(workspace: Path) -> dict[str, Any]:
    return noted_steps(workspace)["softmax"]


def write(workspace: Path, body: str, before: str = "") -> None:
    file = workspace / "review" / NAME / "softmax.py"
    text = file.read_text(encoding="utf-8")
    changed = text.replace(before, body) if before else written(text, softmax=body)
    file.write_text(changed, encoding="utf-8")


def first_day(workspace: Path) -> date:
    return date.fromisoformat(known(workspace)["review_on"])


def test_a_step_that_passes_comes_back_after_1_7_and_30_days(workspace: Path) -> None:
    day = first_day(workspace)
    assert day - date.today() in (timedelta(0), timedelta(1))  # midnight may have passed
    early = typed("review", "softmax", "--on", day - timedelta(1), folder=workspace)
    assert early.code == 1 and f"It comes back on {day}." in early.words
    mine = stub_file(workspace).read_bytes()
    for days in (7, 30):
        assert "review/" in typed("review", "--on", day, folder=workspace).out
        write(workspace, RIGHT_SOFTMAX)
        run = typed("review", "softmax", "--on", day, folder=workspace)
        day += timedelta(days)
        assert run.code == 0 and f"It comes back on {day}." in run.words, run
    typed("review", "--on", day, folder=workspace)
    write(workspace, RIGHT_SOFTMAX)
    last = typed("review", "softmax", "--on", day, folder=workspace)
    assert last.code == 0 and "the last of 3 reviews" in last.words
    assert stub_file(workspace).read_bytes() == mine
    assert len(list((workspace / ".attn" / "kept").glob("review-*"))) == 3


def test_a_review_that_fails_comes_back_the_next_day_and_blank(workspace: Path) -> None:
    day = first_day(workspace)
    typed("review", "--on", day, folder=workspace)
    write(workspace, WRONG_SOFTMAX)
    run = typed("review", "softmax", "--on", day, folder=workspace)
    after = day + timedelta(1)
    assert run.code == 1 and "runs down the columns" in run.words
    assert f"It comes back on {after}." in run.words
    write(workspace, RIGHT_SOFTMAX, before=WRONG_SOFTMAX)
    assert typed("review", "softmax", "--on", day, folder=workspace).code == 0
    assert known(workspace)["review_on"] == after.isoformat()
    typed("review", "--on", after, folder=workspace)
    again = workspace / "review" / NAME / "softmax.py"
    assert "YOUR CODE HERE" in again.read_text(encoding="utf-8")


def test_the_inputs_are_others_and_the_own_definition_does_not_answer(workspace: Path) -> None:
    day = first_day(workspace)
    blank = typed("review", "softmax", "--on", day, folder=workspace)
    assert blank.code == 1 and "is not written yet" in blank.words
    assert known(workspace)["review_on"] == day.isoformat()
    (drawn,) = (workspace / ".attn" / "review").rglob(EXAMPLES)
    mine, theirs = (
        facts_in(file.read_bytes())["examples"] for file in (workspace / NAME / EXAMPLES, drawn)
    )
    assert {each["step"] for each in theirs} == {"softmax"}
    assert theirs[0]["request"]["arguments"] is not None
    drawn_numbers, numbers = (each[0]["request"]["arguments"][0] for each in (theirs, mine))
    assert not np.array_equal(drawn_numbers, numbers)
    (workspace / "review" / NAME / "softmax.py").write_text("x = 1\n", encoding="utf-8")
    assert typed("review", "softmax", "--on", day, folder=workspace).code == 1


def backdated(workspace: Path, exercise: str, *steps: str) -> None:
    """Note that these steps passed some time ago, so that they are to be reviewed today."""
    file = progress_file(workspace)
    facts = json.loads(file.read_text(encoding="utf-8"))
    known = facts.setdefault("exercises", {}).setdefault(exercise, {})
    for step in steps:
        known[step] = {"passed": True, "review_on": "2026-01-02"}
    file.write_text(json.dumps(facts), encoding="utf-8")


def test_on_a_day_with_several_steps_there_is_one_command_for_them(workspace: Path) -> None:
    backdated(workspace, NAME, "softmax", "project_qkv", "scale_scores")
    words = "3 steps are to be reviewed today: softmax, project_qkv, scale_scores."
    for command in ((), ("list",)):
        out = typed(*command, folder=workspace).words
        assert words in out and "attn review brings them back, blank" in out
    listed = typed("review", folder=workspace)
    assert listed.out.count("attn review") == 1 and "named in the same way" in listed.words
    files = {path.name for path in (workspace / "review" / NAME).iterdir()}
    assert files == {"softmax.py", "project_qkv.py", "scale_scores.py"}


def test_where_one_step_or_none_is_to_be_reviewed_it_is_said_so(workspace: Path) -> None:
    for command in ((), ("list",)):
        assert "review" not in typed(*command, folder=workspace).out
    backdated(workspace, NAME, "softmax")
    for command in ((), ("list",)):
        out = typed(*command, folder=workspace).words
        assert "1 step is to be reviewed today: softmax." in out
        assert "attn review brings it back, blank" in out


@pytest.mark.parametrize("day", ["tomorrow", "24.11.2026", "2026-13-01"])
def test_a_day_that_is_none_is_told_with_an_example(workspace: Path, day: str) -> None:
    run = typed("review", "--on", day, folder=workspace)
    assert run.code == 2 and f"{day!r} is not a day" in run.err
    assert "2026-11-24" in run.err and "%" not in run.err


def test_without_solutions_a_review_asks_the_worked_examples_and_says_so(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_key, "PACKAGE", workspace / "elsewhere" / "autograder")
    day, console = first_day(workspace), Console(record=True, width=200)
    reviewing.list_reviews(workspace, day, console, print)
    write(workspace, WRONG_SOFTMAX)
    assert not reviewing.review_step(workspace, "softmax", day, console, print)
    assert "runs down the columns" in console.export_text(clear=False)
    write(workspace, RIGHT_SOFTMAX, before=WRONG_SOFTMAX)
    assert reviewing.review_step(workspace, "softmax", day, console, print)
    said = console.export_text()
    assert said.count("so the inputs are those of the worked examples.") == 2
    assert not list((workspace / ".attn" / "review").rglob(EXAMPLES))


def test_a_step_in_torch_is_reviewed_on_other_inputs(tmp_path: Path) -> None:
    name, step, wrong = "torch_single_head", "scale_scores", "    return attention_scores / 2"
    workspace = start(tmp_path / "work", name)
    solve(workspace, name)
    backdated(workspace, name, step)
    assert f"review/{name}/{step}.py" in typed("review", folder=workspace).out
    file = workspace / "review" / name / f"{step}.py"
    blank = file.read_text(encoding="utf-8")
    file.write_text(written(blank, **{step: wrong}), encoding="utf-8")
    assert typed("review", f"{name}.{step}", folder=workspace).code == 1
    right = "    return attention_scores / attention_scores.new_tensor(head_dim) ** 0.5"
    file.write_text(written(blank, **{step: right}), encoding="utf-8")
    run = typed("review", f"{name}.{step}", folder=workspace)
    assert run.code == 0 and "It comes back on" in run.words, run.out
    assert "worked examples" not in run.words


@pytest.fixture
def review(tmp_path: Path) -> ReviewFile:
    """The file of softmax, which is not there yet."""
    there = find_workspace(start(tmp_path / "work"))
    (exercise,) = there.exercises
    return ReviewFile(there, exercise, exercise.step("softmax"))


def test_a_file_that_is_put_away_takes_the_place_of_none(review: ReviewFile) -> None:
    kept, today = [], date(2026, 11, 28)
    for text in ("first", "second", "third"):
        review.make(today)
        review.path.write_text(text, encoding="utf-8")
        kept.append(review.put_away(today))
    assert [path.read_text("utf-8") for path in kept if path] == ["first", "second", "third"]
    assert not review.path.exists() and review.put_away(today) is None


def test_a_review_that_is_begun_anew_keeps_what_was_written(review: ReviewFile) -> None:
    today = date(2026, 11, 28)
    review.make(today)
    review.path.write_text("half of it", encoding="utf-8")
    review.make(today + timedelta(1))
    (kept,) = (review.workspace.root / ".attn" / "kept").iterdir()
    assert kept.read_text(encoding="utf-8") == "half of it"
    assert "YOUR CODE HERE" in review.text()


def test_the_lines_of_the_own_work_keep_their_numbers_beside_a_review(review: ReviewFile) -> None:
    review.make(date(2026, 11, 28))
    own = ("import numpy as np\n\ndef softmax(scores):\n    return scores\n\nscale = 1 / 0\n",)
    without, last = review.cells(own)
    assert without.splitlines() == ["import numpy as np", "", "", "", "", "scale = 1 / 0"]
    assert last == review.text()


def test_a_review_that_cannot_be_read_is_told_with_a_cure(review: ReviewFile) -> None:
    review.make(date(2026, 11, 28))
    review.path.write_bytes("# größer\n".encode("utf-16"))
    with pytest.raises(KitError, match="cannot be read") as caught:
        review.text()
    assert "attn review softmax" in caught.value.cure and caught.value.place == str(review.path)
