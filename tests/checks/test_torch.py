"""The PyTorch exercises: their classes of all kinds, and the references against other oracles."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from autograder.checks.reference import load_module
from autograder.grading.classroom import grade_class
from autograder.model.exercise import read_exercise
from autograder.model.verdict import Outcome, Verdict
from autograder.submission.reading import Submission, read_submission
from demo.sample_class import SampleStudent, hand_in, read_sample_class

ROOT = Path(__file__).resolve().parents[2]
ALL = ("numpy_single_head", "torch_single_head", "torch_multi_head", "vit_multi_head")
TORCH = ALL[1:]
REGION = re.compile(r"^( *)### BEGIN SOLUTION\n.*?### END SOLUTION\n", re.MULTILINE | re.DOTALL)


def solution(name: str) -> str:
    return (ROOT / "solutions" / name / "solution.py").read_text(encoding="utf-8")


def module(name: str):
    return load_module(ROOT / "solutions" / name / "solution.py", "oracle")


@pytest.fixture(scope="module", params=TORCH)
def graded(request, tmp_path_factory) -> list[tuple[SampleStudent, Verdict]]:
    exercise = read_exercise(ROOT / "solutions" / request.param)
    folder = tmp_path_factory.mktemp(request.param)
    zoo = read_sample_class(ROOT / "tests" / "submissions" / request.param)
    for classmate in zoo:
        hand_in(classmate, exercise, ROOT / "assignments" / request.param, folder / classmate.name)
    handed_in = [read_submission(folder / one.name, exercise, one.name) for one in zoo]
    return list(zip(zoo, grade_class(exercise, handed_in)))


def of_kind(
    graded: list[tuple[SampleStudent, Verdict]], kind: str
) -> list[tuple[SampleStudent, Verdict]]:
    found = [(one, verdict) for one, verdict in graded if one.facts["kind"] == kind]
    assert found, f"nobody in the class is of the kind {kind}"
    return found


def lost(verdict: Verdict, bonus: str = "") -> list[str]:
    """The steps that are not right; of those worth no points only the one that is asked for."""
    return [
        step.name
        for step in verdict.steps
        if step.outcome is not Outcome.PASSED and (step.max_points or step.name == bonus)
    ]


def test_every_right_answer_gets_full_marks(graded) -> None:
    for classmate, verdict in of_kind(graded, "correct"):
        assert verdict.points == verdict.max_points, (classmate.name, lost(verdict))


def test_the_class_as_the_seed_prints_it_gets_its_marks(graded) -> None:
    for classmate, verdict in of_kind(graded, "class only"):
        right = {step.name for step in verdict.steps if step.outcome is Outcome.PASSED}
        (written,) = set(classmate.changes) & {step.name for step in verdict.steps}
        assert written in right


def test_who_hands_in_the_stub_gets_nothing(graded) -> None:
    assert {verdict.points for _, verdict in of_kind(graded, "untouched")} == {0.0}


def test_every_mistake_costs_its_own_step_and_is_named(graded) -> None:
    for classmate, verdict in of_kind(graded, "mistake"):
        loses = classmate.facts["loses"]
        assert lost(verdict, bonus=loses) == [loses], classmate.name
        (step,) = [step for step in verdict.steps if step.name == loses]
        assert step.finding and step.finding.misconception == classmate.facts["named"]


def test_the_hostile_end_as_declared_and_lose_only_their_step(graded) -> None:
    for classmate, verdict in of_kind(graded, "hostile"):
        assert lost(verdict) == [classmate.facts["loses"]], classmate.name
        (step,) = [step for step in verdict.steps if step.name == classmate.facts["loses"]]
        assert step.outcome == classmate.facts["outcome"]


@pytest.mark.parametrize("name", ALL)
def test_a_step_that_is_not_written_fails_itself_and_the_chain_and_nothing_else(name: str) -> None:
    exercise = read_exercise(ROOT / "solutions" / name)
    functions = [
        step.name for step in exercise.steps if f"\nclass {step.name}" not in solution(name)
    ]
    handed_in = [
        Submission(step, name, (without(solution(name), step),), Path(f"{step}.py"))
        for step in functions
    ]
    for verdict in grade_class(exercise, handed_in):
        failed = [step.name for step in verdict.steps if step.outcome is not Outcome.PASSED]
        assert failed == [verdict.student]
        assert verdict.chain.outcome is not Outcome.PASSED, verdict.student


def without(text: str, step: str) -> str:
    """The solution with one function raising NotImplementedError."""
    start = text.index(f"def {step}(")
    region = REGION.search(text, start)
    assert region
    return f"{text[: region.start()]}{region[1]}raise NotImplementedError\n{text[region.end() :]}"


def test_the_library_attention_is_remarked_on_and_costs_nothing(tmp_path: Path) -> None:
    name = "torch_single_head"
    exercise = read_exercise(ROOT / "solutions" / name)
    (mate,) = [
        one
        for one in read_sample_class(ROOT / "tests" / "submissions" / name)
        if one.name == "correct_library_attention"
    ]
    hand_in(mate, exercise, ROOT / "assignments" / name, tmp_path)
    (verdict,) = grade_class(exercise, [read_submission(tmp_path, exercise, "ada")])
    assert verdict.points == verdict.max_points
    assert any("PyTorch's own attention" in remark for remark in verdict.remarks)


def test_a_single_head_is_the_library_attention() -> None:
    torch.manual_seed(11)
    layer = module("torch_single_head").SingleHeadAttention(12)
    x = torch.randn(2, 5, 12)
    queries, keys, values = layer.Wqkv(x).chunk(3, dim=-1)
    expected = layer.Wo(nn.functional.scaled_dot_product_attention(queries, keys, values))
    torch.testing.assert_close(layer(x), expected)


def library_layer(hidden: int, heads: int, weight, bias, out: nn.Linear) -> nn.MultiheadAttention:
    """PyTorch's own layer with the weights carried over."""
    own = nn.MultiheadAttention(hidden, heads, batch_first=True)
    with torch.no_grad():
        own.in_proj_weight.copy_(weight)
        own.in_proj_bias.copy_(bias)
        own.out_proj.weight.copy_(out.weight)
        own.out_proj.bias.copy_(out.bias)
    return own


