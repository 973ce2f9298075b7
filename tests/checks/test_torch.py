"""The PyTorch exercises: their classes of all kinds, and the references against other oracles."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from torch import nn

from autograder.authoring.harness import read_harness
from autograder.checks.reference import load_module
from autograder.grading.batch import grade_batch
from autograder.submission.reading import read_submission
from autograder.values.exercise import read_exercise
from autograder.values.verdict import Outcome, Verdict
from checks.counted_forks import counted_forks
from demo.sample_class import SampleStudent, hand_in, read_sample_class
from support.graded_texts import graded as graded_texts
from support.graded_texts import solution, step_of
from support.learner_workspace import ROOT

ALL = ("numpy_single_head", "torch_single_head", "torch_multi_head", "vit_multi_head")
TORCH = ALL[1:]
SLOW = pytest.mark.slow
# One of each kind that ends by itself, of the exercise with all kinds of step.
FEW = (
    *("correct_fused_attention", "correct_compact_class", "untouched_script"),
    *("mistake_weights_detached", "hostile_exit"),
)
# Right answers that call `scaled_dot_product_attention`.
USE_THE_LIBRARY = ("correct_library_attention", "correct_fused_attention")
Graded = list[tuple[SampleStudent, Verdict]]
REGION = re.compile(r"^( *)### BEGIN SOLUTION\n.*?### END SOLUTION\n", re.MULTILINE | re.DOTALL)


def module(name: str) -> ModuleType:
    return load_module(ROOT / "solutions" / name / "solution.py", "oracle")


def sample_class(name: str) -> tuple[SampleStudent, ...]:
    return read_sample_class(ROOT / "tests" / "sample_class" / name)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("torch_multi_head", True), id="few"),
        *(pytest.param((name, False), id=name, marks=SLOW) for name in TORCH),
    ],
)
def graded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Graded:
    """A few of one class, or all others of a class, graded here."""
    name, few = request.param
    exercise = read_exercise(ROOT / "solutions" / name)
    folder = tmp_path_factory.mktemp(name)
    fast = FEW if name == "torch_multi_head" else ()
    part = [one for one in sample_class(name) if (one.name in fast) == few]
    for classmate in part:
        hand_in(classmate, exercise, ROOT / "assignments" / name, folder / classmate.name)
    handed_in = [read_submission(folder / one.name, exercise, one.name) for one in part]
    return list(zip(part, grade_batch(exercise.folder, handed_in)))


def of_kind(graded: Graded, kind: str) -> Graded:
    return [(one, verdict) for one, verdict in graded if one.facts["kind"] == kind]


@pytest.mark.parametrize("name", TORCH)
def test_the_class_has_all_kinds_and_those_graded_at_once_have_too(name: str) -> None:
    kinds = {"correct", "class only", "untouched", "mistake", "hostile"}
    assert kinds <= {one.facts["kind"] for one in sample_class(name)}
    few = [one for one in sample_class("torch_multi_head") if one.name in FEW]
    assert {one.facts["kind"] for one in few} == kinds


def lost(verdict: Verdict, bonus: str = "") -> list[str]:
    """The steps that are not right; of those worth no points only the one that is asked for."""
    return [
        step.name
        for step in verdict.steps
        if step.outcome is not Outcome.PASSED and (step.max_points or step.name == bonus)
    ]


def test_every_right_answer_gets_full_marks(graded: Graded) -> None:
    for classmate, verdict in of_kind(graded, "correct"):
        assert verdict.points == verdict.max_points, (classmate.name, lost(verdict))


def test_the_class_as_the_seed_prints_it_gets_its_marks(graded: Graded) -> None:
    for classmate, verdict in of_kind(graded, "class only"):
        right = {step.name for step in verdict.steps if step.outcome is Outcome.PASSED}
        (written,) = set(classmate.changes) & {step.name for step in verdict.steps}
        assert written in right


def test_who_hands_in_the_stub_gets_nothing(graded: Graded) -> None:
    assert all(verdict.points == 0.0 for _, verdict in of_kind(graded, "untouched"))


def test_every_mistake_costs_its_own_step_and_is_named(graded: Graded) -> None:
    for classmate, verdict in of_kind(graded, "mistake"):
        loses = classmate.facts["loses"]
        assert lost(verdict, bonus=loses) == [loses], classmate.name
        step = step_of(verdict, loses)
        assert step.finding and step.finding.misconception == classmate.facts.get("named")


def test_the_hostile_end_as_declared_and_lose_only_their_step(graded: Graded) -> None:
    for classmate, verdict in of_kind(graded, "hostile"):
        assert lost(verdict) == [classmate.facts["loses"]], classmate.name
        assert step_of(verdict, classmate.facts["loses"]).outcome == classmate.facts["outcome"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_a_step_that_is_not_written_fails_itself_and_the_chain_and_nothing_else(name: str) -> None:
    exercise = read_exercise(ROOT / "solutions" / name)
    functions = [
        step.name for step in exercise.steps if f"\nclass {step.name}" not in solution(name)
    ]
    verdicts = graded_texts(name, *(without(solution(name), step) for step in functions))
    for left_out, verdict in zip(functions, verdicts):
        failed = [step.name for step in verdict.steps if step.outcome is not Outcome.PASSED]
        assert failed == [left_out]
        assert verdict.chain.outcome is not Outcome.PASSED, left_out


def without(text: str, step: str) -> str:
    """The solution with one function raising NotImplementedError."""
    start = text.index(f"def {step}(")
    region = REGION.search(text, start)
    assert region
    return f"{text[: region.start()]}{region[1]}raise NotImplementedError\n{text[region.end() :]}"


def test_the_library_attention_is_remarked_on_and_costs_nothing(graded: Graded) -> None:
    for classmate, verdict in of_kind(graded, "correct"):
        remarked = any("PyTorch's own attention" in remark for remark in verdict.remarks)
        if classmate.name in USE_THE_LIBRARY:
            assert remarked and verdict.points == verdict.max_points, classmate.name
        elif not classmate.notebook:  # a notebook may call it beside the layer, to compare
            assert not remarked, classmate.name


def test_a_single_head_is_the_library_attention() -> None:
    torch.manual_seed(11)
    layer = module("torch_single_head").SingleHeadAttention(12)
    x = torch.randn(2, 5, 12)
    queries, keys, values = layer.Wqkv(x).chunk(3, dim=-1)
    expected = layer.Wo(nn.functional.scaled_dot_product_attention(queries, keys, values))
    torch.testing.assert_close(layer(x), expected)


@pytest.mark.parametrize(
    ("name", "kind", "given"),
    [
        ("torch_multi_head", "MultiHeadAttention", {}),
        ("torch_multi_head", "CausalMultiHeadAttention", {"causal": True}),
        ("vit_multi_head", "MultiHeadSelfAttention", {}),
    ],
)
def test_several_heads_are_the_library_layer(name: str, kind: str, given: dict[str, bool]) -> None:
    torch.manual_seed(12)
    layer = getattr(module(name), kind)(24, 4)
    *projections, out = [each for each in layer.children() if isinstance(each, nn.Linear)]
    own = nn.MultiheadAttention(24, 4, batch_first=True)
    with torch.no_grad():
        own.in_proj_weight.copy_(torch.cat([each.weight for each in projections]))
        own.in_proj_bias.copy_(torch.cat([each.bias for each in projections]))
        own.out_proj.load_state_dict(out.state_dict())
    x = torch.randn(2, 5, 24)
    hidden = torch.ones(5, 5, dtype=torch.bool).triu(1) if given else None
    expected = own(x, x, x, attn_mask=hidden, need_weights=False)[0]
    torch.testing.assert_close(layer(x, **given), expected)


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
        for one in read_sample_class(ROOT / "tests" / "sample_class" / "numpy_single_head")
        if one.name == "correct_einsum"
    ]
    assignment = ROOT / "assignments" / "numpy_single_head"
    hand_in(mate, exercise, assignment, folder)
    for name in ("exercise.toml", "examples.xz"):
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


@pytest.mark.parametrize("name", [pytest.param(each, marks=SLOW) for each in TORCH])
def test_rounding_in_half_precision_stays_far_below_the_tolerance(name: str) -> None:
    """Once in 1,500 draws, a right layer was refused; so the tolerance is judged by its margin."""
    harness = read_harness(ROOT / "solutions" / name)
    checks = [check for check in harness.checks if "test_layer_in_" in check.name]
    assert checks
    for seed in range(300):
        drawn = harness.drawn_from(seed)
        for check in checks:
            assert drawn.run(check).margin < 0.5, (check.name, seed)


# --- two layers after a wrong step ---------------------------------------------------------------

NOT_SCALED = "\ndef scale_scores(attention_scores, head_dim): return attention_scores\n"
CALLS_ITS_CLASS = """
causal_forward = CausalMultiHeadAttention.forward

