"""Right means the student's own layer with the student's own steps, and whose fault it is if not.

Real code in real sandboxes, one batch for all.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from autograder.values.verdict import Outcome, Verdict
from support.graded_texts import graded, solution

# PyTorch; tests/checks/test_torch.py has one layer of each kind.
pytestmark = pytest.mark.slow

NAME = "torch_multi_head"
WEIGHTS, LAYER, BONUS = (
    "compute_attention_weights",
    "MultiHeadAttention",
    "CausalMultiHeadAttention",
)


@dataclass(frozen=True)
class Slip:
    """A mistake written below the reference: who loses the points, and words of what is told."""

    step: str
    words: str
    code: str


def softmax(line: str) -> str:
    return f"def compute_attention_weights(scaled_scores):\n    {line}\n"


def forward(line: str) -> str:
    """A layer that does `line` once it has its queries, keys, values and weights."""
    before, after = ("", line) if "weights" in line else (line, "")
    return f"""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x):
        queries, keys, values = split_heads(self.Wqkv(x), self.num_heads)
        {before or "pass"}
        scores = scale_scores(compute_attention_scores(queries, keys), keys.shape[-1])
        weights = compute_attention_weights(scores)
        {after or "pass"}
        return project_output(merge_heads(apply_attention(weights, values)), self.Wo)
"""


SLIPS = {
    "detached": Slip(
        WEIGHTS, "no gradient flows back", softmax("return scaled_scores.detach().softmax(-1)")
    ),
    "no_grad": Slip(
        WEIGHTS,
        "no gradient flows back",
        "@torch.no_grad()\n" + softmax("return scaled_scores.softmax(-1)"),
    ),
    "data": Slip(
        WEIGHTS, "no gradient flows back", softmax("return scaled_scores.data.softmax(-1)")
    ),
    "numpy": Slip(
        WEIGHTS,
        "",
        softmax(
            "import numpy as np; e = np.exp(scaled_scores.detach().numpy()); "
            "return torch.from_numpy(e / e.sum(-1, keepdims=True))"
        ),
    ),
    "in_place": Slip(
        WEIGHTS,
        "in-place|inplace|overwrites",
        softmax("return scaled_scores.sub_(scaled_scores.amax(-1, keepdim=True)).softmax(-1)"),
    ),
    "view": Slip(
        "compute_attention_scores",
        "",
        "def compute_attention_scores(queries, keys):\n"
        "    B, heads, S, d = queries.shape\n"
        "    flat = queries.view(B * heads, S, d) @ keys.view(B * heads, S, d).transpose(1, 2)\n"
        "    return flat.view(B, heads, S, S)\n",
    ),
    # Right alone and in the layer, but the next step cannot do with how its result lies in memory.
    "result_in_another_order": Slip(
        "merge_heads",
        "view size is not compatible",
        "def apply_attention(attention_weights, values):\n"
        "    gathered = attention_weights @ values\n"
        "    return gathered.transpose(1, 2).contiguous().transpose(1, 2)\n\n"
        "def merge_heads(attention_output):\n"
        "    B, heads, S, d = attention_output.shape\n"
        "    rows = attention_output.view(B * heads, S, d).reshape(B, heads, S, d)\n"
        "    return rows.transpose(1, 2).reshape(B, S, heads * d)\n",
    ),
    "layer_casts_around_a_step": Slip(
        LAYER,
        "asks for bfloat16, whatever the inputs are",
        forward("pass").replace(
            "        scores =",
            "        with torch.autocast('cpu', dtype=torch.bfloat16):\n            scores =",
        ),
    ),
    "layer_empties_a_bias": Slip(
        LAYER,
        "calls `project_output`: as `Wo` it gets a layer with another bias than the check has put",
        forward("self.Wo.bias is not None and self.Wo.bias.data.zero_()"),
    ),
    "layer_changes_queries": Slip(LAYER, "modified inplace", forward("queries *= 1.0")),
    "layer_changes_weights": Slip(LAYER, "inplace operation", forward("weights *= 1.0")),
    "layer_in_single_precision": Slip(LAYER, "", forward("values = values.float()")),
}
RIGHT = {
    "not_in_place": forward("queries = queries * 1.0"),
    "in_its_own_copy": forward("weights = weights.clone(); weights *= 1.0"),
    # A mask in float32 is right: no bonus layer is asked in half precision.
    "bonus_in_single_precision": """
class CausalMultiHeadAttention(CausalMultiHeadAttention):
    def forward(self, x, causal=False):
        queries, keys, values = split_heads(self.Wqkv(x), self.num_heads)
        scores = scale_scores(compute_attention_scores(queries, keys), keys.shape[-1])
        S = x.shape[1]
        scores = scores + causal * torch.full((S, S), -1e30).triu(1)
        weights = compute_attention_weights(scores)
        return project_output(merge_heads(apply_attention(weights, values)), self.Wo)
""",
}


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    codes = {case: slip.code for case, slip in SLIPS.items()} | RIGHT
    texts = (f"{solution(NAME)}\n\n{code}" for code in codes.values())
    return dict(zip(codes, graded(NAME, *texts, secret=b"of this test")))


def test_the_step_at_fault_is_charged_and_no_other(verdicts: dict[str, Verdict]) -> None:
    for case, slip in SLIPS.items():
        wrong = {step.name: step.finding.message for step in verdicts[case].steps if step.finding}
        # The bonus has a layer of its own, which is built on the other one.
        assert set(wrong) - {BONUS} <= {slip.step} and slip.step in wrong, (case, wrong)
        told = wrong[slip.step].lower()
        assert any(words.lower() in told for words in slip.words.split("|")), (case, told)
        assert verdicts[case].chain.outcome is not Outcome.PASSED, case


def test_what_is_nearly_the_same_and_right_passes(verdicts: dict[str, Verdict]) -> None:
    for case in RIGHT:
        assert verdicts[case].chain.outcome is Outcome.PASSED, case
        assert all(step.passes for step in verdicts[case].steps), case
