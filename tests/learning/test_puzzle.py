"""`attn hint --order` and the last rungs of `attn hint`, as a learner types them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from autograder.authoring.rungs import FILE, PuzzleLine, Rungs, read_rungs
from autograder.authoring.text_rules import reading
from autograder.learning import climbing
from autograder.learning import workspace as answer_key
from autograder.values.exercise import GENERATED
from support.learner_workspace import NAME, ROOT, start
from support.typed_commands import Run, typed


def rungs(step: str, exercise: str = NAME) -> Rungs:
    return read_rungs(ROOT / "solutions" / exercise / GENERATED / FILE)[step]


def numbers(of: Rungs, lines: Sequence[PuzzleLine]) -> list[str]:
    return [str(of.lines.index(line) + 1) for line in lines]


def sorted_as(workspace: Path, of: Rungs, lines: Sequence[PuzzleLine]) -> Run:
    """Try these lines of a step in this order."""
    return typed("hint", of.step, "--order", *numbers(of, lines), folder=workspace)


def test_the_right_lines_in_the_right_order_are_right(workspace: Path) -> None:
    softmax = rungs("softmax")
    shown = typed("hint", "softmax", "--order", folder=workspace)
    assert shown.code == 0 and all(line.text in shown.out for line in softmax.lines)
    run = sorted_as(workspace, softmax, softmax.true)
    assert run.code == 0 and "✓ Right" in run.out and "attn check softmax" in run.out
    commas = ",".join(numbers(softmax, softmax.true))
    assert typed("hint", "1", "--order", commas, folder=workspace).code == 0


def test_any_order_that_computes_the_same_is_right(workspace: Path) -> None:
    parts = rungs("project_qkv")
    queries, keys, *others = parts.true
    assert sorted_as(workspace, parts, [keys, queries, *others]).code == 0


def test_a_wrong_line_is_told_as_the_mistake_that_it_is(workspace: Path) -> None:
    scores = rungs("scale_scores")
    (line,) = (one for one in scores.wrong if one.mistake == "divided_by_the_dimension")
    run = sorted_as(workspace, scores, [line])
    assert run.code == 1 and run.err == ""
    assert "You divide by the embedding dimension itself" in run.words


def test_lines_too_few_too_many_or_in_a_wrong_order_are_told_in_words(workspace: Path) -> None:
    softmax = rungs("softmax")
    first, second, last = softmax.true
    (other,) = (line for line in softmax.wrong if line.place == 1)
    for lines, told in (
        ([first], r"You chose 1 line, and the step has 3\."),
        ([last, first, second], r"Line \d uses `\w+`, and only line \d sets it\."),
        ([first, other, second, last], "one line is not needed"),
    ):
        run = sorted_as(workspace, softmax, lines)
        assert run.code == 1 and re.search(told, run.words), run.words


def test_a_body_without_its_if_is_not_taken_for_the_solution_above_it(workspace: Path) -> None:
    layer = rungs("SingleHeadAttention")
    without = [line for line in layer.true if not line.text.startswith("if ")]
    run = sorted_as(workspace, layer, without)
    assert run.code == 1 and "Python cannot read this yet: IndentationError" in run.words


@pytest.mark.parametrize("order", [("0",), ("1", "9"), ("1", "1"), ("x",), (",",)])
def test_numbers_that_are_not_on_the_list_are_refused(
    workspace: Path, order: tuple[str, ...]
) -> None:
    run = typed("hint", "softmax", "--order", *order, folder=workspace)
    assert run.code == 2 and "use numbers from 1 to 6, each at most once" in run.err


@pytest.mark.parametrize(
    "exercise, step",
    [
        ("vit_multi_head", "project_qkv"),
        pytest.param("torch_multi_head", "CausalMultiHeadAttention", marks=pytest.mark.slow),
    ],
)
def test_it_works_in_the_exercises_with_torch(tmp_path: Path, exercise: str, step: str) -> None:
    workspace, asked = start(tmp_path / "work", exercise), rungs(step, exercise)
    right = sorted_as(workspace, asked, asked.true)
    assert right.code == 0, right
    assert sorted_as(workspace, asked, asked.with_wrong(asked.wrong[0])).code == 1


def test_without_solutions_there_are_none_and_it_is_said(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_key, "PACKAGE", workspace / "elsewhere" / "autograder")
    console = Console(record=True, width=200)
    for _ in range(4):
        climbing.next_hint(workspace, "softmax", console, print)
    assert not climbing.solve_puzzle(workspace, "softmax", (), console, print)
    said = console.export_text()
    assert "That was the last one." in said and "to sort" not in said.partition("last one")[0]
    assert "came without solutions, so there are no lines to sort." in said
    assert "came without solutions, so there are none to sort." in said
    assert not [line.text for line in rungs("softmax").lines if line.text in said]


def test_the_words_around_the_lines_are_easy_to_read(workspace: Path) -> None:
    for _ in range(3):
        typed("hint", "softmax", folder=workspace)
    said = [typed("hint", "softmax", folder=workspace).out.splitlines() for _ in range(2)]
    for lines in said:
        prose = [line for line in lines if not line.startswith(" ")]
        assert reading(" ".join(prose)).grade <= 9


@pytest.mark.parametrize("step", ["project_qkv", "SingleHeadAttention"])
def test_an_error_names_a_line_by_its_number_on_the_list(workspace: Path, step: str) -> None:
    found = rungs(step)
    first, *_, last = numbers(found, found.true)
    given = [first] * (len(found.parts) > 1)  # a layer needs its weights
    run = typed("hint", step, "--order", *given, last, folder=workspace)
    text = found.true[-1].text.strip()
    assert run.code == 1 and f"Line {last}, `{text}`, raises `NameError" in run.words, run.out


def test_an_indented_line_out_of_its_place_is_quoted_and_no_line_of_a_file(
    workspace: Path,
) -> None:
    found = rungs("SingleHeadAttention")
    lost = next(line for line in found.true if line.text.startswith("    "))
    (number,) = numbers(found, [lost])
    run = sorted_as(workspace, found, [lost])
    assert run.code == 1 and f"line {number}: `{lost.text.strip()}`" in run.words, run.out
