"""`attn show` draws what the code was called with, at the entry where the results differ most."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.learner_workspace import NAME, ROOT, WRONG_SOFTMAX, attn, start, stub_file, written


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return start(tmp_path / "work")


def put(workspace: Path, **bodies: str) -> None:
    file = stub_file(workspace)
    file.write_text(written(file.read_text(encoding="utf-8"), **bodies), encoding="utf-8")


def test_the_input_is_drawn_at_the_entry_that_the_results_are_drawn_at(workspace: Path) -> None:
    put(workspace, apply_mask="    masked = scaled_scores.copy()\n    return masked")
    run = attn("show", "apply_mask", folder=workspace, COLUMNS="80")
    result, _, given = run.out.partition("The input: ")
    assert "scaled_scores (B=4, S=3, S=3); causal_mask (S=3, S=3)." in given
    assert "shown: B[3] of 4" in result and "shown: B[3] of 4" in given
    yours = [line.split()[:4] for line in result.splitlines() if re.match("[012] ", line)]
    drawn = [line.split()[:4] for line in given.splitlines() if re.match("[012] ", line)]
    assert len(drawn) == 3 and drawn == yours  # the mistake returns its input


def test_an_annotation_that_was_changed_costs_the_names_of_axes_and_no_more(
    workspace: Path,
) -> None:
    put(workspace, softmax=WRONG_SOFTMAX)
    file = stub_file(workspace)
    text = file.read_text(encoding="utf-8")
    head = 'def softmax(scores: Float[np.ndarray, "B S S"])'
    assert head in text
    for other in ('def softmax(scores: Float[np.ndarray, "S D B"])', "def softmax(scores: 5 // 0)"):
        file.write_text(text.replace(head, other), encoding="utf-8")
        run = attn("show", "softmax", folder=workspace)
        assert run.code == 0 and run.err == "" and "Traceback" not in run.out


def test_a_layer_tells_its_weights_and_a_step_its_linear_layer(tmp_path: Path) -> None:
    workspace = start(tmp_path / "work", NAME, "torch_single_head")
    for name in (NAME, "torch_single_head"):
        text = (ROOT / "solutions" / name / "solution.py").read_text(encoding="utf-8")
        (workspace / name / f"{name}.py").write_text(text, encoding="utf-8")
    layer = attn("show", f"{NAME}.SingleHeadAttention", folder=workspace)
    assert "embedding_dimension = 3; rng = a generator with the seed" in layer.words
    assert "x (B=2, S=5, D=3)" in layer.words and "self.query_weights (3, 3)" in layer.words
    step = attn("show", "torch_single_head.project_output", folder=workspace)
    assert "Wo = a linear layer from" in step.words
