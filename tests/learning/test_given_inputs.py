"""`attn show` draws what the code was called with, at the entry where the results differ most."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import indent

import numpy as np
import pytest

from autograder.learning.step_pictures import GivenInput, _input_panel
from support.learner_workspace import NAME, WRONG_SOFTMAX, put, solve, start, stub_file
from support.typed_commands import typed

MASKED = "np.where(causal_mask == 1, scaled_scores, -1e9)"


def test_the_input_is_drawn_at_the_entry_that_the_results_are_drawn_at(workspace: Path) -> None:
    put(
        workspace,
        apply_mask=f"    return {MASKED} if len(scaled_scores) == 1 else scaled_scores",
    )
    run = typed("show", "apply_mask", folder=workspace, COLUMNS="80")
    result, _, given = run.out.partition("The input: ")
    assert "scaled_scores (B=4, S=3, S=3); causal_mask (S=3, S=3)." in given
    assert "shown: B[3] of 4" in result and "shown: B[3] of 4" in given
    yours = [line.split()[:4] for line in result.splitlines() if re.match("[012] ", line)]
    drawn = [line.split()[:4] for line in given.splitlines() if re.match("[012] ", line)]
    assert len(drawn) == 3 and drawn == yours  # the mistake returns its input


# With one sequence, as in the text, it is right.
WRONG = "np.exp(scores) / np.exp(scores).sum(1 if len(scores) > 1 else 2, keepdims=True)"
PLAIN = {  # the same code without the annotations that were handed out
    "no annotations": f"def softmax(scores):\n    return {WRONG}",
    "a lambda": f"softmax = lambda scores: {WRONG}",
    "any number": f"def softmax(*all):\n    (scores,) = all\n    return {WRONG}",
    "an object": "class Rows:\n    def __call__(self, scores):\n"
    f"        return {WRONG}\n\n\nsoftmax = Rows()",
    "another annotation": f'def softmax(scores: Float[np.ndarray, "S D B"]):\n    return {WRONG}',
    "no Python in quotes": f"def softmax(scores: '5 //'):\n    return {WRONG}",
}


@pytest.mark.parametrize("code", PLAIN.values(), ids=PLAIN)
def test_the_axes_are_those_of_the_exercise_whatever_the_learner_writes(
    workspace: Path, code: str
) -> None:
    file = stub_file(workspace)
    before, _, after = file.read_text(encoding="utf-8").partition("def softmax")
    _, mark, rest = after.partition("# %%")
    file.write_text(f"{before}{code}\n\n\n{mark}{rest}", encoding="utf-8")
    run = typed("show", "softmax", folder=workspace, COLUMNS="80")
    result, _, given = run.out.partition("The input: ")
    name = "all" if "*all" in code else "scores"
    assert f"{name} (B=4, S=3, S=3)." in given, run.out
    (entry,) = set(re.findall(r"shown: (B\[\d\] of 4)", result))
    assert f"shown: {entry}" in given
    yours, drawn = (
        np.array([line.split()[1:4] for line in text.splitlines() if re.match("[012] ", line)])
        for text in (result, given)
    )
    powers = np.exp(drawn.astype(float))
    assert np.abs(powers / powers.sum(0) - yours.astype(float)).max() < 0.02  # as drawn, rounded


def test_without_names_the_input_is_drawn_at_the_entry_of_the_result() -> None:
    numbers = np.arange(36.0).reshape(4, 3, 3)
    given = GivenInput("scores", None, "scores (4, 3, 3)", numbers)
    drawn = _input_panel(given, {"B": 2}, None)
    assert drawn.notes == ("shown: axis 0[2] of 4",) and (drawn.values == numbers[2]).all()


def test_a_result_of_another_shape_keeps_the_names_of_its_axes(workspace: Path) -> None:
    wrong = "    if len(scores) > 1:\n        return scores[:2]\n"
    put(workspace, softmax=wrong + indent(f"return {WRONG}", "    "))
    assert "shown: B[0] of 2" in typed("show", "softmax", folder=workspace, COLUMNS="80").out


def test_an_annotation_that_was_changed_stops_nothing(workspace: Path) -> None:
    file = put(workspace, softmax=WRONG_SOFTMAX)
    text = file.read_text(encoding="utf-8")
    head = 'def softmax(scores: Float[np.ndarray, "B S S"])'
    assert head in text
    for other in ('def softmax(scores: Float[np.ndarray, "S D B"])', "def softmax(scores: 5 // 0)"):
        file.write_text(text.replace(head, other), encoding="utf-8")
        run = typed("show", "softmax", folder=workspace)
        assert run.code == 0 and run.err == "" and "Traceback" not in run.out


def test_a_layer_tells_its_weights_and_a_step_its_linear_layer(tmp_path: Path) -> None:
    workspace = start(tmp_path / "work", NAME, "torch_single_head")
    for name in (NAME, "torch_single_head"):
        solve(workspace, name)
    layer = typed("show", f"{NAME}.SingleHeadAttention", folder=workspace)
    assert "embedding_dimension = 3; rng = a generator with the seed" in layer.words
    assert "x (B=1, S=7, D=3)" in layer.words and "self.query_weights (3, 3)" in layer.words
    step = typed("show", "torch_single_head.project_output", folder=workspace)
    assert "Wo = a linear layer from" in step.words