class CausalMultiHeadAttention(MultiHeadAttention):
    def forward(self, x, causal=False):
        return causal_forward(self, x, True) if causal else MultiHeadAttention.forward(self, x)
"""


@pytest.mark.parametrize(
    "added",
    ["", pytest.param(CALLS_ITS_CLASS, marks=SLOW)],
    ids=["plain", "calls its class by name"],
)
def test_two_right_layers_lean_after_one_wrong_step_in_one_worker(
    added: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forks = counted_forks(monkeypatch)
    text = solution("torch_multi_head") + NOT_SCALED + added
    (verdict,) = graded_texts("torch_multi_head", text)
    told = {step.name: (step.outcome, step.leaning) for step in verdict.steps}
    assert told.pop("scale_scores") == (Outcome.WRONG_VALUES, False)
    layers = [told.pop(f"{kind}MultiHeadAttention") for kind in ("", "Causal")]
    assert layers == [(Outcome.PASSED, True)] * 2
    assert set(told.values()) == {(Outcome.PASSED, False)}
    assert forks.count(forks[-1]) == 1  # it is asked alone, and then it leans


def test_a_step_that_only_the_layer_shows_to_be_wrong_costs_its_own_points_and_no_other() -> None:
    changed = {
        "project_qkv": ("Wqkv(x)", "Wqkv(x.view(-1, x.shape[-1])).view(*x.shape[:2], -1)"),
        "create_projections": (
            "def create_projections(",
            "from functools import lru_cache\n@lru_cache\ndef create_projections(",
        ),
    }
    name = "torch_single_head"
    verdicts = graded_texts(name, *(solution(name, change) for change in changed.values()))
    facts = {
        changed_step: [(step.name, step.finding.fact) for step in verdict.steps if step.finding]
        for changed_step, verdict in zip(changed, verdicts)
    }
    given = "what a right `SingleHeadAttention` passes to it, in another order in memory"
    told = {
        "project_qkv": f"With {given}, `project_qkv` does not give what is expected.",
        "create_projections": "Two calls make layers with the same numbers.",
    }
    assert facts == {step: [(step, fact)] for step, fact in told.items()}