def test_several_heads_are_the_library_layer() -> None:
    torch.manual_seed(12)
    layer = module("torch_multi_head").MultiHeadAttention(24, 4)
    x = torch.randn(2, 5, 24)
    own = library_layer(24, 4, layer.Wqkv.weight, layer.Wqkv.bias, layer.Wo)
    torch.testing.assert_close(layer(x), own(x, x, x, need_weights=False)[0])


def test_the_causal_layer_is_the_library_layer_with_a_causal_mask() -> None:
    torch.manual_seed(13)
    layer = module("torch_multi_head").CausalMultiHeadAttention(24, 4)
    x = torch.randn(2, 5, 24)
    own = library_layer(24, 4, layer.Wqkv.weight, layer.Wqkv.bias, layer.Wo)
    hidden = torch.ones(5, 5, dtype=torch.bool).triu(1)
    expected = own(x, x, x, attn_mask=hidden, need_weights=False)[0]
    torch.testing.assert_close(layer(x, causal=True), expected)


def test_the_layer_of_the_vision_transformer_is_the_library_layer() -> None:
    torch.manual_seed(14)
    layer = module("vit_multi_head").MultiHeadSelfAttention(12, 3)
    x = torch.randn(2, 5, 12)
    three = (layer.q_linear, layer.k_linear, layer.v_linear)
    weight = torch.cat([one.weight for one in three])
    bias = torch.cat([one.bias for one in three])
    own = library_layer(12, 3, weight, bias, layer.out_linear)
    torch.testing.assert_close(layer(x), own(x, x, x, need_weights=False)[0])


def test_numpy_and_the_library_agree_on_the_same_weights() -> None:
    layer = module("numpy_single_head").SingleHeadAttention(8, np.random.default_rng(15))
    x = np.random.default_rng(16).standard_normal((2, 5, 8))
    for causal in (False, True):
        queries, keys, values = (
            torch.from_numpy(x @ weights)
            for weights in (layer.query_weights, layer.key_weights, layer.value_weights)
        )
        gathered = nn.functional.scaled_dot_product_attention(
            queries, keys, values, is_causal=causal
        )
        expected = gathered.numpy() @ layer.output_weights
        np.testing.assert_allclose(layer.forward(x, causal=causal), expected, atol=1e-12)


def test_a_student_of_the_numpy_exercise_needs_no_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('there is no torch here')\n")
    folder = tmp_path / "work"
    exercise = read_exercise(ROOT / "solutions" / "numpy_single_head")
    (mate,) = [
        one
        for one in read_sample_class(ROOT / "tests" / "submissions" / "numpy_single_head")
        if one.name == "correct_einsum"
    ]
    assignment = ROOT / "assignments" / "numpy_single_head"
    hand_in(mate, exercise, assignment, folder)
    for name in ("exercise.toml", "examples.json"):
        (folder / name).write_bytes((assignment / name).read_bytes())
    done = subprocess.run(
        [sys.executable, "-m", "autograder.cli", "check"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✓ SingleHeadAttention" in done.stdout
