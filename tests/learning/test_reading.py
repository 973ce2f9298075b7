"""`attn read` and the keys t and a of `attn watch`: the lesson where a learner is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autograder.learning.once import answer_lines, plain
from autograder.learning.step_lesson import lesson_of
from autograder.values.exercise import Exercise, read_exercise
from support.learner_workspace import NAME, RIGHT_SOFTMAX, ROOT, put
from support.typed_commands import typed

EXERCISES = [read_exercise(path.parent) for path in (ROOT / "assignments").glob("*/exercise.toml")]


def test_a_lesson_is_read_with_its_questions_and_the_answers_only_when_asked_for(
    workspace: Path,
) -> None:
    run = typed("read", "softmax", folder=workspace)
    assert run.code == 0 and run.err == ""
    assert "1. Softmax" in run.out and "less the largest  -3.46" in run.out
    assert "softmax(s)_j = e^s_j/∑_k e^s_k" in run.out and "$" not in run.out
    assert "You are here: softmax" in run.words and "base64" not in run.out
    assert "You add 5 to every score of a row" in run.words
    assert "The factor cancels out" not in run.words and "All scores of a row" not in run.words
    assert "attn read softmax --answers" in run.out
    whole = typed("read", "1", "--answers", folder=workspace).words
    assert "The factor cancels out" in whole and "All scores of a row are equal" in whole


def test_what_to_try_is_read_without_the_answers_and_the_question_after_the_check_is_not(
    workspace: Path,
) -> None:
    said = typed("read", "scale_scores", folder=workspace).words
    assert "Try another choice. How much" in said and "Five words have random" in said
    assert "How much does the best word get?" in said and "nobody else is heard" not in said
    assert "What would the shares of “it” be without scaling" not in said
    assert "Look at your own weights" in typed("read", "2", folder=workspace).words
    whole = typed("read", "scale_scores", "--answers", folder=workspace).words
    assert "nobody else is heard" in whole and "be without scaling" in whole


def test_without_a_name_it_is_the_step_that_is_open(workspace: Path) -> None:
    put(workspace, softmax=RIGHT_SOFTMAX)
    passed = typed("check", "softmax", folder=workspace)
    assert passed.code == 0 and "Now guess: All scores of a row are equal" in passed.words
    assert passed.words.index("Your row of “it”, as in the text:") < passed.words.index("Now guess")
    assert "attn read softmax --answers\n    the answer\nContinue with:" in passed.out
    said = typed("read", folder=workspace).words
    assert "2. Weight initialization" in said and "How wide do dot products" not in said
    assert "All scores of a row are equal" not in said, "that belongs to the step before"


@pytest.mark.parametrize("damage", ["", "{}", '{"cells": [{"cell_type": 3}]}', "[]"])
def test_where_the_notebook_is_damaged_the_kit_s_own_is_read(workspace: Path, damage: str) -> None:
    (workspace / NAME / f"{NAME}.ipynb").write_text(damage, encoding="utf-8")
    assert "1. Softmax" in typed("read", "softmax", folder=workspace).out
    (workspace / NAME / f"{NAME}.ipynb").unlink()
    assert "1. Softmax" in typed("read", "softmax", folder=workspace).out


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda each: each.name)
def test_every_step_of_every_exercise_has_a_lesson_that_a_terminal_can_show(
    exercise: Exercise,
) -> None:
    for step in exercise.steps:
        lesson = lesson_of(exercise, step.name)
        text = plain(f"{lesson.above}\n\n{lesson.below}")
        assert re.match(r"#+ ", text), step.name
        code = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
        assert not re.search(r"\\[a-z]{2,}|<\w+>|base64", code), (step.name, code)
        assert answer_lines(lesson)
